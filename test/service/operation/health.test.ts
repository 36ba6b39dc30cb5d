// GET /health, which queries every connection to the database, and the probes /livez and /readyz.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { health } from '../../../src/health/feature.ts';
import type { Reply } from '../../../src/http/reply.ts';
import { EMPTY_CALL } from '../../support/bare-server.ts';
import { needsFile } from '../../support/engine.ts';
import { startService } from '../../support/service.ts';
import { whileLocked } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

async function replyAt(
  path: string,
  ping: () => Promise<void>,
  isStopping = false,
): Promise<Reply> {
  const { routes } = health({ ping }, () => isStopping);
  const route = routes().find(({ template }) => template === path);
  assert.ok(route, path);
  return route.handle(EMPTY_CALL);
}

const service = await startService({ after });

test('health: 503 while the database hangs, and ok again afterwards', {
  skip: needsFile,
}, async () => {
  const note = await whileLocked(service.file, async () => {
    // The writing connection waits for the lock, and so does every query on it.
    const note = service.request('POST', '/notes', { json: { title: 'patient', body: 'x' } });
    // The first queries may reach the connection before the note does.
    await until(async () => (await service.request('GET', '/health')).status === 503);
    const { text } = await service.request('GET', '/health');
    assert.equal(text, '{"status":"ok","db":"error"}');
    return { answer: note };
  });
  // The note would have failed if the lock had been held for longer than it waits, five seconds.
  assert.equal((await note.answer).status, 201);
  const { status, text, headers } = await service.request('GET', '/health');
  assert.deepEqual([status, text], [200, '{"status":"ok","db":"ok"}']);
  assert.equal(headers['content-type'], 'application/json');
});

test('health: a lock alone leaves an idle service healthy and ready', {
  skip: needsFile,
}, async () => {
  await whileLocked(service.file, async () => {
    for (const path of ['/health', '/readyz'])
      assert.equal((await service.request('GET', path)).status, 200, path);
  });
});

for (const [name, ping] of [
  ['fails', () => Promise.reject(new Error('gone'))],
  ['never answers', () => new Promise<void>(() => {})],
] as const) {
  test(`health: a database that ${name} is an error`, async () => {
    const replies = await Promise.all([replyAt('/health', ping), replyAt('/readyz', ping)]);
    for (const [index, [type, body]] of [
      ['application/json', '{"status":"ok","db":"error"}'],
      ['text/plain; charset=utf-8', '[+]shutdown ok\n[-]database failed\nreadyz check failed\n'],
    ].entries()) {
      assert.deepEqual([replies[index]?.status, replies[index]?.body], [503, body]);
      assert.ok(replies[index]?.headers?.includes(type ?? ''));
      assert.ok(replies[index]?.headers?.includes('retry-after'));
    }
    assert.equal(
      (await replyAt('/livez', ping)).status,
      200,
      'a restart would not repair the database',
    );
  });
}

test('health: each request asks the database again', async () => {
  let isWell = true;
  const ping = () => (isWell ? Promise.resolve() : Promise.reject(new Error('gone')));
  const { routes } = health({ ping }, () => false);
  for (const { template, handle } of routes().filter((each) => each.template !== '/livez'))
    for (const expected of [200, 503, 200]) {
      isWell = expected === 200;
      assert.equal((await handle(EMPTY_CALL)).status, expected, template);
    }
});

test('health: an answer leaves no timer that keeps the process', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await replyAt('/health', () => Promise.resolve());
  await replyAt('/readyz', () => Promise.resolve());
  assert.ok(timers() <= before, `${timers()} timers, ${before} before`);
});

test('health: the probes are ok and list their checks on request', async () => {
  for (const [path, checks] of [
    ['/livez', '[+]ping ok\nlivez check passed\n'],
    ['/readyz', '[+]shutdown ok\n[+]database ok\nreadyz check passed\n'],
  ] as const) {
    for (const [query, text] of [
      ['', 'ok\n'],
      ['?other=1', 'ok\n'],
      ['?verbose', checks],
      ['?verbose=', checks],
      ['?other&verbose=true', checks],
    ]) {
      const answer = await service.request('GET', `${path}${query}`);
      assert.deepEqual([answer.status, answer.text], [200, text], `${path}${query}`);
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
      assert.equal(answer.headers['cache-control'], 'no-store');
    }
    for (const query of ['?verbose=no', '?verbose&verbose']) {
      const { status, json } = await service.request('GET', `${path}${query}`);
      assert.deepEqual([status, json.errors[0].field], [422, 'verbose'], query);
    }
  }
});

test('health: a stopping service is alive, not ready', async () => {
  const ping = () => Promise.resolve();
  assert.equal((await replyAt('/livez', ping, true)).status, 200);
  const { status, body } = await replyAt('/readyz', ping, true);
  assert.deepEqual(
    [status, body],
    [503, '[-]shutdown failed\n[+]database ok\nreadyz check failed\n'],
  );
});
