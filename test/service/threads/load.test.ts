// Many demonstrations at once, and many clients that do not stay for their answer: what is asked for is bounded, the rest
// of the service goes on, and nothing is left behind.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Command, startCommand } from '../../support/command.ts';
import { request } from '../../support/http.ts';
import { openSocket, readAll, requestText, sendRaw } from '../../support/raw.ts';
import { skipLoudly } from '../../support/skip.ts';
import {
  CANNOT_LOOK,
  descriptorsOf,
  NO_COVERAGE,
  residentMegabytesOf,
  SHORT_IDLE,
  threadsOf,
  watchHealth,
} from '../../support/threads.ts';
import { until } from '../../support/until.ts';

const REQUESTS = 200;
const CLIENTS = 1_000;
const CLIENTS_AT_ONCE = 100;

const MEGABYTES_MOST = 700;
const HEALTH_WITHIN_MS = 250;
/** A machine that does something else for a moment spoils one try, not all. */
const TRIES = 3;

const STANDBYS = 16;

const LARGE = { workers: 16, count: 1_000 };
const RIGHT = { expected: 16_000, actual: 16_000, consistent: true };

interface Watched {
  readonly command: Command;
  readonly pid: number;
  readonly url: string;
  readonly port: number;
  readonly base: number;
}

async function start(t: TestContext, node: readonly string[] = []): Promise<Watched> {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error'], { node, env: NO_COVERAGE });
  const url = await command.ready();
  const pid = command.process.pid ?? assert.fail();
  await request(url, 'GET', '/notes');
  return { command, pid, url, port: Number(new URL(url).port), base: threadsOf(pid) };
}

function post(path: string, json: object): string {
  return requestText(`POST ${path}`, ['connection: close'], JSON.stringify(json));
}

/** Asserts that an answer is right, or that it says when to come back; returns whether it is right. */
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

/** Sends all requests at once; returns the times of /health meanwhile, in order of their length. */
async function load({ pid, port }: Watched, t: TestContext): Promise<number[]> {
  let answered = 0;
  let most = 0;
  const text = post('/counter/increment', LARGE);
  const answers = Array.from({ length: REQUESTS }, async () => {
    const answer = await sendRaw({ port }, text);
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
    `${right} of ${REQUESTS} were served; ${Math.round(most)} MB; /health ${sorted.length} times: ` +
      `p99 ${Math.round(p99)} ms, longest ${Math.round(sorted.at(-1) ?? 0)} ms`,
  );
  assert.ok(right > 0);
  assert.ok(most < MEGABYTES_MOST, `${most} MB`);
  assert.ok(sorted.length > 0);
  return sorted;
}

test('200 large demonstrations at once are served or sent away, while the service stays small and answers others', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const watched = await start(t);
  const longest: number[] = [];
  do {
    longest.push((await load(watched, t)).at(-1) ?? assert.fail());
  } while (Math.min(...longest) > HEALTH_WITHIN_MS && longest.length < TRIES);
  assert.ok(Math.min(...longest) <= HEALTH_WITHIN_MS, `/health took ${longest} ms`);
  await until(() => threadsOf(watched.pid) <= watched.base + STANDBYS);
});

/** Numbers from 0 to 1 that look random and are the same each time. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const items = Array.from({ length: 50 }, (_, index) => `item ${index}`);
const TEXTS = [
  post('/counter/increment', LARGE),
  post('/semaphore/run', { task_ids: [...items.keys()], concurrency_limit: 8 }),
  post('/event/sync', { payload: 'x'.repeat(500) }),
  post('/pool/run', { items, max_workers: 8 }),
  post('/producer-consumer/run', { items, num_consumers: 8, queue_size: 1 }),
  post('/thread-local/run', { items: Array(2_000).fill('x'), context_key: 'k' }),
];

/** A client that hangs up: before all is sent, right after, or while others are being served. */
async function hangUp({ port, url }: Watched, random: () => number): Promise<void> {
  const text = TEXTS[Math.floor(random() * TEXTS.length)] ?? '';
  const moment = Math.floor(random() * 4);
  const socket = await openSocket({ port });
  const gone = readAll(socket);
  socket.write(moment === 0 ? text.slice(0, Math.floor(random() * text.length)) : text);
  // As many answers to others later: long enough to be in the queue, or to have a crew.
  const answers = moment < 2 ? 0 : Math.floor(random() * 20);
  for (let count = 0; count < answers; count += 1) await (await fetch(`${url}/health`)).arrayBuffer();
  // Node cannot reset a socket that is ending, and would never say that it is closed.
  if (random() < 0.5 && socket.writable) socket.resetAndDestroy();
  else socket.destroy();
  await gone;
}

test('1,000 clients that hang up on their demonstrations leave nothing behind', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const watched = await start(t, SHORT_IDLE);
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
