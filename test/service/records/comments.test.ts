// Comments belong to exactly one note, in every operation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems } from '../../support/collections.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

/**
 * Creates two notes, the first with one comment. Resolves with the paths of the lists and the id.
 */
async function createTwo(service: Service): Promise<{ one: string; two: string; id: number }> {
  const lists: string[] = [];
  for (const title of ['one', 'two']) {
    const { json } = await service.request('POST', '/notes', { json: { title, body: title } });
    lists.push(`/notes/${json.id}/comments`);
  }
  const [one = '', two = ''] = lists;
  const { json } = await service.request('POST', one, { json: { body: 'of one' } });
  return { one, two, id: json.id };
}

const noteIdOf = (list: string) => Number(list.split('/')[2]);

test('comments', async (t) => {
  const service = await startService(t);

  await t.test('comments: not found through another note', async () => {
    const { one, two, id } = await createTwo(service);
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const parts = method === 'PUT' ? { json: { body: 'changed' } } : {};
      const answer = await service.request(method, `${two}/${id}`, parts);
      assert.equal(answer.status, 404);
      assert.equal(answer.json.detail, `Comment with ID ${id} was not found.`);
    }
    const kept = await service.request('GET', `${one}/${id}`);
    assert.deepEqual(kept.json, { id, note_id: noteIdOf(one), body: 'of one' });
    assert.equal((await service.request('GET', two)).json.total, 0);
  });

  await t.test('comments: if the note is missing, the 404 names it', async () => {
    const { one, id } = await createTwo(service);
    const calls = [
      ['GET', ''],
      ['POST', ''],
      ...[`/${id}`, '/999'].flatMap((record) =>
        ['GET', 'PUT', 'DELETE'].map((each) => [each, record]),
      ),
    ] as [method: string, record: string][];
    for (const noteId of ['999', '0999', '-1', '9007199254740993']) {
      for (const [method, record] of calls) {
        const parts = method === 'POST' || method === 'PUT' ? { json: { body: 'x' } } : {};
        const answer = await service.request(method, `/notes/${noteId}/comments${record}`, parts);
        assert.equal(answer.status, 404, `${method} ${noteId} ${record}`);
        assert.equal(answer.json.detail, `Note with ID ${noteId} was not found.`);
      }
    }
    assert.equal((await service.request('GET', one)).json.total, 1);
  });

  await t.test('comments: note_id in a body is ignored', async () => {
    const { one, two, id } = await createTwo(service);
    const json = { id: 9, note_id: noteIdOf(two), body: 'edited' };
    const replaced = await service.request('PUT', `${one}/${id}`, { json });
    assert.deepEqual(replaced.json, { id, note_id: noteIdOf(one), body: 'edited' });
    const created = await service.request('POST', one, { json });
    assert.deepEqual(created.json, { id: id + 1, note_id: noteIdOf(one), body: 'edited' });
    assert.deepEqual(await allItems(service, one), [replaced.json, created.json]);
    assert.deepEqual(await allItems(service, two), []);
  });

  await t.test('comments: kept when their note is replaced', async () => {
    const { one, id } = await createTwo(service);
    await service.request('PUT', `/notes/${noteIdOf(one)}`, {
      json: { title: 'new', body: 'new' },
    });
    assert.deepEqual(await allItems(service, one), [
      { id, note_id: noteIdOf(one), body: 'of one' },
    ]);
  });

  await t.test('comments: deleted with their note, and no others', async () => {
    const { one, two, id } = await createTwo(service);
    const kept = await service.request('POST', two, { json: { body: 'of two' } });
    await service.request('DELETE', `/notes/${noteIdOf(one)}`);
    assert.equal((await service.request('GET', one)).status, 404);
    assert.equal((await service.request('GET', `${one}/${id}`)).status, 404);
    const others = await service.request('GET', two);
    assert.deepEqual(others.json.items, [{ id: id + 1, note_id: noteIdOf(two), body: 'of two' }]);
    const next = await service.request('POST', two, { json: { body: 'next' } });
    assert.equal(next.json.id, kept.json.id + 1);
    await assertSound(service.file);
  });

  await t.test('comments: faults of both ids and of the body in one answer', async () => {
    const path = '/notes/x/comments/1.0';
    const { status, json } = await service.request('PUT', path, { json: { body: ' ' } });
    assert.equal(status, 422);
    assert.deepEqual(
      json.errors.map((error: Record<string, string>) => [error.field, error.in, error.code]),
      [
        ['note_id', 'path', 'type'],
        ['comment_id', 'path', 'type'],
        ['body', 'body', 'pattern'],
      ],
    );
  });
});
