// Tags that a change puts on a note or takes from it, by name; the others stay.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { request as send } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';
import { clientOf, NOTE, tagsOf } from '../../support/tagged-notes.ts';

const CLIENTS = 48;

/** Resolves with the names of the tags of note 1. */
async function namesOf({ request }: Pick<Target, 'request'>): Promise<string[]> {
  return (await request('GET', '/notes/1?include=tags')).json.tags;
}

/** Asserts that of many clients that change tags of one note at once, none loses anything. */
async function assertNothingLost({ request }: Pick<Target, 'request'>): Promise<void> {
  await request('PUT', '/named/n', { json: { ...NOTE, tags: ['todo'] } });
  const all = await Promise.all(
    Array.from({ length: CLIENTS }, (_, index) => {
      const json = { add_tags: ['done', `t${index % 7}`], remove_tags: ['todo'] };
      return request('PATCH', index % 2 ? '/notes/1' : '/named/n', { json });
    }),
  );
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
  const names = ['done', 't0', 't1', 't2', 't3', 't4', 't5', 't6'];
  assert.deepEqual((await namesOf({ request })).sort(), names);
  const tags = (await request('GET', '/tags?limit=100')).json.items;
  const created = tags.map(({ name }: { name: string }) => name).sort();
  assert.deepEqual(created, [...names, 'todo']);
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  describe(deployment, () => {
    test('single tags: a change adds and removes tags by name', async (t) => {
      const service = await start(t);
      const { send, post, etagOf } = clientOf(service);
      await post({ json: { ...NOTE, tags: ['todo', 'home'] } });
      const patch = (json: object, path = '/notes/1') => send('PATCH', path, 200, { json });
      const etag = await etagOf(1);
      const since = (await send('GET', '/changes', 200)).json.next;
      const done = await patch({ add_tags: ['done'], remove_tags: ['todo', 'never'] });
      assert.deepEqual([done.json.body, done.headers.etag], [NOTE.body, etag]);
      assert.deepEqual(await namesOf(service), ['home', 'done']);
      const { items } = (await send('GET', `/changes?since=${since}`, 200)).json;
      assert.deepEqual(
        items.map(({ type, tag_id }: Record<string, string>) => [type, tag_id]),
        [
          ['note.untagged', 1],
          ['tag.created', 3],
          ['note.tagged', 3],
        ],
      );
      // Beside other members, at a name, with one of the lists, or with null for the other.
      await patch({ add_tags: ['todo', 'home'], title: 'c', name: 'n' });
      assert.deepEqual(await namesOf(service), ['todo', 'home', 'done']);
      await patch({ remove_tags: ['home', 'done'], add_tags: null }, '/named/n');
      assert.deepEqual(await namesOf(service), ['todo']);
      assert.equal((await send('GET', '/notes/1', 200)).json.title, 'c');
    });

    test('single tags: a tag that the note has by another id is not put on it twice', async (t) => {
      const service = await start(t);
      const { send, post } = clientOf(service);
      for (const name of ['x', 'x', 'y']) await send('POST', '/tags', 201, { json: { name } });
      await post({ json: { ...NOTE, tag_ids: [2] } });
      const patch = (json: object) => send('PATCH', '/notes/1', 200, { json });
      await patch({ add_tags: ['x'] });
      assert.deepEqual(await tagsOf(service, 1), [2]);
      await patch({ tags: ['x'] });
      assert.deepEqual(await tagsOf(service, 1), [1]);
      await patch({ tag_ids: [1, 2, 3] });
      await patch({ remove_tags: ['x'] });
      assert.deepEqual(await tagsOf(service, 1), [3]);
      await patch({ add_tags: ['x'] });
      assert.deepEqual(await tagsOf(service, 1), [1, 3]);
    });

    test('single tags: what cannot be meant is refused', async (t) => {
      const service = await start(t);
      const { send, post, state } = clientOf(service);
      await post({ json: { ...NOTE, tags: ['a'] } });
      const before = await state();
      for (const [json, pointer, code] of [
        [{ add_tags: ['b', 'c'], remove_tags: ['d', 'c'] }, '#/remove_tags/1', 'oneOf'],
        [{ add_tags: ['b'], tags: ['c'] }, '#/add_tags', 'oneOf'],
        [{ remove_tags: ['b'], tag_ids: [1] }, '#/remove_tags', 'oneOf'],
        [{ add_tags: [], tags: [] }, '#/add_tags', 'oneOf'],
        [{ add_tags: ['b', 'b'] }, '#/add_tags', 'uniqueItems'],
        [{ remove_tags: [' '] }, '#/remove_tags/0', 'pattern'],
        [{ add_tags: 'b' }, '#/add_tags', 'type'],
        [
          { add_tags: Array.from({ length: 101 }, (_, index) => `t${index}`) },
          '#/add_tags',
          'maxItems',
        ],
      ] as const) {
        const { errors } = (await send('PATCH', '/notes/1', 422, { json })).json;
        assert.deepEqual([errors[0].pointer, errors[0].code], [pointer, code]);
      }
      for (const method of ['PUT', 'POST'])
        await send(method, method === 'PUT' ? '/notes/1' : '/notes', 422, {
          json: { ...NOTE, add_tags: ['b'] },
        });
      const headers = { 'if-match': '"00000000-1"' };
      await send('PATCH', '/notes/1', 412, { json: { add_tags: ['b'] }, headers });
      await send('PATCH', '/notes/9', 404, { json: { add_tags: ['b'] } });
      assert.equal(await state(), before);
      assert.equal((await send('GET', '/tags', 200)).json.total, 1);
    });

    test('single tags: clients at once lose nothing and create no tag twice', async (t) => {
      await assertNothingLost(await start(t));
    });
  });

test('single tags: clients of several processes lose nothing either', async (t) => {
  const { url } = await startProcesses(t, 2, ['--log-level', 'silent']);
  await assertNothingLost({ request: (...args) => send(url, ...args) });
});
