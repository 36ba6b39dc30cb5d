// Conditions, patches and bulk creates behave alike on every database and on several processes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  COLLECTIONS,
  type CollectionUnderTest,
  inputOf,
  prepare,
} from '../../support/collections.ts';
import type { RequestParts } from '../../support/http.ts';
import { PLACES, type Target } from '../../support/places.ts';

async function checkSafeWrites(service: Target, collection: CollectionUnderTest): Promise<void> {
  const { path, fields, added } = collection;
  const input = (text: string) => inputOf(collection, text);
  const [field = ''] = fields;
  const send = async (method: string, target: string, status: number, parts: RequestParts = {}) => {
    const answer = await service.request(method, target, parts);
    const label = `${method} ${target} ${JSON.stringify(parts)}`;
    assert.equal(answer.status, status, label.slice(0, 200));
    return answer;
  };
  await prepare(service, collection);
  const lines = ['one', 'two', 'three'].map((text) => JSON.stringify(input(text)));
  const ndjson = { 'content-type': 'application/x-ndjson' };
  const bulk = await send('POST', path, 201, { body: lines.join('\n'), headers: ndjson });
  const [first] = bulk.json;
  assert.deepEqual(
    bulk.json,
    ['one', 'two', 'three'].map((text, index) => {
      return { id: first.id + index, ...added, ...input(text) };
    }),
  );
  await send('POST', path, 422, { body: `${lines[0]}\n{}`, headers: ndjson });
  await send('POST', path, 400, { body: `${lines[0]}\n{`, headers: ndjson });
  if (collection.nested)
    await send('POST', '/notes/999/comments', 404, { body: lines[0] ?? '', headers: ndjson });

  const list = await send('GET', path, 200);
  assert.deepEqual(list.json.items, bulk.json);
  const known = { headers: { 'if-none-match': `"a", W/${list.headers.etag}` } };
  for (const method of ['GET', 'HEAD']) await send(method, path, 304, known);
  const target = `${path}/${first.id}`;
  const tag = String((await send('GET', target, 200)).headers.etag);
  await send('GET', target, 304, { headers: { 'if-none-match': tag } });
  await send('PATCH', target, 200, { json: {}, headers: { 'if-match': tag } });
  await send('GET', path, 304, known);

  for (const headers of [
    { 'if-match': `W/${tag}` },
    { 'if-match': '"00000000-1"' },
    { 'if-none-match': '*' },
    { 'if-match': tag, 'if-none-match': tag },
  ]) {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const refused = await send(method, target, 412, { json: input('no'), headers });
      assert.equal(refused.headers.etag, tag);
      await send(method, `${path}/9999`, 404, { json: input('no'), headers });
    }
  }
  await send('GET', path, 304, known);

  const put = await send('PUT', target, 200, {
    json: input('put'),
    headers: { 'if-match': `"x", ${tag}` },
  });
  await send('PATCH', target, 412, { json: { [field]: 'no' }, headers: { 'if-match': tag } });
  const patched = await send('PATCH', target, 200, {
    json: { [field]: 'patched', id: 77 },
    headers: { 'if-match': String(put.headers.etag) },
  });
  assert.deepEqual(patched.json, { ...put.json, [field]: 'patched' });
  await send('GET', path, 200, known);
  const read = await send('GET', target, 200);
  assert.deepEqual([read.bytes, read.headers.etag], [patched.bytes, patched.headers.etag]);

  const race = await Promise.all(
    Array.from({ length: 6 }, () =>
      service.request('PUT', target, {
        json: input('race'),
        headers: { 'if-match': String(read.headers.etag) },
      }),
    ),
  );
  const statuses = race.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412, 412, 412]);
  const winner = race.find(({ status }) => status === 200)?.headers.etag;
  await send('DELETE', target, 412, { headers: { 'if-match': tag } });
  await send('DELETE', target, 204, { headers: { 'if-match': String(winner) } });
  await send('DELETE', target, 404, { headers: { 'if-match': String(winner) } });
}

for (const [place, start] of Object.entries(PLACES)) {
  test(`safe writes: ${place}`, async (t) => {
    const service = await start(t);
    for (const collection of COLLECTIONS) await checkSafeWrites(service, collection);
  });
}
