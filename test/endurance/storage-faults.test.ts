// Faults of the storage in full: every kind of fault at every call of the driver, and disks that
// are really full.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { CASES, failCalls, failStarts } from '../service/storage/failing-calls.ts';
import { assertRefused, runCommand, startCommand, stop } from '../support/command.ts';
import { request } from '../support/http.ts';
import { skipLoudly } from '../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../support/small-disk.ts';
import { NOTE } from '../support/storage-faults.ts';

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
