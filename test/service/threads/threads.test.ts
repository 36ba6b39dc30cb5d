// The threads of the demonstrations when clients disconnect, when there are too many requests, and
// when the service stops.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { counter } from '../../../src/concurrency/counter.ts';
import { Mutex } from '../../../src/concurrency/sync.ts';
import { POOL_LIMITS, type ThreadPool } from '../../../src/concurrency/thread-pool.ts';
import { DISPATCH_LIMITS, HTTP_LIMITS } from '../../../src/http/limits.ts';
import { startCommand, stop } from '../../support/command.ts';
import { numbered, TAKEN } from '../../support/demonstration-requests.ts';
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import { type Answer, request } from '../../support/http.ts';
import { setLimits } from '../../support/overload.ts';
import { openSocket, readAll, requestText } from '../../support/raw.ts';
import { type Service, startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { CANNOT_LOOK, limited, niceValuesOf, threadsOf } from '../../support/threads.ts';
import { until } from '../../support/until.ts';

// A client that has gone is noticed at the second question.
setLimits({ after }, HTTP_LIMITS, { probeMs: 20 });

const WIDE = { workers: 2, count: 1_000 };
const RIGHT = { expected: 2_000, actual: 2_000, consistent: true };
const WIDE_TEXT = requestText('POST /counter/increment', [], JSON.stringify(WIDE));

function holdCounters(t: TestContext): () => void {
  const held: Mutex[] = [];
  const { prepare } = counter;
  t.mock.method(counter, 'prepare', (request: Parameters<typeof prepare>[0]) => {
    const run = prepare(request);
    const [{ lock } = assert.fail()] = run.inputs;
    const mutex = new Mutex(lock);
    mutex.lock();
    held.push(mutex);
    return run;
  });
  return () => {
    for (const mutex of held.splice(0)) mutex.unlock();
  };
}

async function threadCounts(service: Service) {
  const families = parseExposition((await service.request('GET', '/metrics')).text);
  return {
    alive: sampleOf(families, 'notes_threads_live'),
    idle: sampleOf(families, 'notes_threads_standby'),
    waiting: sampleOf(families, 'notes_demonstrations_waiting'),
  };
}

/** Starts a service with two threads at most. */
function startSmall(t: TestContext, limits: Partial<typeof POOL_LIMITS> = {}): Promise<Service> {
  // A busy machine starts threads slowly.
  setLimits(t, POOL_LIMITS, { queueMs: 60_000, ...limits });
  return startService(t, { maxThreads: 2 });
}

function count({ url }: Service): Promise<Answer> {
  return request(url, 'POST', '/counter/increment', { json: WIDE });
}

function reports(service: Service, counts: ReturnType<ThreadPool['counts']>): Promise<void> {
  return until(async () => isDeepStrictEqual(await threadCounts(service), counts));
}

test('threads: none without a valid demonstration', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const service = await startSmall(t);
  const addNote = () => service.request('POST', '/notes', { json: { title: 'a', body: 'x' } });
  await Promise.all(Array.from({ length: 8 }, addNote));
  const base = threadsOf(process.pid);
  for (const path of Object.keys(TAKEN))
    assert.equal((await service.request('POST', path, { json: {} })).status, 422);
  assert.equal((await service.request('POST', '/pool/run', { json: { items: [] } })).status, 400);
  // A request that never ends needs none either.
  const socket = await openSocket(service);
  socket.write(WIDE_TEXT.slice(0, -3));
  assert.deepEqual(await threadCounts(service), { alive: 0, idle: 0, waiting: 0 });
  assert.equal(threadsOf(process.pid), base);
  socket.destroy();
});

test('threads: a client that disconnects releases them', async (t) => {
  const release = holdCounters(t);
  const service = await startSmall(t);
  const [working, waiting] = await Promise.all([openSocket(service), openSocket(service)]);
  working.write(WIDE_TEXT);
  await reports(service, { alive: 2, idle: 0, waiting: 0 });
  waiting.write(WIDE_TEXT);
  await reports(service, { alive: 2, idle: 0, waiting: 1 });
  waiting.destroy();
  await reports(service, { alive: 2, idle: 0, waiting: 0 });
  working.destroy();
  await reports(service, { alive: 0, idle: 0, waiting: 0 });
  const answer = count(service);
  await reports(service, { alive: 2, idle: 0, waiting: 0 });
  release();
  assert.deepEqual((await answer).json, RIGHT);
});

