// What happens when a key expires while the service runs: these tests wait for seconds.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/engine.ts';
import { openStream } from '../support/event-stream.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const OTHER = { authorization: 'Bearer secret-other' };

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

test('expiry: ends the streams and the waiting requests of the key, and no others', async (t) => {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, `secret-agent name=agent expires=${inMs(5_000)}\nsecret-other`);
  const service = await startService(t, { apiKeysFile: file });
  const get = (path: string, headers: Record<string, string>) =>
    service.request('GET', path, { headers });
  const { next } = (await get('/changes', OTHER)).json;
  const ending = await openStream(t, service.url, '/changes', bearer('secret-agent'));
  const lasting = await openStream(t, service.url, '/changes', OTHER);
  const later = get(`/changes?since=${next}&wait=30`, OTHER);
  const waiting = get(`/changes?since=${next}&wait=30`, bearer('secret-agent'));
  assert.equal((await get('/key', bearer('secret-agent'))).status, 200);
  await until(() => ending.hasEnded());
  const first = await Promise.race([later, waiting]);
  assert.equal(first, await waiting, 'the key ends the wait');
  assert.deepEqual(first.json, { items: [], next, more: false });
  assert.equal((await get('/notes', bearer('secret-agent'))).status, 401);
  assert.equal(lasting.hasEnded(), false);
  await service.request('POST', '/tags', { json: { name: 'n' }, headers: OTHER });
  await lasting.changes(1);
  assert.equal((await later).json.items.length, 1);
  assert.equal(ending.events.length, 0);
});
