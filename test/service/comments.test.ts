// Comments belong to exactly one note, in every operation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Service, startService } from './harness.ts';

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
    ['GET', '/notes/9/comments'],
    ['POST', '/notes/9/comments'],
    ['GET', '/notes/9/comments/1'],
    ['PUT', '/notes/9/comments/1'],
    ['DELETE', '/notes/9/comments/1'],
  ] as const;
  for (const [method, path] of calls) {
    const parts = method === 'POST' || method === 'PUT' ? { json: { body: 'x' } } : {};
    const answer = await service.request(method, path, parts);
    assert.equal(answer.status, 404, `${method} ${path}`);
    assert.equal(answer.json.detail, 'Note with ID 9 was not found.');
  }
  assert.equal((await service.request('GET', '/notes/1/comments')).json.total, 1);
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
