// How the service is: GET /health with a real query through every connection, and the probes /livez and /readyz.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthRoutes } from '../../../src/health.ts';
import type { Reply } from '../../../src/http/reply.ts';
import { EMPTY_CALL } from '../../support/bare-server.ts';
import { needsFile } from '../../support/engine.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { whileLocked } from '../../support/stored-data.ts';

/** Asks the route at `path` of a service whose database answers as `ping` does. */
async function replyAt(path: string, ping: () => Promise<void>, isStopping = false): Promise<Reply> {
  const route = healthRoutes({ ping }, () => isStopping).find(({ template }) => template === path);
  assert.ok(route, path);
  return route.handle(EMPTY_CALL);
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
    let [answer, head]: (Answer | undefined)[] = [];
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

test('a lock that keeps writes away makes it neither ill nor unready while nobody writes', {
  skip: needsFile,
}, async (t) => {
  const service = await startService(t);
  await whileLocked(service.file, async () => {
    for (const path of ['/health', '/readyz']) assert.equal((await service.request('GET', path)).status, 200, path);
  });
});

for (const [name, ping] of [
  ['fails', () => Promise.reject(new Error('gone'))],
  ['never answers', () => new Promise<void>(() => {})],
] as const) {
  test(`a database that ${name} is an error within about a second`, async () => {
    const started = performance.now();
    const replies = await Promise.all([replyAt('/health', ping), replyAt('/readyz', ping)]);
    assert.ok(performance.now() - started < 3_000);
    for (const [index, [type, body]] of [
      ['application/json', '{"status":"ok","db":"error"}'],
      ['text/plain; charset=utf-8', '[+]shutdown ok\n[-]database failed\nreadyz check failed\n'],
    ].entries()) {
      assert.deepEqual([replies[index]?.status, replies[index]?.body], [503, body]);
      assert.ok(replies[index]?.headers?.includes(type ?? ''));
      assert.ok(replies[index]?.headers?.includes('retry-after'));
    }
    assert.deepEqual((await replyAt('/livez', ping)).status, 200, 'to start it again would not mend the database');
  });
}

test('a question that was answered leaves no timer for which the process would stay', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await replyAt('/health', () => Promise.resolve());
  await replyAt('/readyz', () => Promise.resolve());
  assert.equal(timers(), before);
});

test('the probes say ok, and list their checks when asked to', async (t) => {
  const service = await startService(t);
  for (const [path, checks] of [
    ['/livez', '[+]ping ok\nlivez check passed\n'],
    ['/readyz', '[+]shutdown ok\n[+]database ok\nreadyz check passed\n'],
  ] as const) {
    for (const [query, text] of [
      ['', 'ok\n'],
      ['?', 'ok\n'],
      ['?other=1', 'ok\n'],
      ['?verbose', checks],
      ['?verbose=', checks],
      ['?verbose=1', checks],
      ['?other&verbose=true', checks],
    ]) {
      const answer = await service.request('GET', `${path}${query}`);
      assert.deepEqual([answer.status, answer.text], [200, text], `${path}${query}`);
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
      assert.equal(answer.headers['cache-control'], 'no-store');
      const head = await service.request('HEAD', `${path}${query}`);
      assert.deepEqual([head.status, head.headers['content-length']], [200, String(text?.length)]);
    }
    for (const query of ['?verbose=no', '?verbose=2', '?verbose&verbose', '?verbose=TRUE']) {
      const { status, json } = await service.request('GET', `${path}${query}`);
      assert.deepEqual([status, json.errors.length, json.errors[0].field], [422, 1, 'verbose'], query);
    }
    assert.equal((await service.request('POST', path)).status, 405);
    assert.equal((await service.request('GET', `${path}/shutdown`)).status, 404);
  }
});

test('who stops is alive and not ready, which /readyz tells without being asked for details', async () => {
  const ping = () => Promise.resolve();
  assert.equal((await replyAt('/livez', ping, true)).status, 200);
  const { status, body } = await replyAt('/readyz', ping, true);
  assert.deepEqual([status, body], [503, '[-]shutdown failed\n[+]database ok\nreadyz check failed\n']);
});
