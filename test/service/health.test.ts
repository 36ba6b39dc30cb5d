// GET /health: the service and a real query through every connection it uses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthRoute } from '../../src/health.ts';
import type { Database } from '../../src/storage/database.ts';
import { EMPTY_CALL } from './bare-server.ts';
import { needsFile } from './engine.ts';
import { type JsonAnswer, startService } from './harness.ts';
import { whileLocked } from './stored-data.ts';

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

test('while the database hangs, health says so within about a second, and again all is well when it does not', {
  skip: needsFile,
}, async (t) => {
  const service = await startService(t);
  const note = await whileLocked(service.file, async () => {
    // The writer waits for another process; so does whoever asks it for anything.
    const note = service.request('POST', '/notes', { json: { title: 'patient', body: 'x' } });
    let [answer, head]: (JsonAnswer | undefined)[] = [];
    let started = 0;
    // The first questions may be quicker than the note.
    for (let tries = 0; tries < 10 && (answer?.status !== 503 || head?.status !== 503); tries += 1) {
      started = performance.now();
      [answer, head] = await Promise.all(['GET', 'HEAD'].map((method) => service.request(method, '/health')));
    }
    assert.ok(performance.now() - started < 3_000);
    assert.equal(answer?.status, 503);
    assert.equal(answer?.text, '{"status":"ok","db":"error"}');
    assert.equal(answer?.headers['content-type'], 'application/json');
    assert.deepEqual([head?.status, head?.text], [503, '']);
    assert.equal(head?.headers['content-length'], answer?.headers['content-length']);
    return { answer: note };
  });
  assert.equal((await note.answer).status, 201);
  assert.equal((await service.request('GET', '/health')).text, '{"status":"ok","db":"ok"}');
});

for (const [name, ping] of [
  ['fails', () => Promise.reject(new Error('gone'))],
  ['never answers', () => new Promise<void>(() => {})],
] as const) {
  test(`a database that ${name} is an error within about a second`, async () => {
    const started = performance.now();
    const reply = await healthRoute(databaseWhosePing(ping), () => false).handle(EMPTY_CALL);
    assert.ok(performance.now() - started < 3_000);
    assert.equal(reply.status, 503);
    assert.equal(reply.body, '{"status":"ok","db":"error"}');
    assert.ok(reply.headers?.includes('application/json'));
    assert.ok(reply.headers?.includes('retry-after'));
  });
}
