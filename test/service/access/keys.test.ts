// Keys at the door of a running service: who comes in with which, what is open without one, and how guessing ends.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertRefused, runCommand, startCommand, stop } from '../../support/command.ts';
import { contract } from '../../support/contract.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { sendRaw } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const KEYED = { apiKeys: ['secret-one', 'secret-two'] };
const BEARER = { authorization: 'Bearer secret-one' };
const WRONG = { authorization: 'Bearer secret-three' };
const NOTE = { title: 'a', body: 'b' };

const isOpen = (path: string) => /^\/(?:$|health$|livez$|readyz$|docs|openapi\.json|problems)/.test(path);

test('without keys every operation is open, and a key that is sent does not matter', async (t) => {
  const service = await startService(t);
  for (const headers of [{}, BEARER, { authorization: 'Basic x' }])
    assert.equal((await service.request('GET', '/notes', { headers })).status, 200);
});

test('with keys each operation of the contract asks for one, but the entrance, health and documentation', async (t) => {
  const service = await startService(t, KEYED);
  for (const [template, operations] of Object.entries(contract.paths)) {
    const path = template
      .replace('{asset}', 'swagger-ui.css')
      .replace('{slug}', 'not-found')
      .replace(/\{\w+\}/g, '1');
    for (const method of Object.keys(operations).filter((name) => /^(get|put|post|delete)$/.test(name))) {
      const answer = await service.request(method.toUpperCase(), path, method === 'get' ? {} : { json: NOTE });
      if (isOpen(path)) {
        assert.ok(answer.status < 400, `${method} ${path}`);
        continue;
      }
      assert.deepEqual([answer.status, answer.headers['www-authenticate']], [401, 'Bearer'], `${method} ${path}`);
      assert.equal(answer.json.detail, 'This service asks for a key: send "authorization: Bearer KEY".');
      const keyed = await service.request(method.toUpperCase(), path, { json: NOTE, headers: BEARER });
      assert.notEqual(keyed.status, 401);
    }
  }
});

test('nothing is stored without a right key, and everything works with one, by either header', async (t) => {
  const service = await startService(t, KEYED);
  for (const headers of [{}, WRONG, { 'x-api-key': 'secret' }, { authorization: 'Basic secret-one' }])
    assert.equal((await service.request('POST', '/notes', { json: NOTE, headers })).status, 401);
  for (const headers of [BEARER, { 'x-api-key': 'secret-two' }])
    assert.equal((await service.request('POST', '/notes', { json: NOTE, headers })).status, 201);
  const { json } = await service.request('GET', '/notes', { headers: BEARER });
  assert.equal(json.total, 2);
});

test('without a key a path says nothing of itself: not that it is there, nor what it takes', async (t) => {
  const service = await startService(t, KEYED);
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
    ['GET', '/%6Eotes'],
  ] as const) {
    const answer = await service.request(method, path);
    assert.deepEqual([answer.status, answer.headers.allow], [401, undefined], `${method} ${path}`);
  }
  for (const path of ['/', '/health', '/livez', '/readyz', '/problems/x', '/docs/x'])
    assert.notEqual((await service.request('GET', path)).status, 401, path);
});

test('an absolute target and an encoded one need a key where their path does', async (t) => {
  const service = await startService(t, KEYED);
  for (const [target, status] of [
    ['http://localhost/notes', 401],
    ['http://localhost', 307],
    ['http://localhost/health', 200],
    ['/%68ealth', 200],
    ['/docs%2Fx', 401],
    ['/notes/../health', 401],
  ] as const) {
    const text = await sendRaw(service, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), target);
  }
});

test('a key is asked for before the body of a request is', async (t) => {
  const service = await startService(t, KEYED);
  const answer = await service.request('POST', '/notes', {
    headers: { expect: '100-continue', 'content-length': '999' },
  });
  assert.equal(answer.status, 401);
});

test('after ten wrong keys an address is told nothing of any key, until time has passed', async (t) => {
  const service = await startService(t, KEYED);
  const ask = (headers: Record<string, string>) => service.request('GET', '/notes', { headers });
  for (let guess = 0; guess < 10; guess += 1) {
    const answer = await ask({ 'x-api-key': `guess ${guess}` });
    assert.deepEqual([answer.status, answer.json.detail], [401, 'This key is not known.']);
    assert.equal((await ask(BEARER)).status, guess === 9 ? 429 : 200);
  }
  for (const headers of [WRONG, BEARER, { 'x-api-key': 'secret-two' }]) {
    const answer = await ask(headers);
    assert.equal(answer.status, 429);
    assert.match(answer.json.detail, /^Too many wrong keys\. Try again in [1-6] seconds?\.$/);
    assert.match(String(answer.headers['retry-after']), /^[1-6]$/);
    assert.equal(answer.headers['ratelimit-policy'], '"wrong-keys";q=10;w=60');
    assert.match(String(answer.headers.ratelimit), /^"wrong-keys";r=0;t=(?:60|5\d)$/);
  }
  // No key is no guess.
  assert.equal((await ask({})).status, 401);
  assert.equal((await service.request('GET', '/health')).status, 200);
});

