// Kills of programs that write and index, at random moments: afterwards, the search index is sound,
// and the next search finds every acknowledged note.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkFile } from '../../src/commands/check.ts';
import type { Database } from '../../src/storage/database.ts';
import { newFile, openPath, rows } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import { between } from '../support/ledger.ts';
import { needsRqlited, startNodes } from '../support/rqlite-nodes.ts';
import { assertIndexed, bringUpToDate } from '../support/search-index.ts';

const WRITERS = 2;
const PROGRAM = fileURLToPath(new URL('../support/indexing-writer.js', import.meta.url));

/** Starts a writer; it adds the ids that it prints to `acknowledged`. */
async function startWriter(t: TestContext, db: string, acknowledged: Set<number>) {
  const child = spawn(process.execPath, [PROGRAM, db], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) acknowledged.add(Number(line));
  });
  const ended = once(child, 'close').then(() => assert.fail('the writer has ended'));
  await Promise.race([once(child.stdout, 'data'), ended]);
  ended.catch(() => {});
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  const [, signal] = await ended;
  // It has not ended before, because of an error.
  assert.equal(signal, 'SIGKILL');
}

async function assertComplete(database: Database, acknowledged: ReadonlySet<number>) {
  await bringUpToDate(database);
  await assertIndexed(database);
  const found = new Set((await rows(database, 'SELECT id FROM notes')).map(({ id }) => id));
  assert.deepEqual(
    [...acknowledged].filter((id) => !found.has(id)),
    [],
  );
}

/** Kills the writers `kills` times, then calls `verify`. */
async function killWriters(
  t: TestContext,
  db: string,
  kills: number,
  verify: (acknowledged: ReadonlySet<number>) => Promise<void>,
): Promise<void> {
  const acknowledged = new Set<number>();
  for (let round = 0; round < kills; round += 1) {
    const writers = await Promise.all(
      Array.from({ length: WRITERS }, () => startWriter(t, db, acknowledged)),
    );
    await delay(between(0, 400));
    await Promise.all(writers.map(kill));
    await verify(acknowledged);
  }
  t.diagnostic(`${kills} kills, ${acknowledged.size} acknowledged notes`);
}

test('search index: survives kills of two programs on a file', async (t) => {
  const path = newFile(t);
  await killWriters(t, path, 8, async (acknowledged) => {
    assert.deepEqual(await checkFile(path), []);
    const database = await openPath(path);
    // Every other time, the next programs go on where the killed ones have ended.
    if (acknowledged.size % 2 === 0) await assertComplete(database, acknowledged);
    await database.close();
  });
  const database = await openPath(path);
  await assertComplete(database, new Set());
  await database.close();
  assert.deepEqual(await checkFile(path), []);
});

test('search index: survives kills of two services of a cluster', {
  skip: needsRqlited,
}, async (t) => {
  const cluster = await startNodes(1);
  t.after(() => cluster.stop());
  const db = clusterAddress(cluster.nodes.map(({ url }) => url));
  await killWriters(t, db, 5, async (acknowledged) => {
    const database = await openPath(db);
    await assertComplete(database, acknowledged);
    await database.close();
  });
});
