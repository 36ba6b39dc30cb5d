// Many demonstrations at once, and clients that disconnect: the threads stay bounded, the rest of
// the service goes on, and nothing is left behind.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { startCommand } from '../support/command.ts';
import { numbered } from '../support/demonstration-requests.ts';
import { request, send } from '../support/http.ts';
import { createRandom, type Random } from '../support/mutations.ts';
import { openSocket, readAll, requestText } from '../support/raw.ts';
import { skipLoudly } from '../support/skip.ts';
import {
  CANNOT_LOOK,
  descriptorsOf,
  limited,
  residentMegabytesOf,
  SHORT_IDLE,
  threadsOf,
} from '../support/threads.ts';
import { until } from '../support/until.ts';

const REQUESTS = 200;
const CLIENTS = 500;
const CLIENTS_AT_ONCE = 100;

const MEGABYTES_MOST = 700;
const HEALTH_WITHIN_MS = 1_000;
/** Another load on the machine may spoil one try, but not all. */
const TRIES = 3;

/** Idle threads end soon, and a request waits for its threads even on a busy machine. */
const PATIENT = [...SHORT_IDLE, ...limited('queueMs', 60_000)];

const LARGE = { workers: 16, count: 1_000 };
const RIGHT = { expected: 16_000, actual: 16_000, consistent: true };

interface Watched {
  readonly pid: number;
  readonly url: string;
  readonly port: number;
  readonly base: number;
}

async function start(t: TestContext, node: readonly string[], args: string[]): Promise<Watched> {
  const command = startCommand(t, ['--port', '0', ...args], { node });
  const url = await command.ready();
  const pid = command.process.pid ?? assert.fail();
  await request(url, 'GET', '/notes');
  return { pid, url, port: Number(new URL(url).port), base: threadsOf(pid) };
}

function textOf(path: string, json: object): string {
  return requestText(`POST ${path}`, ['connection: close'], JSON.stringify(json));
}

/** Returns whether the answer is right; otherwise it tells when to retry. */
function assertRightOrLater(answer: string): boolean {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  if (head.startsWith('HTTP/1.1 200 ')) {
    assert.deepEqual(JSON.parse(body), RIGHT);
    return true;
  }
  assert.match(head, /^HTTP\/1\.1 503 /);
  assert.match(head, /\r\nretry-after: \d+(\r\n|$)/i);
  assert.equal(JSON.parse(body).status, 503);
  return false;
}

/** Requests /health repeatedly; resolves with the durations in ms. */
async function watchHealth(
  { port }: Pick<Watched, 'port'>,
  whileTrue: () => boolean,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  while (whileTrue()) {
    const started = performance.now();
    const { status } = await send(`http://127.0.0.1:${port}`, 'GET', '/health', { agent });
    assert.equal(status, 200);
    times.push(performance.now() - started);
  }
  agent.destroy();
  return times;
}

async function load({ pid, port }: Watched, t: TestContext): Promise<number[]> {
  let answered = 0;
  let most = 0;
  const text = textOf('/counter/increment', LARGE);
  const answers = Array.from({ length: REQUESTS }, async () => {
    const socket = await openSocket({ port });
    socket.write(text);
    const answer = await readAll(socket);
    answered += 1;
    return answer;
  });
  const times = await watchHealth({ port }, () => {
    most = Math.max(most, residentMegabytesOf(pid));
    return answered < REQUESTS;
  });
  const right = (await Promise.all(answers)).filter(assertRightOrLater).length;
  const sorted = times.sort((one, other) => one - other);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  t.diagnostic(
    `${right} of ${REQUESTS} were served; ${Math.round(most)} MB; ` +
      `/health ${sorted.length} times: ` +
      `p99 ${Math.round(p99)} ms, longest ${Math.round(sorted.at(-1) ?? 0)} ms`,
  );
  assert.ok(right > 0);
  assert.ok(most < MEGABYTES_MOST, `${most} MB`);
  assert.ok(sorted.length > 0);
  return sorted;
}

test('threads: a flood of demonstrations leaves the service usable', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const watched = await start(t, SHORT_IDLE, ['--log-level', 'error']);
  const longest: number[] = [];
  do {
    longest.push((await load(watched, t)).at(-1) ?? assert.fail());
  } while (Math.min(...longest) > HEALTH_WITHIN_MS && longest.length < TRIES);
  assert.ok(Math.min(...longest) <= HEALTH_WITHIN_MS, `/health took ${longest} ms`);
  await until(() => threadsOf(watched.pid) <= watched.base);
});

const items = numbered(50);
const TEXTS = [
  textOf('/counter/increment', LARGE),
  textOf('/semaphore/run', { task_ids: [...items.keys()], concurrency_limit: 8 }),
  textOf('/event/sync', { payload: 'x'.repeat(500) }),
  textOf('/pool/run', { items, max_workers: 8 }),
  textOf('/producer-consumer/run', { items, num_consumers: 8, queue_size: 1 }),
  textOf('/thread-local/run', { items: Array(2_000).fill('x'), context_key: 'k' }),
];

/** A client that disconnects: before it has sent all, right after, or while others are served. */
async function hangUp({ port, url }: Watched, random: Random): Promise<void> {
  const text = random.pick(TEXTS);
  const moment = random.below(4);
  const socket = await openSocket({ port });
  const gone = readAll(socket);
  socket.write(moment === 0 ? text.slice(0, random.below(text.length)) : text);
  // After some answers to others the request waits for its threads, or has them.
  const answers = moment < 2 ? 0 : random.below(20);
  for (let count = 0; count < answers; count += 1) await send(url, 'GET', '/health');
  // Node cannot reset a socket that is ending, and would never report that it is closed.
  if (random.oneIn(2) && socket.writable) socket.resetAndDestroy();
  else socket.destroy();
  await gone;
}

test('threads: many clients that disconnect leave nothing behind', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const watched = await start(t, PATIENT, ['--log-level', 'error']);
  const { pid, url, base } = watched;
  const descriptors = descriptorsOf(pid);
  const random = createRandom(27);
  let left = CLIENTS;
  await Promise.all(
    Array.from({ length: CLIENTS_AT_ONCE }, async () => {
      for (; left > 0; left -= 1) await hangUp(watched, random);
    }),
  );
  const { text } = await request(url, 'POST', '/counter/increment', { json: LARGE });
  assert.deepEqual(JSON.parse(text), RIGHT);
  await until(() => threadsOf(pid) <= base);
  await until(() => descriptorsOf(pid) <= descriptors + 1);
  assert.equal((await request(url, 'GET', '/health')).status, 200);
});
