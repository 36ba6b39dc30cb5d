// The end of a key: when it expires, and when a reload removes or changes it.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { type EventStream, openStream } from '../../support/event-stream.ts';
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import { startProcesses } from '../../support/processes.ts';
import { stopQuotas } from '../../support/rate-limiter.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const OTHER = { authorization: 'Bearer secret-other' };

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test('expiry: an expired key is refused as such, and is no guess', async (t) => {
  stopQuotas(t);
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, 'secret-old name=old expires=2020-01-01\nsecret-other');
  const service = await startService(t, { apiKeysFile: file, trustProxy: true });
  const get = (headers: Record<string, string>, path = '/notes') =>
    service.request('GET', path, { headers: { ...headers, 'x-forwarded-for': '203.0.113.7' } });
  for (let count = 0; count < 11; count += 1) {
    const { status, headers, json } = await get(bearer('secret-old'));
    assert.deepEqual(
      [status, json.detail, headers['www-authenticate']],
      [401, 'The key has expired.', 'Bearer error="invalid_token"'],
    );
  }
  assert.equal(service.log.at(-1)?.fields.client, 'key old');
  assert.equal((await get(bearer('secret-old'), '/key')).status, 401);
  assert.equal((await get(bearer('secret-old'), '/health')).status, 200);
  for (let guess = 0; guess < 10; guess += 1)
    assert.equal((await get(bearer('secret-wrong'))).status, 401);
  // Nobody learns by guessing that a key was once valid.
  assert.equal((await get(bearer('secret-old'))).status, 429);
});

test('reload: ends the streams and polls of the keys that it removes or changes', async (t) => {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, 'secret-a name=a\nsecret-b name=b\nsecret-c name=c\n');
  const service = await startService(t, { apiKeysFile: file, apiKeys: ['secret-other'] });
  const keys = ['secret-a', 'secret-b', 'secret-c', 'secret-other'];
  const streams: EventStream[] = [];
  for (const key of keys) streams.push(await openStream(t, service.url, '/changes', bearer(key)));
  const json = { name: 'n' };
  const changes = (query: string, headers: Record<string, string> = bearer('secret-a')) =>
    service.request('GET', `/changes${query}`, { headers });
  const { next } = (await changes('')).json;
  const page = changes(`?since=${next}&wait=30`);
  const read = async () =>
    parseExposition((await service.request('GET', '/metrics', { headers: OTHER })).text);
  await until(async () => sampleOf(await read(), 'http_server_active_requests') === 2);
  writeFileSync(file, '# a was here\nsecret-c name=c\nsecret-b name=b access=read\n');
  await service.reloadKeys();
  await until(() => streams.filter((stream) => stream.hasEnded()).length === 2);
  assert.deepEqual(
    streams.map((stream) => stream.hasEnded()),
    [true, true, false, false],
  );
  const opened = await changes('', { ...bearer('secret-a'), accept: 'text/event-stream' });
  assert.equal(opened.status, 401);
  const post = async (key: string) =>
    (await service.request('POST', '/tags', { json, headers: bearer(key) })).status;
  assert.deepEqual(await Promise.all(keys.map(post)), [401, 403, 201, 201]);
  assert.deepEqual((await page).json, { items: [], next, more: false });
  await Promise.all(streams.slice(2).map((stream) => stream.changes(2)));
  const families = await read();
  const countOf = (key: string) => sampleOf(families, 'notes_key_requests_total', { key });
  assert.deepEqual([countOf('a'), countOf('b'), countOf('c')], [0, 2, 2]);
});

test('reload: other keys without a name keep their streams, counts and names', async (t) => {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, 'secret-a\nsecret-b\nsecret-c\n');
  const service = await startService(t, { apiKeysFile: file });
  const streams = await Promise.all(
    ['secret-a', 'secret-c'].map((key) => openStream(t, service.url, '/changes', bearer(key))),
  );
  const headers = bearer('secret-c');
  const countOf = async (key: string) => {
    const { text } = await service.request('GET', '/metrics', { headers });
    const label = hash('sha256', key).slice(0, 8);
    return sampleOf(parseExposition(text), 'notes_key_requests_total', { key: label });
  };
  const before = await countOf('secret-c');
  writeFileSync(file, 'secret-d\n\nsecret-c\n');
  await service.reloadKeys();
  await until(() => streams[0]?.hasEnded() === true);
  await service.request('POST', '/tags', { json: { name: 'n' }, headers });
  await streams[1]?.changes(1);
  assert.deepEqual([await countOf('secret-a'), await countOf('secret-c')], [0, before + 3]);
  const clients = service.log.map(({ fields }) => fields.client);
  const known = ['secret-a', 'secret-c'].map((key) => `key ${hash('sha256', key).slice(0, 8)}`);
  assert.deepEqual([...new Set(clients)].sort(), known.sort());
});

test('keys: the log warns of a file that other users can read', {
  skip: process.platform === 'win32',
}, async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys');
  writeFileSync(file, 'secret-a\n', { mode: 0o644 });
  const args = ['--api-keys-file', file];
  const service = await startProcesses(t, 2, args, { folder, coverage: true });
  for (const mode of [0o400, 0o604]) {
    chmodSync(file, mode);
    const reloaded = service.nextLine(({ message }) => message === 'keys reloaded');
    service.process.kill('SIGHUP');
    await reloaded;
  }
  await stop(service);
  const supervisor = service.process.pid;
  assert.deepEqual(
    service.lines
      .filter(({ process, message }) => process === supervisor || message.includes('keys'))
      .map(({ message, process, keys, file }) => [message, process, keys ?? file]),
    [
      ['other users can read the keys', supervisor, file],
      ['listening', supervisor, 1],
      ['keys reloaded', supervisor, 1],
      ['other users can read the keys', supervisor, file],
      ['keys reloaded', supervisor, 1],
      ['stopping', supervisor, undefined],
    ],
  );
});
