// Tags on notes: put and removed one by one, and set together with a note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { createNotes, missing, together } from '../../support/concurrent-clients.ts';
import { newFile, openPath, rows, writeForeignFile } from '../../support/databases.ts';
import { needsFile } from '../../support/engine.ts';
import type { Answer, RequestParts } from '../../support/http.ts';
import { exported, perform } from '../../support/perform.ts';
import { PLACES, type Target } from '../../support/places.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

const NOTE = { title: 'a', body: 'b' };

const lines = (...records: object[]): RequestParts => ({
  body: records.map((each) => JSON.stringify(each)).join('\n'),
  headers: { 'content-type': 'application/x-ndjson' },
});

/** Returns which of the tags 1 to 5 a note has: only where one is, the condition counts. */
async function tagsOf(service: Target, note: number): Promise<number[]> {
  const headers = { 'if-match': '*' };
  const answers = await Promise.all(
    [1, 2, 3, 4, 5].map((tag) =>
      service.request('DELETE', `/notes/${note}/tags/${tag}`, { headers }),
    ),
  );
  const statuses = answers.map(({ status }) => status);
  assert.ok(statuses.every((status) => status === 412 || status === 404));
  return statuses.flatMap((status, index) => (status === 412 ? [index + 1] : []));
}

async function createTags(service: Target, count: number): Promise<void> {
  const tags = Array.from({ length: count }, (_, index) => ({ name: `tag ${index + 1}` }));
  assert.equal((await service.request('POST', '/tags', lines(...tags))).status, 201);
}

/** Sends requests, asserts their statuses, and can tell whether anything has changed. */
function clientOf(service: Target) {
  const send = async (method: string, path: string, status: number, parts: RequestParts = {}) => {
    const answer = await service.request(method, path, parts);
    assert.equal(answer.status, status, `${method} ${path} ${answer.text}`);
    return answer;
  };
  return {
    send,
    state: async () => (await send('HEAD', '/notes', 200)).headers.etag,
    etagOf: async (note: number) => (await send('HEAD', `/notes/${note}`, 200)).headers.etag,
    post: (parts: RequestParts, status = 201) => send('POST', '/notes', status, parts),
  };
}

/** Asserts that a 422 names exactly the unknown ids at these pointers. */
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
  assert.deepEqual(created.json, { id: 1, ...NOTE });
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
    { id: 3, ...NOTE },
    { id: 4, title: 'plain', body: 'b' },
    { id: 5, ...NOTE },
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
  const all = await post(lines(...Array(500).fill({ ...NOTE, tag_ids: many })), 422);
  assert.equal(all.json.errors.length, 20);
  assert.match(all.json.detail, /and 49997 more\.$/);
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
  const same = keyed('same', { json: { ...NOTE, tag_ids: [1] } });
  const answers = await Promise.all(Array.from({ length: 6 }, () => post(same)));
  assert.equal(new Set(answers.map(({ json: { id } }) => id)).size, 1);
  const firsts = answers.filter(({ headers }) => !headers['idempotent-replayed']);
  assert.equal(firsts.length, 1);
}

