// GET /health: the service and a real query through every connection it uses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthRoute } from '../../src/health.ts';
import type { Database } from '../../src/storage/database.ts';
import { startService } from './harness.ts';

const NO_CALL = { path: [], query: '', body: undefined, headers: {} };

function databaseWhosePing(ping: () => Promise<void>): Database {
  const unused = () => Promise.reject(new Error('not asked for'));
  return { read: unused, transact: unused, close: unused, ping };
}

test('a healthy service says so', async (t) => {
  const service = await startService(t);
  const answer = await service.request('GET', '/health');
  assert.equal(answer.status, 200);
  assert.equal(answer.text, '{"status":"ok","db":"ok"}');
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal((await service.request('HEAD', '/health')).status, 200);
});

for (const [name, ping] of [
  ['fails', () => Promise.reject(new Error('gone'))],
  ['never answers', () => new Promise<void>(() => {})],
] as const) {
  test(`a database that ${name} is an error within about a second`, async () => {
    const started = performance.now();
    const reply = await healthRoute(databaseWhosePing(ping)).handle(NO_CALL);
    assert.ok(performance.now() - started < 2_000);
    assert.equal(reply.status, 503);
    assert.equal(reply.body, '{"status":"ok","db":"error"}');
    assert.ok(reply.headers?.includes('application/json'));
    assert.ok(reply.headers?.includes('retry-after'));
  });
}
