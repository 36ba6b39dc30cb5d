// Ids: how they are given, and how a path names them.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bodyFor, COLLECTIONS, inputOf, prepare } from '../../support/collections.ts';
import { type Service, startService } from '../../support/service.ts';

async function restart(t: TestContext, service: Service): Promise<Service> {
  await service.close();
  return startService(t, { db: service.file });
}

async function createSome(service: Service): Promise<string[]> {
  const created: string[] = [];
  const [first, second] = ['/notes/1/comments', '/notes/2/comments'];
  for (const path of ['/notes', '/notes', '/tags', second, first, second]) {
    created.push(
      `${path} ${(await service.request('POST', path, { json: bodyFor(path) })).json.id}`,
    );
  }
  return created;
}

for (const collection of COLLECTIONS) {
  const { label, path } = collection;
  test(`ids: of a ${label.toLowerCase()}: never reused, not even after restarts`, async (t) => {
    let service = await startService(t);
    await prepare(service, collection);
    const create = async () => {
      const json = inputOf(collection, 'x');
      return (await service.request('POST', path, { json })).json.id;
    };
    const remove = (id: number) => service.request('DELETE', `${path}/${id}`);
    assert.deepEqual([await create(), await create()], [1, 2]);
    await remove(2);
    assert.equal(await create(), 3);
    await remove(3);
    service = await restart(t, service);
    assert.equal(await create(), 4);
    for (const id of [1, 4]) await remove(id);
    service = await restart(t, service);
    assert.equal((await service.request('GET', path)).json.total, 0);
    assert.equal(await create(), 5);
    await remove(5);
    assert.equal(await create(), 6);
  });
}

test('ids: each collection has its own, comments share theirs across notes', async (t) => {
  const first = await startService(t);
  assert.deepEqual(await createSome(first), [
    ...['/notes 1', '/notes 2', '/tags 1'],
    ...['/notes/2/comments 1', '/notes/1/comments 2', '/notes/2/comments 3'],
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

  await t.test('ids: not an integer is 422, in every position', async () => {
    const cases: readonly [method: string, path: string, field: string][] = [
      ['GET', '/notes/10.5', 'note_id'],
      ['GET', '/notes/%2B1', 'note_id'],
      ['GET', '/notes/%D9%A1', 'note_id'],
      ['GET', '/tags/abc', 'tag_id'],
      ['GET', '/notes/abc/comments', 'note_id'],
      ['GET', '/notes/1/comments/abc', 'comment_id'],
      ['PUT', '/notes/1e0', 'note_id'],
      ['DELETE', '/notes/1e0', 'note_id'],
      ['POST', '/notes/1.0/comments', 'note_id'],
    ];
    for (const [method, path, field] of cases) {
      const answer = await service.request(method, path, { json: bodyFor(path) });
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
    for (const id of ids) {
      for (const [request, label] of [
        [`GET /notes/${id}`, 'Note'],
        [`PUT /notes/${id}`, 'Note'],
        [`DELETE /notes/${id}`, 'Note'],
        [`GET /tags/${id}`, 'Tag'],
        [`PUT /tags/${id}`, 'Tag'],
        [`DELETE /tags/${id}`, 'Tag'],
        [`GET /notes/1/comments/${id}`, 'Comment'],
        [`POST /notes/${id}/comments`, 'Note'],
        [`GET /notes/${id}/comments/1`, 'Note'],
      ] as const) {
        const [method = '', path = ''] = request.split(' ');
        const answer = await service.request(method, path, { json: bodyFor(path) });
        const detail = `${label} with ID ${id} was not found.`;
        assert.deepEqual([answer.status, answer.json.detail], [404, detail], request);
      }
    }
  });

  await t.test('ids: percent-encoded, or with leading zeros', async () => {
    for (const id of ['%31', '01', '0000001', '%30%31']) {
      const { status, json } = await service.request('GET', `/notes/${id}`);
      assert.deepEqual([status, json.id], [200, 1], id);
    }
  });
});
