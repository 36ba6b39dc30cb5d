// Random queries over HTTP: no query is a fault of the service, and no answer shows what SQLite
// says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { request } from '../support/http.ts';
import { until } from '../support/until.ts';
import { checkAnswers, linesOfNotes } from './search-answers.ts';

const QUERIES = 50_000;

test(`search: ${QUERIES} random queries are answered 200 or 422`, async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
  const url = await command.ready();
  const headers = { 'content-type': 'application/x-ndjson' };
  const created = await request(url, 'POST', '/notes', { body: linesOfNotes(), headers });
  assert.equal(created.status, 201);
  await until(async () => (await request(url, 'GET', '/notes?q=a')).status === 200);
  const half = () => checkAnswers({ port: Number(new URL(url).port) }, { numRuns: QUERIES / 2 });
  // One generates queries while the other waits for answers.
  const [one, other] = await Promise.all([half(), half()]);
  t.diagnostic(`${one + other} queries have found notes`);
  assert.ok(one + other > QUERIES / 20);
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});
