// Keys over HTTP: what is open without one, when they are checked, how guessing ends, and how the
// file is reloaded. Which header carries which key is in the unit tests.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { parseCommand } from '../../../src/cli/command-line.ts';
import { startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { stopQuotas } from '../../support/rate-limiter.ts';
import { exchangeLast } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const KEYED = { apiKeys: ['secret-one', 'secret-two'] };
const BEARER = { authorization: 'Bearer secret-one' };
const asPassword = (key: string) => ({
  authorization: `Basic ${Buffer.from(`user:${key}`).toString('base64')}`,
});
const WRONG = { authorization: 'Bearer secret-three' };
const NOTE = { title: 'a', body: 'b' };

stopQuotas({ after });

/** One service for the tests that send no wrong key, which would count against their address. */
const service = await startService({ after }, KEYED);

test('keys: without a valid one nothing is stored', async (t) => {
  const service = await startService(t, KEYED);
  const asUser = { authorization: `basic ${Buffer.from('secret-one:').toString('base64')}` };
  for (const headers of [{}, WRONG, { 'x-api-key': 'secret' }, asUser, asPassword('secret')]) {
    const parts = { json: NOTE, headers };
    const { status, headers: sent } = await service.request('POST', '/notes', parts);
    assert.deepEqual([status, sent['www-authenticate']], [401, 'Bearer']);
  }
  for (const headers of [BEARER, { 'x-api-key': 'secret-two' }, asPassword('secret-two')])
    assert.equal((await service.request('POST', '/notes', { json: NOTE, headers })).status, 201);
  const { json } = await service.request('GET', '/notes', { headers: BEARER });
  assert.equal(json.total, 3);
});

test('keys: curl sends one as a password, given or from ~/.netrc', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, '.netrc'), 'machine 127.0.0.1 login notes password secret-two');
  for (const args of [['-u', ':secret-one'], ['-n']]) {
    const options = { env: { ...process.env, HOME: folder } };
    const url = `http://127.0.0.1:${service.port}/key`;
    const { stdout } = await promisify(execFile)('curl', ['-s', ...args, url], options);
    assert.equal(JSON.parse(stdout).access, 'write');
  }
});

test('keys: without one no answer reveals whether a path exists', async () => {
  for (const [method, path] of [
    ['GET', '/nowhere'],
    ['GET', '/notes/1'],
    ['GET', '/notes/x'],
    ['PATCH', '/notes'],
    ['OPTIONS', '/notes'],
    ['OPTIONS', '*'],
    ['HEAD', '/notes'],
    ['GET', '/healthy'],
    ['GET', '/health/x'],
    ['GET', '/health/'],
    ['GET', '/livez/ping'],
    ['GET', '/readyz2'],
    ['GET', '/openapi.json/x'],
    ['GET', '//x'],
    ['GET', '/%64ocs2'],
    ['GET', '/.well-known2/x'],
    ['GET', '/%6Eotes'],
  ] as const) {
    const answer = await service.request(method, path);
    assert.deepEqual([answer.status, answer.headers.allow], [401, undefined], `${method} ${path}`);
  }
  for (const path of [
    '/',
    '/health',
    '/livez',
    '/readyz',
    '/openapi.json',
    '/problems/x',
    '/docs/x',
  ])
    assert.notEqual((await service.request('GET', path)).status, 401, path);
});

test('keys: where clients look for OAuth the answer is 404, whatever the key', async () => {
  const files = ['oauth-protected-resource/mcp', 'openid-configuration', 'x', ''];
  for (const path of ['/register', ...files.map((file) => `/.well-known/${file}`)]) {
    for (const headers of [{}, BEARER, WRONG]) {
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
        const answer = await service.request(method, path, { headers });
        assert.deepEqual([answer.status, answer.headers['www-authenticate']], [404, undefined]);
        if (method !== 'HEAD') assert.equal(answer.json.detail, 'There is nothing at this path.');
      }
    }
  }
});

test('keys: absolute and encoded targets need one like their path', async () => {
  for (const [target, status] of [
    ['http://localhost/notes', 401],
    ['http://localhost', 307],
    ['http://localhost/health', 200],
    ['/%68ealth', 200],
    ['/docs%2Fx', 401],
    ['/notes/../health', 401],
  ] as const)
    assert.equal((await exchangeLast(service, `GET ${target}`)).status, status, target);
});

