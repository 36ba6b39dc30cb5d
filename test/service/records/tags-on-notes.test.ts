// Tags on notes: put and removed one by one, and set together with a note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import type { Answer, RequestParts } from '../../support/http.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';
import { clientOf, lines, NOTE, tagsOf } from '../../support/tagged-notes.ts';

async function createTags(service: Target, count: number): Promise<void> {
  const tags = Array.from({ length: count }, (_, index) => ({ name: `tag ${index + 1}` }));
  assert.equal((await service.request('POST', '/tags', lines(...tags))).status, 201);
}

function assertUnknown({ json }: Answer, pointers: readonly string[]): void {
  assert.deepEqual(
    json.errors,
    pointers.map((pointer) => ({
      field: pointer.slice(2).replaceAll('/', '.'),
      in: 'body',
      pointer,
      code: 'exists',
      detail: 'must be the id of a tag',
    })),
  );
}

async function checkSingleTags(service: Target): Promise<void> {
  const { send, state, etagOf } = clientOf(service);
  await createTags(service, 3);
  await send('POST', '/notes', 201, { json: NOTE });
  const etag = await etagOf(1);
  const before = await state();
  const put = await send('PUT', '/notes/1/tags/2', 204);
  const after = await state();
  assert.notEqual(after, before);
  assert.deepEqual([put.headers.etag, await etagOf(1)], [undefined, etag]);
  await send('PUT', '/notes/1/tags/2', 204, { body: '{' });
  assert.equal(await state(), after);
  await send('PUT', '/notes/1/tags/03', 204);
  assert.deepEqual(await tagsOf(service, 1), [2, 3]);

  for (const [path, detail] of [
    ['/notes/7/tags/2', 'Note with ID 7 was not found.'],
    ['/notes/7/tags/9', 'Note with ID 7 was not found.'],
    ['/notes/1/tags/09', 'Tag with ID 09 was not found.'],
  ] as const)
    for (const method of ['PUT', 'DELETE'])
      for (const headers of [{}, { 'if-match': '*' }])
        assert.equal((await send(method, path, 404, { headers })).json.detail, detail);
  for (const path of ['/notes/x/tags/1', '/notes/1/tags/x', '/notes/1/tags/1.0'])
    for (const method of ['PUT', 'DELETE']) await send(method, path, 422);
  for (const method of ['PUT', 'DELETE']) {
    for (const match of ['*', '"a"', String(etag)])
      await send(method, '/notes/1/tags/2', 412, { headers: { 'if-match': match } });
    await send(method, '/notes/1/tags/2', 400, { headers: { 'if-match': 'a' } });
  }
  await send('PUT', '/notes/1/tags/1', 412, { headers: { 'if-match': '*' } });
  assert.deepEqual([await tagsOf(service, 1), await etagOf(1)], [[2, 3], etag]);

  await send('DELETE', '/notes/1/tags/2', 204);
  const gone = await send('DELETE', '/notes/1/tags/2', 404);
  assert.equal(gone.json.detail, 'Note 1 has no tag 2.');
  assert.deepEqual([await tagsOf(service, 1), await etagOf(1)], [[3], etag]);
  for (const method of ['GET', 'HEAD', 'POST', 'PATCH']) await send(method, '/notes/1/tags/3', 405);
  await send('DELETE', '/tags/3', 204);
  await send('PUT', '/notes/1/tags/3', 404);
  await send('DELETE', '/notes/1', 204);
  const missingNote = await send('DELETE', '/notes/1/tags/1', 404);
  assert.equal(missingNote.json.detail, 'Note with ID 1 was not found.');
}

