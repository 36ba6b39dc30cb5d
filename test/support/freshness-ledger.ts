// A ledger of what has been acknowledged, and readers that compare what they read with it. Several
// programs write the same file: the service's tables, and others through SQLite itself.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FreshMemory } from '../../src/memory/fresh-memory.ts';
import { notes as resource } from '../../src/resources/notes.ts';
import type { Database } from '../../src/storage/database.ts';
import { createWriter, PAGES } from '../../src/storage/writer.ts';
import { newFile, openDatabase, openOther } from './databases.ts';
import type { Ends } from './engine.ts';
import { between } from './random.ts';
import { type TestTable, tableOf } from './tables.ts';

const NOTES_PER_WRITER = 4;
const OTHER_WRITERS = 2;
const READERS = 16;
const MAX_BYTES = 1_000_000;

/** The most reads that a writer lets pass before it writes again. */
const READS_BETWEEN_WRITES = 100;

/** What others do now and then besides writing. */
const MAINTENANCE = [
  ...['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'].map((mode) => `PRAGMA wal_checkpoint(${mode})`),
  'VACUUM',
];
/** One in this many writes of others is followed by maintenance. */
const MAINTENANCE_EVERY = 200;

/** How a run went. */
export interface LedgerRun {
  readonly commits: number;
  readonly reads: number;
  readonly fromMemory: number;
  readonly stale: readonly string[];
}

/** Has `commits` changes made on a new file while readers compare it with the ledger. */
export async function playLedger(t: Ends, commits: number): Promise<LedgerRun> {
  const path = newFile(t);
  const database = await openDatabase(t, path);
  const memory = new FreshMemory(database.freshness, MAX_BYTES);
  let engineReads = 0;
  const counting: Database = {
    ...database,
    read(statement) {
      engineReads += 1;
      return database.read(statement);
    },
  };
  const table = tableOf(resource, counting, createWriter(counting, [memory]), memory);
  /** The last acknowledged version of each note; 0 is the first. */
  const ledger = new Map<number, number>();
  const writers = 1 + OTHER_WRITERS;
  for (let count = 0; count < writers * NOTES_PER_WRITER; count += 1) {
    const created = await table.create([['a', '0']]);
    ledger.set(created?.id ?? 0, 0);
  }
  let written = 0;
  const stale: string[] = [];
  let reads = 0;

  const isRunning = () => written < commits && stale.length === 0;

  async function keepWriting(writer: number, write: (id: number, body: string) => Promise<void>) {
    while (isRunning()) {
      written += 1;
      // Each write empties the memory, so readers must get the time to fill it.
      const enough = reads + between(0, READS_BETWEEN_WRITES);
      while (reads < enough && isRunning()) await nextTurn();
      const id = 1 + writer * NOTES_PER_WRITER + between(0, NOTES_PER_WRITER - 1);
      const version = (ledger.get(id) ?? 0) + 1;
      await write(id, `${version}`);
      ledger.set(id, version);
    }
  }

  async function keepReading(reader: number): Promise<void> {
    while (isRunning()) {
      // As requests do, reads arrive in turns of the event loop.
      await nextTurn();
      reads += 1;
      const before = new Map(ledger);
      const found = reader % 4 === 0 ? await readPage(table, memory) : await readOne(table, before);
      for (const { id, body } of found)
        if (Number(body) < (before.get(id) ?? 0)) stale.push(`note ${id}: ${body}`);
    }
  }

  const others = await Promise.all(Array.from({ length: OTHER_WRITERS }, () => other(t, path)));
  await Promise.all([
    keepWriting(0, (id, body) => writeOwn(table, id, body)),
    ...others.map((write, index) => keepWriting(1 + index, write)),
    ...Array.from({ length: READERS }, (_, index) => keepReading(index)),
  ]);
  return { commits: written, reads, fromMemory: reads - engineReads, stale };
}

type Version = { readonly id: number; readonly body: string };

async function readOne(table: TestTable, ledger: ReadonlyMap<number, number>): Promise<Version[]> {
  const record = await table.read(between(1, ledger.size));
  assert.ok(record);
  return [JSON.parse(record.text)];
}

async function readPage(table: TestTable, memory: FreshMemory): Promise<Version[]> {
  const kept = memory.find<{ text: string }>(PAGES, 'page');
  if (kept) return JSON.parse(kept.text);
  const revision = memory.check();
  const text = `[${(await table.page({ limit: 100 }))?.items ?? ''}]`;
  memory.keep(revision, PAGES, [['page', { text }]]);
  return JSON.parse(text);
}

/** Writes as the service does; now and then, a write of it has no effect. */
async function writeOwn(table: TestTable, id: number, body: string): Promise<void> {
  const isMissed = between(1, 4) === 1;
  if (isMissed) assert.equal(await table.change(1_000, ['a', body]), undefined);
  const done = Number(body) % 2 ? table.change(id, ['a', body]) : table.change(id, [null, body]);
  assert.ok(await done);
}

async function other(t: Ends, path: string) {
  const connection = await openOther(t, path);
  const execute = (sql: string) => connection.exclusively(() => connection.execute(sql));
  // Only the service needs its writes to be durable here.
  await execute('PRAGMA synchronous = OFF; PRAGMA busy_timeout = 30000');
  return async (id: number, body: string) => {
    await execute(`UPDATE notes SET body = '${body}' WHERE id = ${id}`);
    const task = MAINTENANCE[between(0, MAINTENANCE.length * MAINTENANCE_EVERY)];
    if (task) await execute(task).catch(() => {});
  };
}
