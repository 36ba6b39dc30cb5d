// The service inside another program, through the exports of `notes-server`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect, promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { createApp, type ServiceOptions } from '../../../src/library.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request, send } from '../../support/http.ts';

/** Starts a service and returns its URL; the end of the test closes it. */
async function listening(t: TestContext, options: Partial<ServiceOptions> = {}): Promise<string> {
  const service = createApp({ db: ':memory:', ...options });
  t.after(() => service.close());
  return service.listen();
}

const NOTE = { title: 'a', body: 'b' };

test('library: two services have their own ports and memory', async (t) => {
  const [first, second] = [await listening(t), await listening(t)];
  assert.notEqual(first, second);
  assert.equal((await request(first, 'POST', '/notes', { json: NOTE })).status, 201);
  assert.equal((await request(second, 'GET', '/notes/1')).status, 404);
});

test('library: takes the options of the command', async (t) => {
  const url = await listening(t, {
    apiKeys: ['first', 'second'],
    rateLimit: 2,
    bodyLimit: 20,
    problemBase: 'https://example.org/problems',
    corsOrigin: ['https://a.example', 'https://b.example'],
    trustProxy: false,
    baseUrl: undefined,
  });
  assert.equal((await send(url, 'GET', '/notes')).status, 401);
  const headers = { 'x-api-key': 'second', origin: 'https://a.example' };
  const answer = await send(url, 'POST', '/notes', { headers, json: NOTE });
  assert.equal(answer.status, 413);
  assert.equal(answer.headers['access-control-allow-origin'], 'https://a.example');
  assert.equal(answer.json.type, 'https://example.org/problems/payload-too-large');
  assert.equal((await send(url, 'GET', '/notes', { headers })).status, 200);
  assert.equal((await send(url, 'GET', '/notes', { headers })).status, 429);
});

const WRONG: readonly (readonly [options: object | undefined, reason: RegExp])[] = [
  [{ port: 65_536 }, /^--port takes a whole number from 0 to 65535, not "65536"$/],
  [{ port: null }, /^--port takes a whole number from 0 to 65535, not "null"$/],
  [{ logLevel: null }, /^--log-level takes one of .+, not "null"$/],
  [{ corsOrigin: [undefined] }, /^--cors-origin takes an origin .+, not "undefined"$/],
  [{ host: null }, /^anybody who reaches null could write: /],
  [{ db: '' }, /^--db must not be empty$/],
  [undefined, /^the option db is required/],
  [{ db: undefined }, /^the option db is required/],
  [{ db: ['notes.db'] }, /^the option db is required/],
  [{ prot: 1 }, /^unknown option "prot"$/],
  [{ constructor: undefined }, /^unknown option "constructor"$/],
  [{ processes: 2 }, /^unknown option "processes"$/],
  [{ 'log-level': 'debug' }, /^unknown option "log-level"$/],
  [{ host: '0.0.0.0' }, /^anybody who reaches 0\.0\.0\.0 could write: /],
  [{ apiKeys: [''] }, /^an API key must not be empty or contain a comma$/],
  [{ apiKeys: ['a,b'] }, /^an API key must not be empty or contain a comma$/],
  [{ apiKeys: 'key' }, /^apiKeys must be an array of keys$/],
];

test('library: wrong options throw a usage error in one line', () => {
  for (const [wrong, message] of WRONG) {
    const options = wrong && { db: ':memory:', ...wrong };
    const create = () => Reflect.apply(createApp, undefined, [options]);
    assert.throws(create, { name: 'UsageError', message }, inspect(wrong));
  }
});

test('library: close works without a start, after a failed one, twice', async () => {
  const failed = createApp({ db: '/nowhere/notes.db' });
  await assert.rejects(failed.listen(), /cannot open the database/);
  await failed.close();
  const unused = createApp({ db: ':memory:' });
  await unused.close();
  await assert.rejects(unused.listen(), {
    message: 'listen() can be called only once and not after close(): create a new service',
  });
  const closed = createApp({ db: ':memory:' });
  await closed.listen();
  await Promise.all([closed.close(), closed.close()]);
});

test('library: a close during the start ends the service', async () => {
  const service = createApp({ db: ':memory:' });
  const starting = service.listen();
  await service.close();
  await assert.rejects(send(await starting, 'GET', '/health'), { code: 'ECONNREFUSED' });
});

test('library: a second listen is refused and changes nothing', async (t) => {
  const db = join(temporaryFolder(t), 'notes.db');
  const service = createApp({ db });
  const url = await service.listen();
  await assert.rejects(service.listen(), /^Error: listen\(\) can be called only once/);
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  await service.close();
  await assert.rejects(send(url, 'GET', '/health'), { code: 'ECONNREFUSED' });
  assert.deepEqual(readdirSync(join(db, '..')), ['notes.db']);
  assert.equal((await request(await listening(t, { db }), 'GET', '/notes/1')).status, 200);
});

test('library: a demonstration runs in a thread of the program', async () => {
  const library = new URL('../../../src/library.js', import.meta.url);
  const program = `
    import { parentPort } from 'node:worker_threads';
    import { createApp } from '${library}';
    const service = createApp({ db: ':memory:' });
    const answer = await fetch(await service.listen() + '/counter/increment', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"workers":2,"count":5}',
    });
    parentPort.postMessage(await answer.text());
    await service.close();`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
  for (const workerData of [undefined, { control: new Int32Array(1), tasks: 'its own' }]) {
    const worker = new Worker(url, { workerData });
    const [[text], [status]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
    assert.deepEqual([text, status], ['{"expected":10,"actual":10,"consistent":true}', 0]);
  }
});

test('library: leaves output, signals and exit to the program', async () => {
  const library = new URL('../../../src/library.js', import.meta.url);
  const program = `
    import { get } from 'node:http';
    import { createApp } from '${library}';
    const listeners = () =>
      process.eventNames().map((name) => String(name) + process.listenerCount(name)).join();
    const before = listeners();
    const service = createApp({ db: ':memory:' });
    const url = await service.listen();
    const status = await new Promise((resolve) =>
      get(url + '/x', { agent: false }, (answer) => resolve(answer.resume().statusCode)));
    if (status !== 404 || listeners() !== before) throw new Error(status + listeners());
    await service.close();`;
  const args = ['--input-type=module', '--eval', program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  assert.deepEqual({ stdout, stderr }, { stdout: '', stderr: '' });
});
