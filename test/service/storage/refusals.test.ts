// The system refuses a running service its file: I/O errors, a disk that does not confirm, and a
// file that becomes read-only.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { stop } from '../../support/command.ts';
import { request } from '../../support/http.ts';
import { failSync, failWrites, LIMITS, startLogging, statuses } from '../../support/io-faults.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NOTE } from '../../support/storage-faults.ts';
import { unprivileged } from '../../support/unprivileged.ts';

test('refused I/O: writes fail at the first byte, the service goes on', (t) =>
  failWrites(t, LIMITS['at the first byte'], 'goes on'));

test('refused I/O: writes fail in the middle, the service is killed', (t) =>
  failWrites(t, LIMITS['in the middle of a change'], 'is killed'));

test('refused I/O: writes that are not durable are gone after a crash', (t) =>
  failSync(t, [
    ['PUT', '/tags/1', { name: 'refused' }],
    ['POST', '/notes', NOTE],
    ['POST', '/notes', { title: 'long', body: 'x'.repeat(100_000) }],
  ]));

test('refused I/O: made read-only while running, nothing is lost', async (t) => {
  const user = unprivileged(t);
  if (!user) return skipLoudly(t, 'no user is available whom file modes bind');
  const db = join(user.folder, 'data', 'notes.db');
  mkdirSync(dirname(db));
  chmodSync(dirname(db), 0o777);
  const { command, url } = await startLogging(t, db, 'silent', user);
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  for (const companion of ['', '-wal', '-shm']) chmodSync(`${db}${companion}`, 0o444);
  chmodSync(dirname(db), 0o555);

  // A process may go on writing to a file that it has open.
  assert.deepEqual(
    await statuses([
      request(url, 'POST', '/notes', { json: NOTE }),
      request(url, 'PUT', '/notes/1', { json: NOTE }),
    ]),
    [201, 200],
  );
  const { text } = await request(url, 'GET', '/notes');
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });

  chmodSync(dirname(db), 0o777);
  for (const companion of ['', '-wal', '-shm']) chmodSync(`${db}${companion}`, 0o666);
  const next = await startService(t, { db });
  assert.equal((await next.request('GET', '/notes')).text, text);
  await next.close();
  assert.deepEqual(await checkFile(db), []);
});
