// What becomes of the threads of the demonstrations when clients go, when the service stops, and when nobody asks.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type Command, startCommand, stop } from '../../support/command.ts';
import { numbered, TAKEN } from '../../support/demonstration-requests.ts';
import { request } from '../../support/http.ts';
import { openSocket, readAll, requestText } from '../../support/raw.ts';
import { skipLoudly } from '../../support/skip.ts';
import { CANNOT_LOOK, descriptorsOf, limited, NO_COVERAGE, SHORT_IDLE, threadsOf } from '../../support/threads.ts';
import { until } from '../../support/until.ts';

/** Starts a service of its own process that lets its standbys go soon, with as few threads as it may have. */
async function startSmall(t: TestContext): Promise<{ command: Command; url: string; port: number; base: number }> {
  const command = startCommand(t, ['--port', '0', '--max-threads', '16'], { node: SHORT_IDLE, env: NO_COVERAGE });
  const url = await command.ready();
  await request(url, 'GET', '/notes');
  return { command, url, port: Number(new URL(url).port), base: threadsOf(command.process.pid) };
}

/** One that keeps its threads at work for a while. */
const LONG = requestText(
  'POST /thread-local/run',
  ['connection: close'],
  JSON.stringify({ items: numbered(80_000, ''), context_key: 'k' }),
);
const LARGE = { workers: 16, count: 1_000 };
const WIDE = requestText('POST /counter/increment', ['connection: close'], JSON.stringify(LARGE));

test('who goes away while a demonstration waits or works gives all its threads back', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const { command, url, port, base } = await startSmall(t);
  const { pid } = command.process;
  const idle = () => threadsOf(pid) === base;
  const descriptors = descriptorsOf(pid);
  for (const [threads, text] of [1, 4, 8, 12].flatMap((each) => [[each, LONG] as const, [each, WIDE] as const])) {
    // With five at once, some have their crew and the others wait for one.
    const sockets = await Promise.all(Array.from({ length: 5 }, () => openSocket({ port })));
    let answered = 0;
    for (const socket of sockets) {
      socket.once('data', () => {
        answered += 1;
      });
      socket.write(text);
    }
    // So many may have been there too shortly to be seen.
    await until(() => threadsOf(pid) >= base + threads || answered === sockets.length);
    for (const socket of sockets) socket.destroy();
    const answer = await request(url, 'POST', '/counter/increment', { json: LARGE });
    assert.deepEqual(JSON.parse(answer.text), { expected: 16_000, actual: 16_000, consistent: true });
    assert.ok(threadsOf(pid) <= base + 16);
  }
  await until(idle);
  await until(() => descriptorsOf(pid) <= descriptors);
  assert.equal((await request(url, 'GET', '/health')).status, 200);
  assert.equal((await stop(command)).status, 0);
});

test('SIGTERM while demonstrations run lets them finish, refuses those that wait, and ends well', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const { command, port, base } = await startSmall(t);
  const sockets = await Promise.all(Array.from({ length: 40 }, () => openSocket({ port })));
  const answers = sockets.map(readAll);
  sockets[0]?.write(LONG);
  await until(() => threadsOf(command.process.pid) > base);
  for (const socket of sockets.slice(1)) socket.write(WIDE);
  // Eight of them for the first, and the others for the next.
  await until(() => threadsOf(command.process.pid) > base + 12);
  const { status, stderr } = await stop(command);
  assert.equal(status, 0, stderr);
  const texts = await Promise.all(answers);
  for (const text of texts) assert.match(text, /^HTTP\/1\.1 (200|503) .*\r\nconnection: close\r\n/is);
  assert.match(texts[0] ?? '', /^HTTP\/1\.1 200 /);
  // More than could be told that there were no threads in time, which takes ten seconds.
  const refused = texts.filter((text) => text.endsWith('"detail":"The service is shutting down."}'));
  assert.ok(refused.length > 0);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const reasons = lines.filter(({ level, status, reason }) => level === 'warn' && status === 503 && reason);
  assert.equal(reasons.length, texts.filter((text) => text.startsWith('HTTP/1.1 503')).length);
  assert.ok(lines.every(({ level }) => level !== 'error'));
});

test('a service that sees no demonstration that it could run has no thread more than before', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const { command, url, base } = await startSmall(t);
  for (const title of numbered(50)) {
    assert.equal((await request(url, 'POST', '/notes', { json: { title, body: 'x' } })).status, 201);
    assert.equal((await request(url, 'GET', '/notes')).status, 200);
  }
  for (const path of Object.keys(TAKEN)) assert.equal((await request(url, 'POST', path, { json: {} })).status, 422);
  assert.equal((await request(url, 'POST', '/pool/run', { json: { items: [] } })).status, 400);
  assert.equal(threadsOf(command.process.pid), base);
  // A connection that never says what it wants is no reason either.
  const { port } = new URL(url);
  const socket = await openSocket({ port: Number(port) });
  socket.write(WIDE.slice(0, -3));
  await request(url, 'GET', '/health');
  assert.equal(threadsOf(command.process.pid), base);
  socket.destroy();
  await once(socket, 'close');
});

/** Flags of Node that allow all that the service needs, and no threads; who waits for one is sent away soon. */
const NO_THREADS: readonly string[] = [
  process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission',
  '--allow-addons',
  '--allow-fs-read=*',
  '--allow-fs-write=*',
  ...limited('queueMs', 20),
];

test('where Node may start no threads each demonstration is 500, and the service goes on', async (t) => {
  const command = startCommand(t, ['--port', '0'], { node: NO_THREADS });
  const url = await command.ready();
  // Long enough for those to be sent away who were not refused at once.
  for (let round = 0; round < 50; round += 1) {
    const answers = await Promise.all([1, 2, 3].map(() => request(url, 'POST', '/counter/increment', { json: LARGE })));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [500, 500, 500],
    );
  }
  assert.equal((await request(url, 'GET', '/health')).status, 200);
  assert.equal((await stop(command)).status, 0);
});
