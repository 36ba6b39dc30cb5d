// Comments belong to exactly one note, in every operation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems } from '../../support/collections.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

async function startWithComment(t: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(t);
  for (const title of ['one', 'two'])
    await service.request('POST', '/notes', { json: { title, body: title } });
  await service.request('POST', '/notes/1/comments', { json: { body: 'of one' } });
  // From now on, it is in memory.
  await service.request('GET', '/notes/1/comments/1');
  return service;
}

test('comments: a 404 names the note if that is missing, else the comment', async (t) => {
  const service = await startWithComment(t);
  for (const [note, record, detail] of [
    ['2', '/1', 'Comment with ID 1 was not found.'],
    ['1', '/999', 'Comment with ID 999 was not found.'],
    ...['999', '0999', '-1', '9007199254740993'].flatMap((id) =>
      ['', '/1', '/999'].map((each) => [id, each, `Note with ID ${id} was not found.`]),
    ),
  ]) {
    for (const method of record ? ['GET', 'PUT', 'DELETE'] : ['GET', 'POST']) {
      const json = { body: 'x' };
      const path = `/notes/${note}/comments${record}`;
      const answer = await service.request(method, path, { json });
      assert.deepEqual([answer.status, answer.json.detail], [404, detail], `${method} ${path}`);
    }
  }
  assert.equal((await service.request('GET', '/notes/1/comments/1')).json.body, 'of one');
  assert.equal((await service.request('GET', '/notes/2/comments')).json.total, 0);
});

test('comments: note_id in a body is ignored', async (t) => {
  const service = await startWithComment(t);
  const json = { id: 9, note_id: 2, body: 'edited' };
  await service.request('PUT', '/notes/1/comments/1', { json });
  await service.request('POST', '/notes/1/comments', { json });
  const wanted = [1, 2].map((id) => ({ id, note_id: 1, body: 'edited' }));
  assert.deepEqual(await allItems(service, '/notes/1/comments'), wanted);
  assert.deepEqual(await allItems(service, '/notes/2/comments'), []);
});

test('comments: kept when their note is replaced, deleted with it, and no others', async (t) => {
  const service = await startWithComment(t);
  const json = { title: 'new', body: 'new' };
  await service.request('POST', '/notes/2/comments', { json: { body: 'of two' } });
  await service.request('PUT', '/notes/1', { json });
  assert.equal((await service.request('GET', '/notes/1/comments')).json.total, 1);
  await service.request('DELETE', '/notes/1');
  for (const path of ['/notes/1/comments', '/notes/1/comments/1'])
    assert.equal((await service.request('GET', path)).status, 404);
  const others = await service.request('GET', '/notes/2/comments');
  assert.deepEqual(others.json.items, [{ id: 2, note_id: 2, body: 'of two' }]);
  await assertSound(service.file);
});
