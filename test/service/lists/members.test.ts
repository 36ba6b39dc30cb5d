// Additional members of records, and the entity tags of answers with them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS } from '../../support/deployments.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };
const LIST_TAG = /^"[0-9a-f]{8}(\.\d+)+"$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

for (const [deployment, start] of Object.entries(DEPLOYMENTS)) {
  test(`members: in records and in lists (${deployment})`, async (t) => {
    const service = await start(t);
    const get = async (path: string) => {
      const answer = await service.request('GET', path);
      assert.equal(answer.status, 200, path);
      return answer;
    };
    for (let id = 1; id <= 3; id += 1) {
      await service.request('POST', '/tags', { json: { name: `tag ${id}` } });
      await service.request('POST', '/notes', { json: NOTE });
    }
    await service.request('POST', '/notes/1/comments', { json: { body: 'c' } });
    for (const link of ['/notes/1/tags/3', '/notes/1/tags/2', '/notes/2/tags/3'])
      assert.equal((await service.request('PUT', link)).status, 204);

    const tagIds = (await get('/notes?include=tag_ids')).json.items.map(
      (item: { tag_ids: number[] }) => item.tag_ids,
    );
    assert.deepEqual(tagIds, [[2, 3], [3], []]);
    const counts = (await get('/tags?include=notes_count&order=-id')).json.items.map(
      (item: { notes_count: number }) => item.notes_count,
    );
    assert.deepEqual(counts, [2, 1, 0]);
    const { json, headers } = await get('/notes/1?include=times,tag_ids');
    const { created_at: created, updated_at: updated, ...record } = json;
    assert.deepEqual(record, expected({ id: 1, ...NOTE, tag_ids: [2, 3] }));
    assert.match(created, TIME);
    assert.equal(updated, created);
    assert.match(String(headers.etag), LIST_TAG);
    assert.equal(headers['cache-control'], 'private, no-cache');
    assert.equal((await get('/notes')).headers.etag, headers.etag);

    await service.request('PATCH', '/notes/1', { json: { title: 'new' } });
    const changed = (await get('/notes/1?include=times')).json;
    assert.equal(changed.created_at, created);
    assert.ok(changed.updated_at >= updated);
    const tag = await get('/tags/3?include=notes_count');
    assert.deepEqual(tag.json, { id: 3, name: 'tag 3', notes_count: 2 });
    const listed = await get('/notes/1/comments?include=times');
    const comment = await get('/notes/1/comments/1?include=times');
    assert.deepEqual(listed.json.items, [comment.json]);
    for (const [path, of] of [
      ['/notes/1/tags?include=notes_count,times', '/tags/2?include=notes_count,times'],
      ['/tags/2/notes?include=times,tag_ids', '/notes/1?include=tag_ids,times'],
    ] as const)
      assert.deepEqual((await get(path)).json.items[0], (await get(of)).json);

    // Deleting an end of links changes the members of the other end.
    await service.request('DELETE', '/tags/3');
    assert.deepEqual((await get('/notes/1?include=tag_ids')).json.tag_ids, [2]);
    await service.request('DELETE', '/notes/1');
    assert.equal((await get('/tags/2?include=notes_count')).json.notes_count, 0);
  });
}

const TARGETS = [
  ...['/notes/1?include=tag_ids', '/tags/1?include=notes_count,times', '/notes?order=-id&limit=1'],
  ...['/notes?order=-updated&after=9', '/tags?name=a'],
  ...['/notes?tag_id=1&tag_id=1', '/notes?untagged=true&offset=5000', '/notes/1/tags?before=5'],
  ...['/tags/1/notes?include=times,tag_ids&order=updated', '/notes?q=a', '/notes?q=a&order=-id'],
  '/notes/1/comments?order=-id&include=times',
];

test('members: answers of all kinds are conditional', async (t) => {
  const service = await startService(t);
  for (const [path, json] of [
    ['/notes', NOTE],
    ['/notes', NOTE],
    ['/tags', { name: 'a' }],
    ['/notes/1/comments', { body: 'c' }],
  ] as const)
    await service.request('POST', path, { json });
  await service.request('PUT', '/notes/1/tags/1');
  for (const path of TARGETS) {
    const read = (name: string, value: string) =>
      service.request('GET', path, { headers: { [name]: value } });
    const { status, headers, bytes } = await service.request('GET', path);
    assert.equal(status, 200, path);
    const tag = String(headers.etag);
    assert.match(tag, LIST_TAG, path);
    assert.equal((await read('if-none-match', `"a", W/${tag}`)).status, 304, path);
    const refused = await read('if-match', `W/${tag}`);
    assert.deepEqual([refused.status, refused.headers.etag], [412, tag], path);
    assert.equal((await read('if-match', tag)).status, 200, path);
    assert.deepEqual((await read('if-none-match', '"00000000.1"')).bytes, bytes, path);
  }
  // A link is a change of the database, though not of a record.
  const tags = async () =>
    Promise.all(TARGETS.map(async (path) => (await service.request('GET', path)).headers.etag));
  const before = await tags();
  const record = await service.request('GET', '/notes/2');
  await service.request('PUT', '/notes/2/tags/1');
  assert.ok((await tags()).every((tag, index) => tag !== before[index]));
  assert.equal((await service.request('GET', '/notes/2')).headers.etag, record.headers.etag);
  const between = await tags();
  assert.equal((await service.request('PUT', '/notes/2/tags/1')).status, 204);
  assert.deepEqual(await tags(), between, 'a link that was there changes nothing');
  await service.request('DELETE', '/notes/2/tags/1');
  assert.ok((await tags()).every((tag, index) => tag !== between[index]));
});
