// Ids: how they are given, and how a path names them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  COLLECTIONS,
  type CollectionUnderTest,
  inputOf,
  prepare,
} from '../../support/collections.ts';
import { type Service, startService } from '../../support/service.ts';

async function create(service: Service, collection: CollectionUnderTest): Promise<number> {
  const json = inputOf(collection, 'x');
  return (await service.request('POST', collection.path, { json })).json.id;
}

async function restart(t: Parameters<typeof startService>[0], service: Service): Promise<Service> {
  await service.close();
  return startService(t, { db: service.file });
}

/** Creates two notes, a tag and three comments, and resolves with their paths and ids. */
async function createSome(service: Service): Promise<[path: string, id: number][]> {
  const created: [path: string, id: number][] = [];
  const [first, second] = ['/notes/1/comments', '/notes/2/comments'];
  for (const path of ['/notes', '/notes', '/tags', second, first, second]) {
    const json = { title: 'x', body: 'x', name: 'x' };
    created.push([path, (await service.request('POST', path, { json })).json.id]);
  }
  return created;
}

for (const collection of COLLECTIONS) {
  const { label, path } = collection;

  test(`ids: of a ${label.toLowerCase()}: never reused, not even after restarts`, async (t) => {
    const first = await startService(t);
    await prepare(first, collection);
    assert.deepEqual([await create(first, collection), await create(first, collection)], [1, 2]);
    await first.request('DELETE', `${path}/2`);
    assert.equal(await create(first, collection), 3);
    await first.request('DELETE', `${path}/3`);

    const second = await restart(t, first);
    assert.equal(await create(second, collection), 4);
    for (const id of [1, 4]) await second.request('DELETE', `${path}/${id}`);

    const third = await restart(t, second);
    assert.equal((await third.request('GET', path)).json.total, 0);
    assert.equal(await create(third, collection), 5);
    await third.request('DELETE', `${path}/5`);
    assert.equal(await create(third, collection), 6);
    const refused = await third.request('POST', path, { json: inputOf(collection, ' ') });
    assert.equal(refused.status, 422);
    assert.ok((await create(third, collection)) > 6);
    assert.equal((await third.request('GET', path)).json.total, 2);
  });
}

test('ids: each collection has its own, comments share theirs across notes', async (t) => {
  const first = await startService(t);
  assert.deepEqual(await createSome(first), [
    ['/notes', 1],
    ['/notes', 2],
    ['/tags', 1],
    ['/notes/2/comments', 1],
    ['/notes/1/comments', 2],
    ['/notes/2/comments', 3],
  ]);
  // The ids of comments that were deleted with their note are not given again either.
  await first.request('DELETE', '/notes/2');
  const second = await restart(t, first);
  const next = await second.request('POST', '/notes/1/comments', { json: { body: 'x' } });
  assert.equal(next.json.id, 4);
});

test('ids: in a path', async (t) => {
  const service = await startService(t);
  await createSome(service);
  const note = { title: 'a', body: 'b' };

  await t.test('ids: not an integer is 422, in every position', async () => {
    const cases: [method: string, path: string, field: string, json?: object][] = [
      ...['10.5', '%2B1', '%D9%A1'].map((id): [string, string, string] => {
        return ['GET', `/notes/${id}`, 'note_id'];
      }),
      ['GET', '/tags/abc', 'tag_id'],
      ['GET', '/notes/abc/comments', 'note_id'],
      ['GET', '/notes/abc/comments/1', 'note_id'],
      ['GET', '/notes/1/comments/abc', 'comment_id'],
      ['PUT', '/notes/1e0', 'note_id', note],
      ['DELETE', '/notes/1e0', 'note_id'],
      ['POST', '/notes/1.0/comments', 'note_id', note],
    ];
    for (const [method, path, field, json] of cases) {
      const answer = await service.request(method, path, { json });
      assert.equal(answer.status, 422, path);
      const error = { field, in: 'path', code: 'type', detail: 'must be an integer' };
      assert.deepEqual(answer.json.errors, [error], path);
    }
  });

  await t.test('ids: an integer that names nothing is 404', async () => {
    const ids = [
      ...['0', '-0', '-1', '007', '-9223372036854775809', '9007199254740991', '9007199254740993'],
      ...['9223372036854775807', '18446744073709551617', `-${'9'.repeat(400)}`, '0'.repeat(10_000)],
    ];
    for (const [method, path, label, json] of [
      ...ids.map((id) => ['GET', `/notes/${id}`, `Note with ID ${id}`] as const),
      ...ids
        .slice(-2)
        .flatMap((id) => [
          ['PUT', `/notes/${id}`, `Note with ID ${id}`, note] as const,
          ['DELETE', `/notes/${id}`, `Note with ID ${id}`] as const,
          ['GET', `/tags/${id}`, `Tag with ID ${id}`] as const,
          ['GET', `/notes/1/comments/${id}`, `Comment with ID ${id}`] as const,
          ['DELETE', `/notes/1/comments/${id}`, `Comment with ID ${id}`] as const,
          ['GET', `/notes/${id}/comments`, `Note with ID ${id}`] as const,
          ['POST', `/notes/${id}/comments`, `Note with ID ${id}`, note] as const,
          ['GET', `/notes/${id}/comments/1`, `Note with ID ${id}`] as const,
        ]),
    ]) {
      const answer = await service.request(method, path, { json });
      assert.equal(answer.status, 404, `${method} ${path}`);
      assert.equal(answer.json.detail, `${label} was not found.`);
    }
  });

  await t.test('ids: percent-encoded, or with leading zeros', async () => {
    for (const id of ['%31', '01', '0000001', '%30%31']) {
      const { status, json } = await service.request('GET', `/notes/${id}`);
      assert.deepEqual([status, json.id], [200, 1], id);
    }
  });
});