test('threads: clients that have closed their sending side refuse nobody else', async (t) => {
  const release = holdCounters(t);
  const service = await startSmall(t, { queue: 1 });
  const working = count(service);
  await reports(service, { alive: 2, idle: 0, waiting: 0 });
  const halfClosed = await openSocket(service);
  const answer = readAll(halfClosed);
  halfClosed.end(WIDE_TEXT);
  await reports(service, { alive: 2, idle: 0, waiting: 1 });
  const waiting = count(service);
  await reports(service, { alive: 2, idle: 0, waiting: 2 });
  assert.equal((await count(service)).status, 503);
  release();
  for (const { json } of [await working, await waiting]) assert.deepEqual(json, RIGHT);
  assert.ok((await answer).endsWith(JSON.stringify(RIGHT)));
});

test('threads: they stay after a demonstration, until none has come for a while', async (t) => {
  const service = await startSmall(t, { idleMs: 200 });
  await count(service);
  await reports(service, { alive: 0, idle: 0, waiting: 0 });
  setLimits(t, POOL_LIMITS, { idleMs: 60_000 });
  await count(service);
  await reports(service, { alive: 2, idle: 2, waiting: 0 });
});

test('threads: the system prefers all other threads', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const service = await startSmall(t);
  const niceThreads = () => niceValuesOf(process.pid).filter((nice) => nice === 19).length;
  const before = niceThreads();
  await count(service);
  assert.equal(niceThreads() - before, 2);
});

test('threads: 503 when too many wait, or too long', async (t) => {
  const release = holdCounters(t);
  const service = await startSmall(t, { queue: 1, queueMs: 2_000 });
  const working = count(service);
  await reports(service, { alive: 2, idle: 0, waiting: 0 });
  const waiting = count(service);
  await reports(service, { alive: 2, idle: 0, waiting: 1 });
  const refused = await Promise.all([count(service), waiting]);
  for (const { status, headers } of refused)
    assert.deepEqual([status, headers['retry-after']], [503, '1']);
  assert.deepEqual(
    refused.map(({ json }) => json.detail),
    ['Too many demonstrations wait for threads.', 'No threads became free in time.'],
  );
  release();
  assert.deepEqual((await working).json, RIGHT);
});

test('threads: a stop lets requests finish, at work or not', async (t) => {
  const release = holdCounters(t);
  const service = await startSmall(t);
  const working = count(service);
  await reports(service, { alive: 2, idle: 0, waiting: 0 });
  const waiting = count(service);
  await reports(service, { alive: 2, idle: 0, waiting: 1 });
  const closed = service.close();
  release();
  assert.deepEqual((await working).json, RIGHT);
  release();
  const { json, headers } = await waiting;
  assert.deepEqual([json, headers.connection], [RIGHT, 'close']);
  await closed;
});

test('threads: 503 while large answers find no room', async (t) => {
  const { largePageBytes } = DISPATCH_LIMITS;
  for (const [repliesBytes, ...expected] of [
    [0, 200, 503, 503],
    // A large body needs the room of the largest page.
    [largePageBytes - 1, 200, 200, 503],
    [largePageBytes, 200, 200, 200],
  ] as const) {
    setLimits(t, DISPATCH_LIMITS, { repliesBytes, replyWaitMs: 1 });
    const service = await startSmall(t);
    const statuses = [];
    for (const length of [1, 20_000, 70_000]) {
      const json = { items: ['x'.repeat(length)], max_workers: 1 };
      statuses.push((await service.request('POST', '/pool/run', { json })).status);
    }
    assert.deepEqual(statuses, expected, `${repliesBytes} bytes`);
  }
});

/** All that the service needs but threads, for which a request waits only briefly. */
const NO_THREADS: readonly string[] = [
  process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission',
  '--allow-addons',
  '--allow-fs-read=*',
  '--allow-fs-write=*',
  ...limited('queueMs', 20),
];

test('threads: 500 where Node may start none', async (t) => {
  const command = startCommand(t, ['--port', '0'], { node: NO_THREADS });
  const url = await command.ready();
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(
      numbered(3).map(() => request(url, 'POST', '/counter/increment', { json: WIDE })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [500, 500, 500],
    );
  }
  assert.equal((await request(url, 'GET', '/health')).status, 200);
  assert.equal((await stop(command)).status, 0);
});
