// A flood of demonstrations: the threads stay bounded, the rest of the service goes on, and nothing
// is left behind.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startCommand } from '../support/command.ts';
import { request } from '../support/http.ts';
import { exchange, openSocket, type RawAnswer, requestText } from '../support/raw.ts';
import { skipLoudly } from '../support/skip.ts';
import { CANNOT_LOOK, residentMegabytesOf, SHORT_IDLE, threadsOf } from '../support/threads.ts';
import { until } from '../support/until.ts';

const REQUESTS = 200;

/** Clients that leave at once, and how many of them there are at one time. */
const DROPPED = 2_000;
const AT_ONCE = 200;

const MEGABYTES_MOST = 700;
const HEALTH_WITHIN_MS = 1_000;
/** Another load on the machine may spoil one try, but not all. */
const TRIES = 3;

const COUNTER = requestText(
  'POST /counter/increment',
  ['connection: close'],
  JSON.stringify({ workers: 16, count: 1_000 }),
);

/** Returns whether the answer is right; otherwise it tells when to retry. */
function assertRightOrLater({ status, headers, body }: RawAnswer): boolean {
  const json = JSON.parse(body);
  if (status === 200)
    assert.deepEqual(json, { expected: 16_000, actual: 16_000, consistent: true });
  else
    assert.deepEqual([status, json.status, Number(headers['retry-after']) > 0], [503, 503, true]);
  return status === 200;
}

/** Sends all requests at once; resolves with the longest time in ms that /health took meanwhile. */
async function flood(t: TestContext, url: string, pid: number): Promise<number> {
  const service = { port: Number(new URL(url).port) };
  let [answered, most, longest, looks] = [0, 0, 0, 0];
  const answers = Array.from({ length: REQUESTS }, async () => {
    const answer = await exchange(service, COUNTER);
    answered += 1;
    return answer;
  });
  for (; answered < REQUESTS; looks += 1) {
    most = Math.max(most, residentMegabytesOf(pid));
    const started = performance.now();
    assert.equal((await request(url, 'GET', '/health')).status, 200);
    longest = Math.max(longest, performance.now() - started);
  }
  const right = (await Promise.all(answers)).filter(assertRightOrLater).length;
  t.diagnostic(
    `${right} of ${REQUESTS} were served; ${Math.round(most)} MB; ` +
      `/health ${looks} times, longest ${Math.round(longest)} ms`,
  );
  assert.ok(right > 0 && looks > 0);
  assert.ok(most < MEGABYTES_MOST, `${most} MB`);
  return longest;
}

test('threads: a flood of demonstrations leaves the service usable', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const args = ['--port', '0', '--log-level', 'error'];
  const command = startCommand(t, args, { node: SHORT_IDLE });
  const url = await command.ready();
  const { pid = 0 } = command.process;
  await request(url, 'GET', '/notes');
  const before = threadsOf(pid);
  const longest: number[] = [];
  do longest.push(await flood(t, url, pid));
  while (Math.min(...longest) > HEALTH_WITHIN_MS && longest.length < TRIES);
  assert.ok(Math.min(...longest) <= HEALTH_WITHIN_MS, `/health took ${longest} ms`);
  await until(() => threadsOf(pid) <= before);
});

/** Sends demonstrations from {@link DROPPED} clients that leave at once. */
async function storm(port: number, leave: 'destroy' | 'resetAndDestroy'): Promise<void> {
  let left = DROPPED;
  const dropSome = async () => {
    for (; left > 0; left -= 1) {
      const socket = await openSocket({ port });
      socket.on('error', () => {});
      await new Promise<unknown>((sent) => socket.write(COUNTER, sent));
      socket[leave]();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, dropSome));
}

for (const leave of ['destroy', 'resetAndDestroy'] as const)
  test(`threads: thousands of clients that leave refuse nobody else: ${leave}`, async (t) => {
    const url = await startCommand(t, ['--port', '0', '--log-level', 'error']).ready();
    const json = { workers: 4, count: 100 };
    const count = () => request(url, 'POST', '/counter/increment', { json });
    assert.equal((await count()).status, 200);
    const dropped = { isOver: false };
    const storming = storm(Number(new URL(url).port), leave).then(() => {
      dropped.isOver = true;
    });
    let longest = 0;
    let isIdle = false;
    for (let asked = 0; !isIdle; asked += 1) {
      const started = performance.now();
      assert.equal((await count()).status, 200, `request ${asked}`);
      longest = Math.max(longest, performance.now() - started);
      const waiting = /^notes_demonstrations_waiting 0$/m;
      isIdle = dropped.isOver && waiting.test((await request(url, 'GET', '/metrics')).text);
    }
    await storming;
    t.diagnostic(`the longest took ${Math.round(longest)} ms`);
  });
