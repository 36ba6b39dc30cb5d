// What happens when a key expires while the service runs: these tests wait for seconds.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/engine.ts';
import { openStream } from '../support/event-stream.ts';
import { request } from '../support/http.ts';
import { sendSignal, startProcesses } from '../support/processes.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const OTHER = { authorization: 'Bearer secret-other' };

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

test('expiry: ends the streams and the waiting requests of the key, and no others', async (t) => {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, `secret-agent name=agent expires=${inMs(2_500)}\nsecret-other`);
  const service = await startService(t, { apiKeysFile: file });
  const get = (path: string, headers: Record<string, string>) =>
    service.request('GET', path, { headers });
  const { next } = (await get('/changes', OTHER)).json;
  const ending = await openStream(t, service.url, '/changes', bearer('secret-agent'));
  const lasting = await openStream(t, service.url, '/changes', OTHER);
  const waiting = get(`/changes?since=${next}&wait=30`, bearer('secret-agent'));
  assert.equal((await get('/key', bearer('secret-agent'))).status, 200);
  await until(() => ending.hasEnded());
  assert.deepEqual((await waiting).json, { items: [], next, more: false });
  assert.equal((await get('/notes', bearer('secret-agent'))).status, 401);
  assert.equal(lasting.hasEnded(), false);
  await service.request('POST', '/tags', { json: { name: 'n' }, headers: OTHER });
  await lasting.changes(1);
  assert.equal(ending.events.length, 0);
});

test('processes: a reload applies to all or none, and a new one needs no file', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys');
  writeFileSync(file, 'secret-a name=a\n');
  const service = await startProcesses(t, 2, ['--api-keys-file', file], { folder });
  const saysNext = (text: string) => service.nextLine(({ message }) => message.includes(text));
  /** The answers to several requests, which are spread over all processes. */
  const statusesOf = async (key: string, method = 'GET') => {
    const answers = Array.from({ length: 6 }, () =>
      request(service.url, method, '/changes', { headers: bearer(key) }),
    );
    return [...new Set((await Promise.all(answers)).map(({ status }) => status))];
  };
  assert.deepEqual(await statusesOf('secret-a'), [200]);
  const expires = inMs(4_000);
  writeFileSync(file, `secret-a name=a access=read\nsecret-b name=b expires=${expires}\n`);
  const reloaded = saysNext('keys reloaded');
  service.process.kill('SIGHUP');
  await reloaded;
  assert.deepEqual(await statusesOf('secret-a', 'DELETE'), [403]);
  const streams = await Promise.all(
    Array.from({ length: 4 }, () => openStream(t, service.url, '/changes', bearer('secret-b'))),
  );
  writeFileSync(file, 'secret-c secret-d\n');
  const kept = saysNext('the old keys stay');
  service.process.kill('SIGHUP');
  await kept;
  const replaced = saysNext('process replaced');
  sendSignal(service.serving()[0], 'SIGTERM');
  await replaced;
  assert.deepEqual(await statusesOf('secret-a', 'DELETE'), [403]);
  await until(() => streams.every((stream) => stream.hasEnded()));
  await until(() => Date.now() >= Date.parse(expires));
  assert.deepEqual(await statusesOf('secret-b'), [401]);
});
