// Faults of the storage in full: every kind of fault at every call of the driver, disks that are
// really full, and a stop while another program keeps the database locked for longer than SQLite
// waits.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { CASES, failCalls, failStarts } from '../service/storage/failing-calls.ts';
import { assertRefused, runCommand, startCommand, stop } from '../support/command.ts';
import { holdLock } from '../support/databases.ts';
import { request } from '../support/http.ts';
import { exchange, requestText } from '../support/raw.ts';
import { skipLoudly } from '../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../support/small-disk.ts';
import { NOTE } from '../support/storage-faults.ts';
import { until } from '../support/until.ts';

for (const kind of CASES) {
  test(`driver faults: ${kind.code} (${kind.manner}) at every call`, (t) =>
    failCalls(t, () => kind, 1));
}

test('driver faults: at every call of a start, and the next start works', (t) => failStarts(t, 1));

test('full disk: a start is refused in one line, and works once there is room', async (t) => {
  const folder = smallDisk(t);
  if (!folder) return skipLoudly(t, NO_MOUNT);
  const db = join(folder, 'notes.db');
  const args = ['--port', '0', '--log-level', 'silent', '--db', db];
  const ballast = join(folder, 'ballast');
  for (const left of [0, 4_096, 8_192, 40_960]) {
    writeFileSync(ballast, Buffer.alloc(2_097_152 - left));
    assertRefused(
      await runCommand(t, args),
      1,
      /cannot open the database .*notes\.db: .*(?:full|I\/O|folder)/,
    );
  }
  rmSync(ballast);
  const command = startCommand(t, args);
  assert.equal(
    (await request(await command.ready(), 'POST', '/notes', { json: NOTE })).headers.location,
    '/notes/1',
  );
  assert.equal((await stop(command)).status, 0);
  assert.deepEqual(await checkFile(db), []);
});

/** One wait for the lock takes five seconds; no request may wait through a second one. */
const LESS_THAN_TWO_WAITS_MS = 9_000;

test('stop: 200 writes that wait for a lock get 503', async (t) => {
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  const service = { port: Number(new URL(url).port) };
  await holdLock(t, join(command.folder, 'notes.db'), 'BEGIN IMMEDIATE');
  const post = requestText('POST /notes', [], JSON.stringify(NOTE));
  const answers = Promise.all(Array.from({ length: 200 }, () => exchange(service, post)));
  await until(async () => (await request(url, 'GET', '/health')).status === 503);
  const started = performance.now();
  const { status } = await stop(command, 'SIGTERM');
  assert.ok(performance.now() - started < LESS_THAN_TWO_WAITS_MS);
  assert.equal(status, 0);
  for (const { status, headers } of await answers) {
    assert.deepEqual([status, headers.connection], [503, 'close']);
  }
});
