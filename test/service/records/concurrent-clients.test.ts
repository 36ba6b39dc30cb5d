// Many clients at once: requests that share a batch share nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  commentOnMissing,
  commentWhileDeleting,
  createAtOnce,
  createNotes,
  IN_ONE_BATCH,
  missing,
  readOwnWrites,
  together,
  writeOneRecord,
} from '../../support/concurrent-clients.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

test('clients: concurrent creates get distinct ids', (t) => createAtOnce(t, 100));

test('clients: each reads its own writes', (t) => readOwnWrites(t, 8, 3));

test('clients: writes to one record take effect in one order', (t) => writeOneRecord(t, 8, 4));

test('clients: a write to a missing note spoils no batch', (t) => commentOnMissing(t, 80));

test('clients: comments while their note is deleted', (t) => commentWhileDeleting(t, 1));

test('clients: writes of all kinds in one batch', async (t) => {
  const service = await startService(t);
  await createNotes(service, 4);
  await service.request('DELETE', '/notes/2');
  await service.request('POST', '/notes/1/comments', { json: { body: 'of one' } });
  const kinds: ((
    index: number,
  ) => [method: string, path: string, json: object | undefined, answer: unknown[]])[] = [
    (index) => [
      'POST',
      '/notes/1/comments',
      { body: `${index}` },
      [201, { note_id: 1, body: `${index}` }],
    ],
    (index) => ['POST', '/notes/2/comments', { body: `${index}` }, missing('Note', 2)],
    (index) => [
      'POST',
      '/notes/3/comments',
      { body: `${index}` },
      [201, { note_id: 3, body: `${index}` }],
    ],
    (index) => ['POST', '/tags', { name: `${index}` }, [201, { name: `${index}` }]],
    (index) => [
      'POST',
      '/notes',
      { title: `${index}`, body: 'x' },
      [201, { title: `${index}`, body: 'x' }],
    ],
    (index) => [
      'PUT',
      '/notes/4',
      { title: `${index}`, body: 'x' },
      [200, { title: `${index}`, body: 'x' }],
    ],
    (index) => ['PUT', '/notes/2', { title: `${index}`, body: 'x' }, missing('Note', 2)],
    (index) => [
      'PUT',
      '/notes/1/comments/1',
      { body: `${index}` },
      [200, { note_id: 1, body: `${index}` }],
    ],
    () => ['PUT', '/notes/3/comments/1', { body: 'x' }, missing('Comment', 1)],
    () => ['DELETE', '/notes/3/comments/1', undefined, missing('Comment', 1)],
    () => ['DELETE', '/tags/99', undefined, missing('Tag', 99)],
  ];
  const calls = Array.from(
    { length: IN_ONE_BATCH - 1 },
    (_, index) => kinds[index % kinds.length]?.(index) ?? [],
  );
  const answers = await together(service, calls.length, (index) => {
    const [method = '', path = '', json] = calls[index] ?? [];
    return service.request(method, path, json ? { json } : {});
  });
  for (const [index, { status, json, headers }] of answers.entries()) {
    const { id, detail, ...record } = json;
    assert.deepEqual([status, detail ?? record], calls[index]?.[3], `${calls[index]}`);
    if (status === 201)
      assert.deepEqual((await service.request('GET', String(headers.location))).json, json);
    if (status === 200) assert.equal(id, Number(calls[index]?.[1]?.split('/').at(-1)));
  }
  const created = answers
    .filter(({ status }) => status === 201)
    .map(({ headers }) => headers.location);
  assert.equal(new Set(created).size, created.length);
  await assertSound(service.file);
});

test('clients: of many deletes of a record one succeeds', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  for (const [label, path] of [
    ['Comment', '/notes/1/comments/1'],
    ['Tag', '/tags/1'],
    ['Note', '/notes/1'],
  ] as const) {
    if (label !== 'Note') {
      await service.request('POST', path.slice(0, path.lastIndexOf('/')), {
        json: { name: 'x', body: 'x' },
      });
    }
    const answers = await together(service, 50, () => service.request('DELETE', path));
    assert.equal(answers.filter(({ status }) => status === 204).length, 1, label);
    for (const { status, json } of answers) {
      if (status !== 204) assert.deepEqual([status, json.detail], missing(label, 1));
    }
  }
  await assertSound(service.file);
});

test('clients: a record replaced and deleted at once is gone', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  const json = { title: 'new', body: 'new' };
  const answers = await together(service, 50, (index) =>
    index === 25
      ? service.request('DELETE', '/notes/1')
      : service.request('PUT', '/notes/1', { json }),
  );
  assert.equal(answers[25]?.status, 204);
  for (const [index, answer] of answers.entries()) {
    if (answer.status === 200) assert.deepEqual(answer.json, { id: 1, ...json });
    else if (index !== 25)
      assert.deepEqual([answer.status, answer.json.detail], missing('Note', 1));
  }
  assert.equal((await service.request('GET', '/notes/1')).status, 404);
});
