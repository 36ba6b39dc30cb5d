// Many clients at once: requests that share a batch share nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  commentWhileDeleting,
  createNotes,
  IN_ONE_BATCH,
  missing,
  together,
  writeOneRecord,
} from '../../support/concurrent-clients.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

test('clients: writes to one record take effect in one order', (t) => writeOneRecord(t, 8, 4));

test('clients: comments while their note is deleted', (t) => commentWhileDeleting(t, 1));

const KINDS: readonly ((
  text: string,
) => readonly [
  request: string,
  json: Readonly<Record<string, string>> | undefined,
  answer: readonly [status: number, shown: object | string],
])[] = [
  (body) => ['POST /notes/1/comments', { body }, [201, { note_id: 1, body }]],
  (body) => ['POST /notes/2/comments', { body }, missing('Note', 2)],
  (body) => ['POST /notes/3/comments', { body }, [201, { note_id: 3, body }]],
  (name) => ['POST /tags', { name }, [201, { name }]],
  (title) => ['POST /notes', { title, body: 'x' }, [201, { title, body: 'x' }]],
  (title) => ['PUT /notes/4', { title, body: 'x' }, [200, { id: 4, title, body: 'x' }]],
  (title) => ['PUT /notes/2', { title, body: 'x' }, missing('Note', 2)],
  (body) => ['PUT /notes/1/comments/1', { body }, [200, { id: 1, note_id: 1, body }]],
  (body) => ['PUT /notes/3/comments/1', { body }, missing('Comment', 1)],
  () => ['DELETE /notes/3/comments/1', undefined, missing('Comment', 1)],
  () => ['DELETE /tags/99', undefined, missing('Tag', 99)],
];

test('clients: writes of all kinds in one batch', async (t) => {
  const service = await startService(t);
  await createNotes(service, 4);
  await service.request('DELETE', '/notes/2');
  await service.request('POST', '/notes/1/comments', { json: { body: 'of one' } });
  const count = IN_ONE_BATCH - 1;
  const kindOf = (index: number) => KINDS[index % KINDS.length] ?? assert.fail();
  const answers = await together(service, count, (index) => {
    const [request, json] = kindOf(index)(`${index}`);
    const [method = '', path = ''] = request.split(' ');
    return service.request(method, path, { json });
  });
  const created: unknown[] = [];
  for (const [index, { status, json, headers }] of answers.entries()) {
    const [request, , [wanted, shown]] = kindOf(index)(`${index}`);
    assert.equal(status, wanted, request);
    if (typeof shown === 'string') assert.equal(json.detail, shown, request);
    else assert.deepEqual(json, expected({ id: json.id, ...shown }), request);
    if (status !== 201) continue;
    assert.deepEqual((await service.request('GET', String(headers.location))).json, json);
    created.push(headers.location);
  }
  assert.equal(new Set(created).size, created.length);
  await assertSound(service.file);
});

test('clients: of many deletes of a record one succeeds', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  await service.request('POST', '/notes/1/comments', { json: { body: 'x' } });
  await service.request('POST', '/tags', { json: { name: 'x' } });
  for (const [label, path] of [
    ['Comment', '/notes/1/comments/1'],
    ['Tag', '/tags/1'],
    ['Note', '/notes/1'],
  ] as const) {
    const answers = await together(service, 50, () => service.request('DELETE', path));
    const refused = answers.filter(({ status }) => status !== 204);
    assert.equal(refused.length, 49, label);
    for (const { status, json } of refused)
      assert.deepEqual([status, json.detail], missing(label, 1));
  }
  await assertSound(service.file);
});

test('clients: a record replaced and deleted at once is gone', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  const json = { title: 'new', body: 'new' };
  const answers = await together(service, 50, (index) =>
    service.request(index === 25 ? 'DELETE' : 'PUT', '/notes/1', { json }),
  );
  for (const [index, answer] of answers.entries()) {
    if (index === 25) assert.equal(answer.status, 204);
    else if (answer.status === 200) assert.deepEqual(answer.json, expected({ id: 1, ...json }));
    else assert.deepEqual([answer.status, answer.json.detail], missing('Note', 1));
  }
  assert.equal((await service.request('GET', '/notes/1')).status, 404);
});
