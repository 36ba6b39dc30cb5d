// The memory of answers takes no more than its bound, whatever is read.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startCommand, stop } from '../support/command.ts';
import { newFile, openDatabase } from '../support/databases.ts';
import { send } from '../support/http.ts';
import { randomText } from '../support/random-texts.ts';
import { skipLoudly } from '../support/skip.ts';
import { CANNOT_LOOK, residentMegabytesOf } from '../support/threads.ts';
import type { DistinctReads } from './distinct-reads.ts';

/** The default bound, in MiB. */
const BOUND = 64;

/** V8 keeps holes between texts of different lengths; its young generation takes the rest. */
const HOLES = 1.5;
const REST = 32;

const NOTES = 3_000;
const CLIENTS = 8;
const COLLECTIONS = 20;

test('memory: a million distinct reads fit its bound', async (t) => {
  const program = fileURLToPath(new URL('./distinct-reads.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(BOUND)]);
  const { heap, during, resident, kept }: DistinctReads = JSON.parse(stdout);
  const [used, after, most] = [heap, resident, during].map(Math.round);
  t.diagnostic(`${used} MiB of heap, ${after} MiB resident, ${most} MiB before the collections`);
  assert.ok(resident < HOLES * BOUND + REST);
  assert.ok(heap < BOUND + 1);
  assert.ok(kept > BOUND - 1);
});

/** Returns the path of a database with `NOTES` notes. */
async function longNotes(t: TestContext): Promise<string> {
  const path = newFile(t);
  const database = await openDatabase(t, path);
  const bodies = Array.from({ length: NOTES }, () => randomText(0.5));
  const sql = `INSERT INTO notes (title, body) SELECT 'title', value FROM json_each(?1)`;
  await database.transact('fill', [{ sql, parameter: JSON.stringify(bodies) }]);
  await database.close();
  return path;
}

/** A service collects its garbage when it gets this signal. */
const COLLECT = 'SIGUSR2';
const COLLECTING = [
  '--expose-gc',
  '--import',
  `data:text/javascript,process.on('${COLLECT}', () => gc())`,
];

/** Starts a service, reads all notes twice, and resolves with the growth of its memory in MB. */
async function growth(t: TestContext, path: string, args: readonly string[]): Promise<number> {
  const all = ['--port', '0', '--db', path, '--log-level', 'error', '--idle-timeout', '60'];
  const command = startCommand(t, [...all, ...args], { node: COLLECTING });
  const url = await command.ready();
  const resident = () => residentMegabytesOf(command.process.pid);
  const before = resident();
  const agent = new Agent({ keepAlive: true });
  let reads = 0;
  const keepReading = async () => {
    while (reads < 2 * NOTES) {
      reads += 1;
      const path = `/notes/${(reads % NOTES) + 1}`;
      assert.equal((await send(url, 'GET', path, { agent })).status, 200);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, keepReading));
  const after = resident();
  let least = after;
  // V8 gives memory back some time after a collection.
  for (let round = 0; round < COLLECTIONS; round += 1) {
    command.process.kill(COLLECT);
    await send(url, 'GET', '/livez', { agent });
    least = Math.min(least, resident());
  }
  agent.destroy();
  assert.equal((await stop(command)).status, 0);
  const [from, to, rest] = [before, after, least].map(Math.round);
  t.diagnostic(`${args.join(' ') || 'default'}: ${from} MB, ${to} after the reads, ${rest} in use`);
  return least - before;
}

test('memory: a service grows by no more than its bound', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const path = await longNotes(t);
  // SQLite keeps pages of the file in memory, too.
  const without = await growth(t, path, ['--cache-size', '0']);
  for (const { bound, args } of [
    { bound: 16, args: ['--cache-size', '16'] },
    { bound: BOUND, args: [] },
  ]) {
    const grown = (await growth(t, path, args)) - without;
    assert.ok(grown < HOLES * bound + REST, `${Math.round(grown)} MB more with ${bound}`);
  }
});