test('wrong keys are limited whatever the rate limit is', async (t) => {
  const service = await startService(t, { ...KEYED, rateLimit: 1 });
  const ask = async () => (await service.request('GET', '/notes', { headers: WRONG })).status;
  const statuses: number[] = [];
  for (let guess = 0; guess < 11; guess += 1) statuses.push(await ask());
  assert.deepEqual(statuses, [...Array(10).fill(401), 429]);
});

test('wrong keys of one address do not lock out another', async (t) => {
  const service = await startService(t, { ...KEYED, trustProxy: true });
  const ask = (address: string, headers: Record<string, string>) =>
    service.request('GET', '/notes', { headers: { ...headers, 'x-forwarded-for': address } });
  for (let guess = 0; guess < 11; guess += 1) await ask('2001:db8::1', WRONG);
  assert.equal((await ask('2001:db8::2', BEARER)).status, 429);
  assert.equal((await ask('2001:db8:0:1::1', BEARER)).status, 200);
});

test('keys stand in no log line, right or wrong', async (t) => {
  const command = startCommand(t, ['--port', '0'], { env: { NOTES_API_KEYS: 'secret-one' } });
  const url = await command.ready();
  for (const headers of [BEARER, WRONG, { 'x-api-key': 'secret-four' }]) await fetch(`${url}/notes`, { headers });
  const { stdout, stderr } = await stop(command);
  assert.equal(stderr.match(/"status":(200|401)/g)?.length, 3);
  assert.equal(stderr.match(/"status":401,"ms":[\d.]+,"reason":"This key is not known\."/g)?.length, 2);
  assert.doesNotMatch(stdout + stderr, /secret/);
});

test('on SIGHUP the file of keys is read again, and one that is wrong changes nothing but the log', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys');
  writeFileSync(file, 'secret-one\n');
  const env = { NOTES_API_KEYS: 'secret-six' };
  const command = startCommand(t, ['--port', '0', '--api-keys-file', file], { folder, env });
  const url = await command.ready();
  const status = async (key: string) => (await fetch(`${url}/notes`, { headers: { 'x-api-key': key } })).status;
  assert.deepEqual([await status('secret-one'), await status('secret-two')], [200, 401]);
  writeFileSync(file, '# changed\nsecret-two\nsecret-five\n');
  command.process.kill('SIGHUP');
  await command.says('"keys reloaded","keys":3');
  assert.deepEqual([await status('secret-one'), await status('secret-two')], [401, 200]);
  writeFileSync(file, '');
  command.process.kill('SIGHUP');
  await command.says('the old keys stay');
  assert.deepEqual([await status('secret-one'), await status('secret-two')], [401, 200]);
  assert.equal(await status('secret-six'), 200);
  const ending = await stop(command);
  assert.equal(ending.status, 0);
  assert.doesNotMatch(ending.stderr, /secret/);
});

test('without a file SIGHUP ends the process, as the end of its terminal should', async (t) => {
  const command = startCommand(t, ['--port', '0']);
  await command.ready();
  const { signal } = await stop(command, 'SIGHUP');
  assert.equal(signal, 'SIGHUP');
});

test('a file of keys that is missing, empty or wrong ends the start with one line', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys');
  const run = () => runCommand(t, ['--port', '0', '--api-keys-file', file], { folder });
  assertRefused(await run(), 1, /cannot read the keys in .*keys: ENOENT/);
  assert.equal(existsSync(join(folder, 'notes.db')), false);
  writeFileSync(file, '\n# none\n');
  assertRefused(await run(), 1, /holds no key/);
  writeFileSync(file, 'secret one\n');
  const ending = await run();
  assertRefused(ending, 1, /line 1 of .* is no key/);
  assert.doesNotMatch(ending.stderr, /secret/);
});

test('an address that others reach is listened on with keys alone, or when told so', async (t) => {
  assertRefused(await runCommand(t, ['--port', '0', '--host', '0.0.0.0']), 2, /NOTES_API_KEYS or --api-keys-file/);
  const command = startCommand(t, ['--port', '0', '--host', '0.0.0.0'], { env: { NOTES_API_KEYS: 'secret-one' } });
  const { port } = new URL(await command.ready());
  const answer = await fetch(`http://127.0.0.1:${port}/notes`, { headers: BEARER });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('ratelimit-policy'), '"default";q=600;w=60');
  await until(async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok);
});
