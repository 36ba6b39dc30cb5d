// What other programs and people do to the file of a running service and to its processes.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Connection } from '../../src/storage/sqlite/connection.ts';
import { assertRefused, runCommand } from './command.ts';
import { type Ends, temporaryFolder } from './engine.ts';
import { request } from './http.ts';
import { between } from './ledger.ts';
import { nextText } from './ledger-client.ts';
import { bigStates } from './ledger-program.ts';
import { BIG_NOTE } from './ledger-reader.ts';
import type { Processes } from './processes.ts';
import type { StateLedger } from './state-ledger.ts';
import { assertUnavailable } from './storage-faults.ts';
import { until } from './until.ts';

/** Commits in full before the program is killed. */
const WHOLE_COMMITS = 2;

/** Moves the whole log into the file in one of SQLite's modes, in spite of readers and writers. */
export async function checkpoint(connection: Connection, mode: string): Promise<void> {
  await until(async () => {
    const [row] = await connection.run({ sql: `PRAGMA wal_checkpoint(${mode})` });
    return row?.busy === 0;
  });
}

/**
 * Starts a program that writes large transactions and kills it in the middle of one. Resolves with
 * whether it had not reported the end of this transaction.
 */
export async function killBigWriter(test: Ends, path: string, ledger: StateLedger) {
  const program = fileURLToPath(new URL('big-writer.js', import.meta.url));
  const child = spawn(process.execPath, [program, path, String(BIG_NOTE)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  test.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'close');
  const lines = createInterface(child.stdout);
  await once(lines, 'line');
  let shortestMs = Number.POSITIVE_INFINITY;
  const commit = async () => {
    const text = nextText();
    const entered = ledger.enter(bigStates(text));
    child.stdin.write(`${text}\n`);
    await once(lines, 'line');
    entered.acknowledge();
  };
  for (let count = 0; count < WHOLE_COMMITS; count += 1) {
    const started = performance.now();
    await commit();
    shortestMs = Math.min(shortestMs, performance.now() - started);
  }
  let isWhole = false;
  void commit().then(() => {
    isWhole = true;
  });
  await delay(between(0, shortestMs));
  child.kill('SIGKILL');
  await ended;
  return !isWhole;
}

/**
 * Leaves the header of the wal-index as a process does that is killed while it commits: with two
 * copies that differ. Whoever uses the database next recovers the header from the log.
 */
export async function tearHeader(path: string): Promise<void> {
  // In another process, because closing the file here would drop the locks of this one.
  const program = `
    const file = fs.openSync(process.argv[1], 'r+');
    fs.writeSync(file, Buffer.alloc(8, 255), 0, 8, 8);`;
  await promisify(execFile)(process.execPath, ['--eval', program, `${path}-shm`]);
}

/** Tries to replace the file of the service with a backup of it, which is refused. */
export async function restoreInVain(test: Ends, path: string): Promise<void> {
  const backup = `${temporaryFolder(test)}/backup.db`;
  assert.equal((await runCommand(test, ['backup', backup, '--db', path])).status, 0);
  const ending = await runCommand(test, ['restore', backup, '--db', path, '--force']);
  assertRefused(ending, 1, /another process is using it/);
}

/** Moves the file away while `meanwhile` runs, and back. No write is carried out. */
export async function moveAway(
  url: string,
  path: string,
  meanwhile: () => Promise<void>,
): Promise<void> {
  renameSync(path, `${path}.elsewhere`);
  await meanwhile();
  assertUnavailable(await request(url, 'DELETE', '/notes/0'));
  renameSync(`${path}.elsewhere`, path);
}

/** Kills one process; resolves when another has taken its place. */
export async function killProcess(service: Processes): Promise<void> {
  const [victim = 0, ...others] = service.serving();
  process.kill(victim, 'SIGKILL');
  await until(() => !service.serving().includes(victim));
  await until(() => service.serving().length > others.length);
}