async function checkCreations(service: Target): Promise<void> {
  const { send, state, post } = clientOf(service);
  await createTags(service, 4);
  const created = await post({ json: { ...NOTE, tag_ids: [4, 1] } });
  assert.deepEqual(created.json, expected({ id: 1, ...NOTE }));
  assert.deepEqual(await tagsOf(service, 1), [1, 4]);
  assert.equal((await send('HEAD', '/notes/1', 200)).headers.etag, created.headers.etag);
  await post({ json: { ...NOTE, tag_ids: [] } });
  assert.deepEqual(await tagsOf(service, 2), []);

  const three = [
    { ...NOTE, tag_ids: [1, 2] },
    { title: 'plain', body: 'b' },
    { ...NOTE, tag_ids: [2, 3] },
  ];
  const { json } = await post(lines(...three));
  assert.deepEqual(json, [
    expected({ id: 3, ...NOTE }),
    expected({ id: 4, title: 'plain', body: 'b' }),
    expected({ id: 5, ...NOTE }),
  ]);
  assert.deepEqual(await tagsOf(service, 3), [1, 2]);
  assert.deepEqual(await tagsOf(service, 4), []);
  assert.deepEqual(await tagsOf(service, 5), [2, 3]);

  const before = await state();
  const unknown = await post({ json: { ...NOTE, tag_ids: [9, 1, 2 ** 53 - 1] } }, 422);
  assertUnknown(unknown, ['#/tag_ids/0', '#/tag_ids/2']);
  assert.match(unknown.json.detail, /^tag_ids\.0 must be the id of a tag; tag_ids\.2 /);
  assertUnknown(await post(lines(...three, { ...NOTE, tag_ids: [1, 9] }), 422), ['#/3/tag_ids/1']);
  assertUnknown(await post(lines({ ...NOTE, tag_ids: [7] }, { ...NOTE, tag_ids: [8] }), 422), [
    ...['#/0/tag_ids/0', '#/1/tag_ids/0'],
  ]);
  const many = Array.from({ length: 100 }, (_, index) => index + 100);
  const all = await post(lines(...Array(50).fill({ ...NOTE, tag_ids: many })), 422);
  assert.equal(all.json.errors.length, 20);
  assert.match(all.json.detail, /and 4997 more\.$/);
  assert.equal(await state(), before);
  assert.equal((await post({ json: NOTE })).json.id, 6);
}

async function checkKeys(service: Target): Promise<void> {
  const { send, state, post } = clientOf(service);
  await createTags(service, 2);
  const keyed = (key: string, parts: RequestParts) => ({
    ...parts,
    headers: { ...parts.headers, 'idempotency-key': key },
  });
  for (const [index, body] of [
    { json: { ...NOTE, tag_ids: [1, 2] } },
    lines({ ...NOTE, tag_ids: [2, 1] }, NOTE),
  ].entries()) {
    const key = `key-${index}`;
    const first = await post(keyed(key, body));
    const id = [first.json].flat()[0].id;
    assert.equal(first.headers['idempotent-replayed'], undefined);
    const afterwards = await state();
    const assertReplayed = async () => {
      const again = await post(keyed(key, body));
      assert.equal(again.headers['idempotent-replayed'], 'true');
      const { location, etag } = first.headers;
      assert.deepEqual([again.headers.location, again.headers.etag], [location, etag]);
      assert.deepEqual(again.bytes, first.bytes);
    };
    await assertReplayed();
    assert.equal(await state(), afterwards);
    await send('DELETE', `/notes/${id}/tags/2`, 204);
    await assertReplayed();
    assert.deepEqual(await tagsOf(service, id), [1]);
    for (const other of [{ json: NOTE }, { json: { ...NOTE, tag_ids: [9] } }])
      assert.match((await post(keyed(key, other), 422)).json.type, /idempotency-key-reused$/);
    await send('DELETE', `/notes/${id}`, 204);
    await assertReplayed();
    await send('HEAD', `/notes/${id}`, 404);
  }
  // A refused request is not recorded.
  const later = keyed('later', { json: { ...NOTE, tag_ids: [3] } });
  assertUnknown(await post(later, 422), ['#/tag_ids/0']);
  await createTags(service, 1);
  const { json } = await post(later);
  assert.deepEqual(await tagsOf(service, json.id), [3]);
  await send('DELETE', '/tags/3', 204);
  assert.equal((await post(later)).headers['idempotent-replayed'], 'true');
}

