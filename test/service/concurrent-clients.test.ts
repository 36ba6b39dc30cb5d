// Many clients at once: what shares a batch shares nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonAnswer, type Service, startService } from './harness.ts';

function times<Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

async function allItems(service: Service, path: string): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  for (;;) {
    const { json } = await service.request('GET', `${path}?limit=100&offset=${items.length}`);
    items.push(...json.items);
    if (items.length >= json.total) return items;
  }
}

test('1,000 concurrent creates get 1,000 distinct ids, and each keeps its own text', async (t) => {
  const service = await startService(t);
  const answers = await times(1_000, (index) =>
    service.request('POST', '/notes', { json: { title: `title ${index}`, body: `body ${index}` } }),
  );
  assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1_000);
  const stored = new Map((await allItems(service, '/notes')).map((item) => [item.id, item]));
  assert.equal(stored.size, 1_000);
  for (const [index, { status, json }] of answers.entries()) {
    assert.equal(status, 201);
    assert.equal(json.title, `title ${index}`);
    assert.deepEqual(stored.get(json.id), json);
  }
});

test('each of 64 clients reads its own writes', async (t) => {
  const service = await startService(t);
  await times(64, async (client) => {
    const { json } = await service.request('POST', '/notes', { json: { title: `client ${client}`, body: '0' } });
    for (let round = 1; round <= 20; round += 1) {
      const note = { title: `client ${client}`, body: String(round) };
      await service.request('PUT', `/notes/${json.id}`, { json: note });
      const read = await service.request('GET', `/notes/${json.id}`);
      assert.deepEqual(read.json, { id: json.id, ...note });
    }
    await service.request('DELETE', `/notes/${json.id}`);
    assert.equal((await service.request('GET', `/notes/${json.id}`)).status, 404);
  });
  assert.equal((await service.request('GET', '/notes')).json.total, 0);
});

test('writes to one record take effect in one order: what is read last was written by somebody, whole', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: { title: 'start', body: 'start' } });
  for (let round = 0; round < 10; round += 1) {
    const answers = await times(64, (client) =>
      service.request('PUT', '/notes/1', { json: { title: `${round}/${client}`, body: `${round}/${client}` } }),
    );
    for (const [client, { json }] of answers.entries()) assert.equal(json.body, `${round}/${client}`);
    const { json } = await service.request('GET', '/notes/1');
    assert.equal(json.title, json.body);
    assert.match(json.title, new RegExp(`^${round}/`));
  }
});

test('a write to a missing note spoils nothing for those that share its batch', async (t) => {
  const service = await startService(t);
  for (const title of ['one', 'two', 'three']) await service.request('POST', '/notes', { json: { title, body: 'x' } });
  await service.request('DELETE', '/notes/2');
  const answers = await times(600, async (index) => {
    const noteId = (index % 4) + 1;
    const body = `comment ${index} of ${noteId}`;
    return { noteId, body, answer: await service.request('POST', `/notes/${noteId}/comments`, { json: { body } }) };
  });
  const created = new Map<number, JsonAnswer['json']>();
  for (const { noteId, body, answer } of answers) {
    if (noteId === 2 || noteId === 4) {
      assert.equal(answer.status, 404);
      assert.equal(answer.json.detail, `Note with ID ${noteId} was not found.`);
    } else {
      assert.deepEqual(answer.json, { id: answer.json.id, note_id: noteId, body });
      created.set(answer.json.id, answer.json);
    }
  }
  assert.equal(created.size, 300);
  const stored = [...(await allItems(service, '/notes/1/comments')), ...(await allItems(service, '/notes/3/comments'))];
  assert.equal(stored.length, 300);
  for (const item of stored) assert.deepEqual(item, created.get(item.id as number));
});

test('of many who delete one note, exactly one has deleted it', async (t) => {
  const service = await startService(t);
  for (let id = 1; id <= 20; id += 1) {
    await service.request('POST', '/notes', { json: { title: 'x', body: 'x' } });
    const answers = await times(16, () => service.request('DELETE', `/notes/${id}`));
    assert.equal(answers.filter(({ status }) => status === 204).length, 1);
    assert.equal(answers.filter(({ status }) => status === 404).length, 15);
  }
});

test('comments that arrive while their note is deleted are refused or go with it', async (t) => {
  const service = await startService(t);
  for (let id = 1; id <= 20; id += 1) {
    await service.request('POST', '/notes', { json: { title: 'x', body: 'x' } });
    const [answers] = await Promise.all([
      times(30, () => service.request('POST', `/notes/${id}/comments`, { json: { body: 'x' } })),
      service.request('DELETE', `/notes/${id}`),
    ]);
    for (const { status } of answers) assert.ok(status === 201 || status === 404);
    assert.equal((await service.request('GET', `/notes/${id}/comments`)).status, 404);
    for (const { status, json } of answers) {
      if (status === 201) assert.equal((await service.request('GET', `/notes/${id}/comments/${json.id}`)).status, 404);
    }
  }
});
