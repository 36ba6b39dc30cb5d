// The service inside another program, by what `notes-server` exports: its options, its ends, and what it leaves alone.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect, promisify } from 'node:util';
import { createApp, type ServiceOptions } from '../../../src/library.ts';
import { needsFile, temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';

/** Starts a service and returns its URL; it is closed with the test. */
async function listening(t: TestContext, options: Partial<ServiceOptions> = {}): Promise<string> {
  const service = createApp({ db: ':memory:', ...options });
  t.after(() => service.close());
  return service.listen();
}

const NOTE = { title: 'a', body: 'b' };

test('it takes a free port of its own and keeps nothing in memory for others', async (t) => {
  const [first, second] = [await listening(t), await listening(t)];
  assert.notEqual(first, second);
  assert.equal((await request(first, 'POST', '/notes', { json: NOTE })).status, 201);
  assert.equal((await request(second, 'GET', '/notes/1')).status, 404);
});

test('what a file holds is there for the next service', { skip: needsFile }, async (t) => {
  const db = join(temporaryFolder(t), 'notes.db');
  const service = createApp({ db });
  await request(await service.listen(), 'POST', '/notes', { json: NOTE });
  await service.close();
  assert.deepEqual(readdirSync(join(db, '..')), ['notes.db']);
  assert.equal((await request(await listening(t, { db }), 'GET', '/notes/1')).status, 200);
});

test('its options are those of the command', async (t) => {
  const url = await listening(t, {
    apiKeys: ['first', 'second'],
    rateLimit: 2,
    bodyLimit: 20,
    problemBase: 'https://example.org/problems',
    corsOrigin: ['https://a.example', 'https://b.example'],
    trustProxy: false,
    baseUrl: undefined,
  });
  assert.equal((await fetch(`${url}/notes`)).status, 401);
  const headers = { 'content-type': 'application/json', 'x-api-key': 'second', origin: 'https://b.example' };
  const answer = await fetch(`${url}/notes`, { method: 'POST', headers, body: JSON.stringify(NOTE) });
  assert.equal(answer.status, 413);
  assert.equal(answer.headers.get('access-control-allow-origin'), 'https://b.example');
  assert.match(await answer.text(), /"https:\/\/example\.org\/problems\/payload-too-large"/);
  assert.equal((await fetch(`${url}/notes`, { headers })).status, 200);
  assert.equal((await fetch(`${url}/notes`, { headers })).status, 429);
});

for (const [wrong, reason] of [
  [{ port: 65_536 }, /^--port takes a whole number from 0 to 65535, not "65536"$/],
  [{ db: '' }, /^--db must not be empty$/],
  [{ db: undefined }, /^db has to be said/],
  [{ db: ['notes.db'] }, /^db has to be said/],
  [{ prot: 1 }, /^there is no option "prot"$/],
  [{ prot: false }, /^there is no option "prot"$/],
  [{ constructor: undefined }, /^there is no option "constructor"$/],
  [{ help: true }, /^there is no option "help"$/],
  [{ processes: 2 }, /^there is no option "processes"$/],
  [{ logFormat: 'json' }, /^there is no option "logFormat"$/],
  [{ 'log-level': 'debug' }, /^there is no option "log-level"$/],
  [{ host: '0.0.0.0' }, /^0\.0\.0\.0 is not a loopback address/],
  [{ apiKeys: [''] }, /^no key may be empty or have a comma in it$/],
  [{ apiKeys: ['a,b'] }, /^no key may be empty or have a comma in it$/],
  [{ apiKeys: 'key' }, /^apiKeys takes a list of keys$/],
] as const) {
  test(`${inspect(wrong)} is refused when the service is made`, () => {
    const options = { db: ':memory:', ...wrong };
    assert.throws(() => Reflect.apply(createApp, undefined, [options]), { name: 'UsageError', message: reason });
  });
}

test('one that is made of nothing is refused in one line too', () => {
  for (const nothing of [[], [null], [{}]]) {
    assert.throws(() => Reflect.apply(createApp, undefined, nothing), {
      name: 'UsageError',
      message: /^db has to be said/,
    });
  }
});

test('one that could not start, was not started, or is closed can be closed', async () => {
  const failed = createApp({ db: '/nowhere/notes.db' });
  await assert.rejects(failed.listen(), /cannot open the database/);
  await failed.close();
  const unused = createApp({ db: ':memory:' });
  await unused.close();
  const closed = createApp({ db: ':memory:' });
  await closed.listen();
  await Promise.all([closed.close(), closed.close()]);
});

test('one that is closed before it listens never does', async () => {
  const service = createApp({ db: ':memory:' });
  await service.close();
  await assert.rejects(service.listen(), /^Error: a service listens once, and not after it was closed/);
});

test('one that is closed while it starts is closed once it has', async () => {
  const service = createApp({ db: ':memory:' });
  const starting = service.listen();
  await service.close();
  await assert.rejects(fetch(await starting), /fetch failed/);
});

test('one that is told to listen twice goes on, and lets go of its file in the end', { skip: needsFile }, async (t) => {
  const db = join(temporaryFolder(t), 'notes.db');
  const service = createApp({ db });
  const url = await service.listen();
  await assert.rejects(service.listen(), /^Error: a service listens once/);
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  await service.close();
  await assert.rejects(fetch(url), /fetch failed/);
  assert.deepEqual(readdirSync(join(db, '..')), ['notes.db']);
});

test('one whose port is in use tells so, and can be closed', async (t) => {
  const port = Number(new URL(await listening(t)).port);
  const service = createApp({ db: ':memory:', port });
  await assert.rejects(service.listen(), { code: 'EADDRINUSE' });
  await service.close();
});

test('the process of the program stays its own: nothing is written, no signals are minded, and it ends', async () => {
  const library = new URL('../../../src/library.js', import.meta.url);
  const program = `
    import { createApp } from '${library}';
    const listeners = () => process.eventNames().map((name) => String(name) + process.listenerCount(name)).join();
    const before = listeners();
    const service = createApp({ db: ':memory:' });
    const { status } = await fetch(await service.listen() + '/nothing');
    if (status !== 404 || listeners() !== before) throw new Error(status + listeners());
    await service.close();`;
  const args = ['--input-type=module', '--eval', program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  assert.deepEqual({ stdout, stderr }, { stdout: '', stderr: '' });
});