async function checkChanges(service: Target): Promise<void> {
  const { send, state, etagOf, post } = clientOf(service);
  await createTags(service, 4);
  await post({ json: { ...NOTE, tag_ids: [1, 2] } });
  const etag = String(await etagOf(1));
  const patch = (json: object, status = 200, headers = {}) =>
    send('PATCH', '/notes/1', status, { json, headers });
  const only = await patch({ tag_ids: [2, 3] });
  assert.deepEqual([only.json, only.headers.etag], [expected({ id: 1, ...NOTE }), etag]);
  assert.deepEqual(await tagsOf(service, 1), [2, 3]);
  const afterwards = await state();
  await patch({ tag_ids: [3, 2] }, 200, { 'if-match': etag });
  await patch({ tag_ids: [3, 2] }, 200, { 'if-match': '*', 'if-none-match': '"x"' });
  assert.equal(await state(), afterwards);

  const both = await patch({ title: 'new', tag_ids: [4] }, 200, { 'if-match': etag });
  assert.deepEqual(both.json, expected({ id: 1, title: 'new', body: 'b' }));
  assert.notEqual(both.headers.etag, etag);
  assert.equal(await etagOf(1), both.headers.etag);
  const put = await send('PUT', '/notes/1', 200, { json: { ...NOTE, tag_ids: [1, 3] } });
  assert.deepEqual(put.json, expected({ id: 1, ...NOTE }));
  assert.deepEqual([await etagOf(1), await tagsOf(service, 1)], [put.headers.etag, [1, 3]]);
  await send('PUT', '/notes/1', 200, { json: NOTE });
  await patch({ body: 'c' });
  await patch({});
  assert.deepEqual(await tagsOf(service, 1), [1, 3]);

  const before = await state();
  for (const method of ['PUT', 'PATCH']) {
    const json = { ...NOTE, tag_ids: [1, 9, 3, 8] };
    assertUnknown(await send(method, '/notes/1', 422, { json }), ['#/tag_ids/1', '#/tag_ids/3']);
    for (const headers of [{ 'if-match': etag }, { 'if-none-match': '*' }])
      for (const body of [json, { ...json, tag_ids: [2] }]) {
        const refused = await send(method, '/notes/1', 412, { json: body, headers });
        assert.equal(refused.headers.etag, await etagOf(1));
      }
    const unknown = await send(method, '/notes/9', 404, { json, headers: { 'if-match': etag } });
    assert.equal(unknown.json.detail, 'Note with ID 9 was not found.');
  }
  assertUnknown(await patch({ tag_ids: [9] }, 422), ['#/tag_ids/0']);
  await patch({ tag_ids: [2] }, 412, { 'if-match': etag });
  assert.deepEqual([await state(), await tagsOf(service, 1)], [before, [1, 3]]);
  await patch({ tag_ids: [] });
  assert.deepEqual(await tagsOf(service, 1), []);

  // Of concurrent sets one is last, and none is mixed with another.
  const sets = [[1, 2], [3], [2, 3, 4]];
  await Promise.all(Array.from({ length: 12 }, (_, index) => patch({ tag_ids: sets[index % 3] })));
  const last = await tagsOf(service, 1);
  assert.ok(
    sets.some((set) => set.join() === last.join()),
    last.join(),
  );
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS)) {
  for (const [name, check] of Object.entries({
    'one by one': checkSingleTags,
    'with new notes': checkCreations,
    'with new notes and a key': checkKeys,
    'with changed notes': checkChanges,
  }))
    test(`tags on notes: ${name}, ${deployment}`, async (t) => check(await start(t)));
}

test('tags on notes: bounds, by id and by name', async (t) => {
  const service = await startService(t);
  const { send, post } = clientOf(service);
  const counted = (length: number) => Array.from({ length }, (_, index) => index + 1);
  const names = (length: number) => counted(length).map((number) => `tag ${number}`);
  await post({ json: { ...NOTE, tags: [...names(99), '😀'.repeat(200)] } });
  await send('PATCH', '/notes/1', 200, { json: { tag_ids: counted(100).reverse() } });
  for (const [member, value, pointer, code] of [
    ...[101, 50_000].map((length) => ['tag_ids', counted(length), '', 'maxItems'] as const),
    ['tag_ids', [1, 2, 1], '', 'uniqueItems'],
    ['tag_ids', '1', '', 'type'],
    ['tag_ids', ['1'], '/0', 'type'],
    ['tag_ids', [1, 0], '/1', 'minimum'],
    ['tag_ids', [1.5], '/0', 'type'],
    ...[101, 50_000].map((length) => ['tags', names(length), '', 'maxItems'] as const),
    ['tags', ['a', 'b', 'a'], '', 'uniqueItems'],
    ['tags', 1, '', 'type'],
    ['tags', [null], '/0', 'type'],
    ['tags', ['a', ''], '/1', 'minLength'],
    ['tags', [' \u3000'], '/0', 'pattern'],
    ['tags', ['\ud800'], '/0', 'format'],
    ['tags', ['a'.repeat(201)], '/0', 'maxLength'],
  ] as const) {
    const record = { ...NOTE, [member]: value };
    for (const [method, path, parts, prefix] of [
      ['POST', '/notes', { json: record }, '#'],
      ['POST', '/notes', lines(NOTE, record), '#/1'],
      ['PUT', '/notes/1', { json: record }, '#'],
      ['PATCH', '/notes/1', { json: { [member]: value } }, '#'],
    ] as const) {
      const [error] = (await send(method, path, 422, parts)).json.errors;
      assert.deepEqual([error.pointer, error.code], [`${prefix}/${member}${pointer}`, code]);
    }
  }
  assert.equal((await send('GET', '/tags', 200)).json.total, 100);
});
