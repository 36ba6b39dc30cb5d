// Ids start at 1, rise, and are never given twice (interface, section 2), whatever was deleted and however often the
// service was started again in between.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS, type CollectionUnderTest, inputOf, prepare } from '../../support/collections.ts';
import { type Service, startService } from '../../support/service.ts';

async function create(service: Service, collection: CollectionUnderTest): Promise<number> {
  const { json } = await service.request('POST', collection.path, { json: inputOf(collection, 'x') });
  return json.id;
}

async function restart(t: Parameters<typeof startService>[0], service: Service): Promise<Service> {
  await service.close();
  return startService(t, { db: service.file });
}

for (const collection of COLLECTIONS) {
  const { label, path } = collection;

  test(`${label}: the id of a deleted record is not given again, be it the newest or the only one`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    assert.deepEqual([await create(service, collection), await create(service, collection)], [1, 2]);
    await service.request('DELETE', `${path}/2`);
    assert.equal(await create(service, collection), 3);
    for (const id of [1, 3]) await service.request('DELETE', `${path}/${id}`);
    assert.equal(await create(service, collection), 4);
  });

  test(`${label}: a restart changes nothing in that, not even with an empty collection`, async (t) => {
    const first = await startService(t);
    await prepare(first, collection);
    for (const id of [1, 2, 3]) assert.equal(await create(first, collection), id);
    await first.request('DELETE', `${path}/3`);
    const second = await restart(t, first);
    assert.equal(await create(second, collection), 4);
    for (const id of [1, 2, 4]) await second.request('DELETE', `${path}/${id}`);
    const third = await restart(t, second);
    assert.equal((await third.request('GET', path)).json.total, 0);
    assert.equal(await create(third, collection), 5);
  });

  test(`${label}: a record that is refused takes no id away from those before it`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    assert.equal(await create(service, collection), 1);
    await service.request('POST', path, { json: inputOf(collection, ' ') });
    assert.ok((await create(service, collection)) > 1);
    assert.equal((await service.request('GET', path)).json.total, 2);
  });
}

test('each collection counts for itself, and comments count across notes', async (t) => {
  const service = await startService(t);
  const ids: [path: string, id: number][] = [];
  for (const path of ['/notes', '/notes', '/tags', '/notes/2/comments', '/notes/1/comments', '/notes/2/comments']) {
    const { json } = await service.request('POST', path, { json: { title: 'x', body: 'x', name: 'x' } });
    ids.push([path, json.id]);
  }
  assert.deepEqual(ids, [
    ['/notes', 1],
    ['/notes', 2],
    ['/tags', 1],
    ['/notes/2/comments', 1],
    ['/notes/1/comments', 2],
    ['/notes/2/comments', 3],
  ]);
});

test('the ids of comments that went with their note are not given again, not even after a restart', async (t) => {
  const first = await startService(t);
  for (const title of ['one', 'two']) await first.request('POST', '/notes', { json: { title, body: 'x' } });
  for (const id of [1, 2, 3]) {
    const { json } = await first.request('POST', '/notes/2/comments', { json: { body: 'x' } });
    assert.equal(json.id, id);
  }
  await first.request('DELETE', '/notes/2');
  const second = await restart(t, first);
  assert.equal((await second.request('POST', '/notes/1/comments', { json: { body: 'x' } })).json.id, 4);
});
