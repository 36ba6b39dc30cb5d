// A stop while another program keeps the database locked for longer than SQLite waits.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { holdLock } from '../support/databases.ts';
import { request } from '../support/http.ts';
import { exchange, requestText } from '../support/raw.ts';
import { until } from '../support/until.ts';

/** One wait for the lock takes five seconds; no request may wait through a second one. */
const LESS_THAN_TWO_WAITS_MS = 9_000;

test('stop: 200 writes that wait for a lock get 503', async (t) => {
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  const service = { port: Number(new URL(url).port) };
  await holdLock(t, join(command.folder, 'notes.db'), 'BEGIN IMMEDIATE');
  const post = requestText('POST /notes', [], JSON.stringify({ title: 'a', body: 'b' }));
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