async function checkChanges(service: Target): Promise<void> {
  const { send, state, etagOf, post } = clientOf(service);
  await createTags(service, 4);
  await post({ json: { ...NOTE, tag_ids: [1, 2] } });
  const etag = String(await etagOf(1));
  const patch = (json: object, status = 200, headers = {}) =>
    send('PATCH', '/notes/1', status, { json, headers });
  const only = await patch({ tag_ids: [2, 3] });
  assert.deepEqual([only.json, only.headers.etag], [{ id: 1, ...NOTE }, etag]);
  assert.deepEqual(await tagsOf(service, 1), [2, 3]);
  const afterwards = await state();
  await patch({ tag_ids: [3, 2] }, 200, { 'if-match': etag });
  await patch({ tag_ids: [3, 2] }, 200, { 'if-match': '*', 'if-none-match': '"x"' });
  assert.equal(await state(), afterwards);

  const both = await patch({ title: 'new', tag_ids: [4] }, 200, { 'if-match': etag });
  assert.deepEqual(both.json, { id: 1, title: 'new', body: 'b' });
  assert.notEqual(both.headers.etag, etag);
  assert.equal(await etagOf(1), both.headers.etag);
  const put = await send('PUT', '/notes/1', 200, { json: { ...NOTE, tag_ids: [1, 3] } });
  assert.deepEqual(put.json, { id: 1, ...NOTE });
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

for (const [place, start] of Object.entries(PLACES)) {
  for (const [name, check] of Object.entries({
    'one by one': checkSingleTags,
    'with new notes': checkCreations,
    'with new notes and a key': checkKeys,
    'with changed notes': checkChanges,
  }))
    test(`tags on notes: ${name}, ${place}`, async (t) => check(await start(t)));
}

test('tags on notes: bounds', async (t) => {
  const service = await startService(t);
  const { send, post } = clientOf(service);
  await service.request('POST', '/tags', lines(...Array(100).fill({ name: 't' })));
  const counted = (length: number) => Array.from({ length }, (_, index) => index + 1);
  const { json } = await post({ json: { ...NOTE, tag_ids: counted(100) } });
  await send('PATCH', `/notes/${json.id}`, 200, { json: { tag_ids: counted(100).reverse() } });
  for (const [tagIds, pointer, code] of [
    [counted(101), '#/tag_ids', 'maxItems'],
    [counted(100_000), '#/tag_ids', 'maxItems'],
    [[1, 2, 1], '#/tag_ids', 'uniqueItems'],
    [null, '#/tag_ids', 'type'],
    [1, '#/tag_ids', 'type'],
    [['1'], '#/tag_ids/0', 'type'],
    [[1, 0], '#/tag_ids/1', 'minimum'],
    [[1.5], '#/tag_ids/0', 'type'],
    [[[1]], '#/tag_ids/0', 'type'],
  ] as const) {
    const record = { ...NOTE, tag_ids: tagIds };
    for (const [method, path, parts, prefix] of [
      ['POST', '/notes', { json: record }, '#'],
      ['POST', '/notes', lines(NOTE, record), '#/1'],
      ['PUT', '/notes/1', { json: record }, '#'],
      ['PATCH', '/notes/1', { json: { tag_ids: tagIds } }, '#'],
    ] as const) {
      const { errors } = (await send(method, path, 422, parts)).json;
      assert.deepEqual(
        [errors[0].pointer, errors[0].code],
        [pointer.replace('#', prefix), code],
        `${method} ${tagIds}`,
      );
    }
  }
  // Elsewhere the member is unknown, and thus ignored.
  await send('POST', '/notes/1/comments', 201, { json: { body: 'c', tag_ids: 'x' } });
  await send('POST', '/tags', 201, { json: { name: 'n', tag_ids: [1, 1] } });
});

/** Returns the links in the database of a service, each as [note, tag]. */
async function linksIn(db: string): Promise<unknown[][]> {
  const records = (await exported(db))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return records
    .filter(({ type }) => type === 'note_tag')
    .map(({ note_id: note, tag_id: tag }) => [note, tag]);
}

test('tags on notes: deleted with the note or the tag', async (t) => {
  const service = await startService(t);
  await createTags(service, 3);
  await service.request('POST', '/notes', lines(...Array(3).fill({ ...NOTE, tag_ids: [1, 2, 3] })));
  await service.request('DELETE', '/notes/2');
  await service.request('DELETE', '/tags/3');
  assert.deepEqual(await linksIn(service.file), [
    ...[
      [1, 1],
      [1, 2],
    ],
    ...[
      [3, 1],
      [3, 2],
    ],
  ]);
  await assertSound(service.file);
});

test('tags on notes: the log of the changes', async (t) => {
  const service = await startService(t);
  const { send, post } = clientOf(service);
  await createTags(service, 3);
  await post({ json: { ...NOTE, tag_ids: [2] } });
  await send('PUT', '/notes/1/tags/1', 204);
  await send('PUT', '/notes/1/tags/1', 204);
  await send('DELETE', '/notes/1/tags/2', 204);
  await send('DELETE', '/notes/1/tags/2', 404);
  await send('PATCH', '/notes/1', 200, { json: { tag_ids: [1, 3] } });
  await send('PATCH', '/notes/1', 200, { json: { tag_ids: [3], title: 'c' } });
  await send('DELETE', '/notes/1', 204);
  const database = await openPath(service.file);
  t.after(() => database.close());
  const logged = await rows(
    database,
    `SELECT concat_ws(' ', number, type, id, other_id) AS text FROM changes
     WHERE number > 3 ORDER BY number`,
  );
  assert.deepEqual(
    logged.map(({ text }) => text),
    [
      ...['4 note.created 1', '5 note.tagged 1 2', '6 note.tagged 1 1', '7 note.untagged 1 2'],
      ...['8 note.tagged 1 3', '9 note.untagged 1 1', '10 note.updated 1', '11 note.deleted 1'],
    ],
  );
});

test('tags on notes: put while note and tag are deleted', async (t) => {
  const service = await startService(t);
  await createTags(service, 2);
  await createNotes(service, 2);
  const answers = await together(service, 54, (index) => {
    if (index === 40) return service.request('DELETE', '/tags/1');
    if (index === 50) return service.request('DELETE', '/notes/1');
    const pair = `/notes/${1 + (index % 2)}/tags/${1 + (index % 3 === 0 ? 1 : 0)}`;
    if (index % 9 === 8) return service.request('PATCH', '/notes/1', { json: { tag_ids: [1, 2] } });
    return service.request(index % 5 === 4 ? 'DELETE' : 'PUT', pair);
  });
  for (const { status, json } of answers) {
    assert.ok([200, 204, 404, 422].includes(status), String(status));
    if (status === 404)
      assert.ok(
        [missing('Note', 1)[1], missing('Tag', 1)[1]].includes(json.detail) ||
          /^Note \d has no tag \d\.$/.test(json.detail),
        json.detail,
      );
  }
  assert.ok((await linksIn(service.file)).every(([note, tag]) => note === 2 && tag === 2));
  await assertSound(service.file);
});

test('tags on notes: of many deletes of one tag on a note one succeeds', async (t) => {
  const service = await startService(t);
  await createTags(service, 1);
  await createNotes(service, 1);
  await service.request('PUT', '/notes/1/tags/1');
  const answers = await together(service, 40, () => service.request('DELETE', '/notes/1/tags/1'));
  assert.equal(answers.filter(({ status }) => status === 204).length, 1);
  assert.equal(answers.filter(({ status }) => status === 404).length, 39);
});

test('tags on notes: backup, restore, export, import and copy keep them', async (t) => {
  const service = await startService(t);
  await createTags(service, 3);
  await service.request('POST', '/notes', lines({ ...NOTE, tag_ids: [3, 1] }, NOTE));
  await service.request('PUT', '/notes/2/tags/2');
  const links = [
    ...[
      [1, 1],
      [1, 3],
    ],
    [2, 2],
  ];
  const [imported, copied] = [newFile(t), newFile(t)];
  await service.close();
  const output = await exported(service.file);
  await perform(['import', '--db', imported], { input: output });
  await perform(['copy', '--from', service.file, '--to', copied]);
  const files = [service.file, imported, copied];
  if (!needsFile) {
    const [saved, restored] = [newFile(t), newFile(t)];
    await perform(['backup', saved, '--db', service.file]);
    await perform(['restore', saved, '--db', restored]);
    files.push(restored);
  }
  for (const file of files) assert.deepEqual(await linksIn(file), links, file);
  // The service works with them.
  const other = await startService(t, { db: imported });
  assert.equal((await other.request('DELETE', '/notes/1/tags/3')).status, 204);
  assert.equal((await other.request('DELETE', '/tags/2')).status, 204);
  assert.deepEqual(await linksIn(imported), [[1, 1]]);
  await assertSound(imported);
});

test('tags on notes: check finds damage', { skip: needsFile }, async (t) => {
  const service = await startService(t);
  await createTags(service, 2);
  await service.request('POST', '/notes', { json: { ...NOTE, tag_ids: [1, 2] } });
  await service.close();
  assert.deepEqual(await checkFile(service.file), []);
  await writeForeignFile(
    service.file,
    `UPDATE note_tag_blocks SET count = 2 WHERE tag_id = 1;
     PRAGMA foreign_keys = OFF; DELETE FROM tags WHERE id = 2`,
  );
  const faults = await checkFile(service.file);
  assert.ok(
    faults.some((fault) => /^note_tag_blocks: /.test(fault)),
    faults.join(),
  );
  assert.ok(
    faults.some((fault) => /^note_tags: .* in tags$/.test(fault)),
    faults.join(),
  );
});
