// Runs the program that mirrors a service, kills it, and compares its database with the service.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readAllRecords } from './all-records.ts';
import { openPath, rows } from './databases.ts';
import { type Ends, temporaryFolder } from './engine.ts';
import { MirrorDatabase } from './mirror-database.ts';
import type { MortalService } from './mortal-service.ts';
import { until } from './until.ts';

const PROGRAM = fileURLToPath(new URL('mirror-program.js', import.meta.url));

/** How many lines of a difference are shown, and how much of each. */
const SHOWN = 5;
const SHOWN_CHARACTERS = 200;

/** A mirror that runs until the end of the test. */
export interface Mirror {
  readonly database: MirrorDatabase;
  /** Rejects when the program ends by itself, which means that it has found an error. */
  readonly failed: Promise<never>;
  /** Kills the program and starts it again, after `meanwhile` if there is such a function. */
  kill(meanwhile?: () => Promise<void>): Promise<void>;
  kills(): number;
}

/** Starts a mirror of the service at `url`. */
export async function startMirror(t: Ends, url: string): Promise<Mirror> {
  let end = async () => {};
  // Registered before the hook that removes the folder.
  t.after(() => end());
  const path = join(temporaryFolder(t), 'mirror.db');
  const database = await MirrorDatabase.open(path);
  const { promise: failed, reject: fail } = rejection();
  let child = start();
  let kills = 0;
  end = async () => {
    await killProgram(child);
    await database.close();
  };

  function start(): ChildProcess {
    const started = spawn(process.execPath, [PROGRAM, path, url], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    started.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text;
    });
    started.on('close', (status, signal) => {
      if (signal !== 'SIGKILL') fail(new Error(`the mirror has ended with ${status}: ${errors}`));
    });
    return started;
  }

  return {
    database,
    failed,
    async kill(meanwhile) {
      await killProgram(child);
      kills += 1;
      await meanwhile?.();
      child = start();
    },
    kills: () => kills,
  };
}

function rejection(): { promise: Promise<never>; reject: (error: Error) => void } {
  let reject = (_: Error) => {};
  const promise = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise;
  });
  promise.catch(() => {});
  return { promise, reject };
}

async function killProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

/** Resolves when the mirror has all changes. Nobody may write any more. */
export function untilCaughtUp({ database }: Mirror, service: MortalService): Promise<void> {
  return until(async () => {
    const cursor = await database.cursor();
    if (cursor === undefined) return false;
    const { status, json } = await service.insist('GET', `/changes?since=${cursor}&limit=1`);
    return status === 200 && json.items.length === 0;
  });
}

/**
 * Asserts that the mirror has the records of the service and has applied every change in the log of
 * `db` since it began. Resolves with the number of these changes.
 */
export async function assertExact(
  { database }: Mirror,
  service: MortalService,
  db: string,
): Promise<number> {
  const { start } = await database.start();
  const logged = await loggedAfter(db, start);
  assertSameLines(await database.applied(), logged, 'changes');
  const found = await database.records();
  const expected = await readAllRecords((path) => service.insist('GET', path));
  for (const table of ['notes', 'tags', 'comments', 'note_tags'] as const)
    assertSameLines(found[table].map(asJson), expected[table].map(asJson), table);
  return logged.length;
}

const asJson = (value: unknown) => JSON.stringify(value);

/** Compares without showing everything. */
function assertSameLines(found: readonly string[], expected: readonly string[], name: string) {
  const [has, needs] = [new Set(found), new Set(expected)];
  const some = (lines: readonly string[]) =>
    lines.slice(0, SHOWN).map((line) => line.slice(0, SHOWN_CHARACTERS));
  const surplus = some(found.filter((line) => !needs.has(line)));
  const missing = some(expected.filter((line) => !has.has(line)));
  assert.deepEqual({ name, surplus, missing }, { name, surplus: [], missing: [] });
  assert.equal(found.length, expected.length, name);
}

/** Reads the log itself, in the form of {@link MirrorDatabase.applied}. */
async function loggedAfter(db: string, cursor: string): Promise<string[]> {
  const database = await openPath(db);
  const sql = `SELECT number, type, id, other_id FROM changes
    WHERE number > ${cursor.split('-')[1]} ORDER BY number`;
  const logged = await rows(database, sql);
  await database.close();
  return logged.map(({ number, type, id, other_id: otherId }) => {
    const [kind] = String(type).split('.');
    const ids = { [`${kind}_id`]: id };
    if (kind === 'comment') return `${number} ${type} ${asJson({ note_id: otherId, ...ids })}`;
    return `${number} ${type} ${asJson(otherId === null ? ids : { ...ids, tag_id: otherId })}`;
  });
}