test('keys: checked before the body is sent', async () => {
  const headers = { expect: '100-continue', 'content-length': '999' };
  assert.equal((await service.request('POST', '/notes', { headers })).status, 401);
});

test('keys: ten wrong ones lock an address out for a while', async (t) => {
  // The rate limit is a quota of its own: the guesses take nothing from it, nor it from them.
  const service = await startService(t, { ...KEYED, rateLimit: 9, trustProxy: true });
  const get = (headers: Record<string, string>, address = '2001:db8::1') =>
    service.request('GET', '/notes', { headers: { ...headers, 'x-forwarded-for': address } });
  for (let guess = 0; guess < 10; guess += 1) {
    const answer = await get({ 'x-api-key': `guess ${guess}` });
    assert.deepEqual([answer.status, answer.json.detail], [401, 'This key is not known.']);
    assert.equal((await get(BEARER)).status, guess === 9 ? 429 : 200);
  }
  for (const headers of [WRONG, BEARER, { 'x-api-key': 'secret-two' }]) {
    const answer = await get(headers);
    assert.equal(answer.status, 429);
    assert.match(answer.json.detail, /^Too many wrong keys\. Try again in [1-6] seconds?\.$/);
    assert.match(String(answer.headers['retry-after']), /^[1-6]$/);
    assert.equal(answer.headers['ratelimit-policy'], '"wrong-keys";q=10;w=60');
    assert.match(String(answer.headers.ratelimit), /^"wrong-keys";r=0;t=(?:60|5\d)$/);
  }
  // A request without a key is no guess.
  assert.equal((await get({})).status, 401);
  assert.equal((await service.request('GET', '/health')).status, 200);
  const other = { 'x-api-key': 'secret-two' };
  assert.equal((await get(other, '2001:db8::2')).status, 429, 'the same /64 network');
  assert.equal((await get(other, '2001:db8:0:1::1')).status, 200);
});

test('keys: SIGHUP reloads the file, a wrong one changes nothing', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys');
  writeFileSync(file, 'secret-one\n');
  const env = { NOTES_API_KEYS: 'secret-six' };
  const args = ['--port', '0', '--api-keys-file', file];
  const command = startCommand(t, args, { folder, env, coverage: true });
  const url = await command.ready();
  await command.says(`"message":"listening","address":"${url}","keys":2`);
  async function statusOf(key: string) {
    const ways = [{ 'x-api-key': key }, asPassword(key)];
    const answers = ways.map((headers) => request(url, 'GET', '/notes', { headers }));
    const [status, same] = (await Promise.all(answers)).map((answer) => answer.status);
    assert.equal(status, same);
    return status;
  }
  assert.deepEqual([await statusOf('secret-one'), await statusOf('secret-two')], [200, 401]);
  writeFileSync(file, '# changed\nsecret-one\nsecret-two\nsecret-five\n');
  command.process.kill('SIGHUP');
  await command.says('"keys reloaded","keys":4');
  assert.deepEqual([await statusOf('secret-one'), await statusOf('secret-two')], [200, 200]);
  writeFileSync(file, 'secret-three\nsecret-seven access=secret-eight\n');
  command.process.kill('SIGHUP');
  await command.says('the old keys stay');
  assert.deepEqual([await statusOf('secret-two'), await statusOf('secret-three')], [200, 401]);
  assert.equal(await statusOf('secret-six'), 200);
  const ending = await stop(command);
  assert.equal(ending.status, 0);
  assert.doesNotMatch(ending.stderr, /secret/);
  const failure = ending.stderr.split('\n').find((line) => line.includes('the old keys stay'));
  const { reason, error } = JSON.parse(failure ?? '');
  assert.deepEqual([reason, error], [`line 2 of ${file}: access takes read or write`, undefined]);
});

test('keys: a service that others reach needs one and limits rates', async (t) => {
  const command = parseCommand(['--port', '0', '--host', '0.0.0.0'], {
    NOTES_API_KEYS: 'secret-one',
  });
  assert.ok(command.kind === 'serve');
  const { db: _, ...options } = command.options;
  const service = await startService(t, options);
  const url = `http://127.0.0.1:${service.port}`;
  assert.equal((await request(url, 'GET', '/notes')).status, 401);
  const answer = await request(url, 'GET', '/notes', { headers: BEARER });
  assert.deepEqual(
    [answer.status, answer.headers['ratelimit-policy']],
    [200, '"default";q=600;w=60'],
  );
  assert.equal((await request(url, 'GET', '/health')).status, 200);
});
