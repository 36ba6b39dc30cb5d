// Comments belong to exactly one note, in every operation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems } from '../../support/collections.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

async function twoNotesAndAComment(service: Service): Promise<void> {
  for (const title of ['one', 'two']) await service.request('POST', '/notes', { json: { title, body: title } });
  await service.request('POST', '/notes/1/comments', { json: { body: 'of one' } });
}

test('a comment is not found through another note, and nothing happens to it', async (t) => {
  const service = await startService(t);
  await twoNotesAndAComment(service);
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const parts = method === 'PUT' ? { json: { body: 'changed' } } : {};
    const answer = await service.request(method, '/notes/2/comments/1', parts);
    assert.equal(answer.status, 404);
    assert.equal(answer.json.detail, 'Comment with ID 1 was not found.');
  }
  const kept = await service.request('GET', '/notes/1/comments/1');
  assert.deepEqual(kept.json, { id: 1, note_id: 1, body: 'of one' });
  assert.equal((await service.request('GET', '/notes/2/comments')).json.total, 0);
});

test('where the note is missing, the note is what was not found', async (t) => {
  const service = await startService(t);
  await twoNotesAndAComment(service);
  const calls = [
    ['GET', ''],
    ['POST', ''],
    ['GET', '/1'],
    ['PUT', '/1'],
    ['DELETE', '/1'],
    ['GET', '/9'],
    ['PUT', '/9'],
    ['DELETE', '/9'],
  ] as const;
  for (const noteId of ['9', '007', '-1', '9007199254740993']) {
    for (const [method, record] of calls) {
      const parts = method === 'POST' || method === 'PUT' ? { json: { body: 'x' } } : {};
      const answer = await service.request(method, `/notes/${noteId}/comments${record}`, parts);
      assert.equal(answer.status, 404, `${method} ${noteId} ${record}`);
      assert.equal(answer.json.detail, `Note with ID ${noteId} was not found.`);
    }
  }
  assert.equal((await service.request('GET', '/notes/1/comments')).json.total, 1);
});

test('a comment stays with its note, whatever note_id its body names', async (t) => {
  const service = await startService(t);
  await twoNotesAndAComment(service);
  const json = { id: 9, note_id: 2, body: 'edited' };
  const replaced = await service.request('PUT', '/notes/1/comments/1', { json });
  assert.deepEqual(replaced.json, { id: 1, note_id: 1, body: 'edited' });
  const created = await service.request('POST', '/notes/1/comments', { json });
  assert.deepEqual(created.json, { id: 2, note_id: 1, body: 'edited' });
  assert.deepEqual(await allItems(service, '/notes/1/comments'), [replaced.json, created.json]);
  assert.deepEqual(await allItems(service, '/notes/2/comments'), []);
});

test('a note is replaced without harm to its comments', async (t) => {
  const service = await startService(t);
  await twoNotesAndAComment(service);
  await service.request('PUT', '/notes/1', { json: { title: 'new', body: 'new' } });
  assert.deepEqual(await allItems(service, '/notes/1/comments'), [{ id: 1, note_id: 1, body: 'of one' }]);
});

test('a note takes its comments with it, and no others', async (t) => {
  const service = await startService(t);
  await twoNotesAndAComment(service);
  await service.request('POST', '/notes/2/comments', { json: { body: 'of two' } });
  await service.request('DELETE', '/notes/1');
  assert.equal((await service.request('GET', '/notes/1/comments')).status, 404);
  assert.equal((await service.request('GET', '/notes/1/comments/1')).status, 404);
  const others = await service.request('GET', '/notes/2/comments');
  assert.deepEqual(others.json.items, [{ id: 2, note_id: 2, body: 'of two' }]);
  const next = await service.request('POST', '/notes/2/comments', { json: { body: 'next' } });
  assert.equal(next.json.id, 3);
  await assertSound(service.file);
});

test('faults of both ids and of the body are told together', async (t) => {
  const service = await startService(t);
  const answer = await service.request('PUT', '/notes/x/comments/1.0', { json: { body: ' ' } });
  assert.equal(answer.status, 422);
  assert.deepEqual(
    answer.json.errors.map((error: { field: string; in: string; code: string }) => [error.field, error.in, error.code]),
    [
      ['note_id', 'path', 'type'],
      ['comment_id', 'path', 'type'],
      ['body', 'body', 'pattern'],
    ],
  );
});
