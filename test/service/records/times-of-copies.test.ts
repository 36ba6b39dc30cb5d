// The times that a creation gives its records, so that copies keep those of the originals.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Violation } from '../../../src/http/problem.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { startService } from '../../support/service.ts';
import { lines } from '../../support/tagged-notes.ts';

const [A, B] = ['2020-01-01T00:00:00.000Z', '2021-06-30T12:00:00.500Z'];
const [FIRST, LAST] = ['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'];
/** In UTC, both have a year that cannot be written. */
const BEYOND = {
  created_at: '0000-01-01T00:00:00+00:01',
  updated_at: '9999-12-31T23:59:59-00:01',
};
const NOTE = { title: 'a', body: 'b' };

/** Returns the times of all records at `path`. */
async function timesAt({ request }: Target, path: string): Promise<(string | null)[][]> {
  const { json } = await request('GET', `${path}?include=times`);
  return json.items.map((each: Record<string, string>) => [each.created_at, each.updated_at]);
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  describe(deployment, () => {
    test('times: a record gets those of its creation; one stands for both', async (t) => {
      const service = await start(t);
      for (const [path, record] of [
        ['/notes', NOTE],
        ['/tags', { name: 'a' }],
        ['/notes/1/comments', { body: 'a' }],
      ] as const) {
        const keyed = { times: { created_at: null, updated_at: B }, key: path };
        for (const { times, key } of [
          { times: { created_at: A, updated_at: B } },
          { times: { created_at: '2020-01-01T02:00:00.0009+02:00' } },
          { times: BEYOND },
          ...[keyed, keyed],
        ]) {
          const headers = key ? { 'idempotency-key': key } : {};
          const parts = { json: { ...record, ...times }, headers };
          assert.equal((await service.request('POST', path, parts)).status, 201);
        }
        const stored = (await timesAt(service, path)).map((each) => each.join());
        assert.deepEqual(stored, [`${A},${B}`, `${A},${A}`, `${FIRST},${LAST}`, `${B},${B}`]);
      }
      const found = await service.request('GET', `/notes?created_before=${B}&fields=id`);
      assert.deepEqual(found.json.items, [{ id: 1 }, { id: 2 }, { id: 3 }]);
    });

    test('times: lines have their own, with tags; the log has that of the request', async (t) => {
      const service = await start(t);
      const { request } = service;
      const before = new Date().toISOString();
      const { json: first } = await request('GET', '/changes');
      const more = [
        { created_at: A, tags: ['x'] },
        { tag_ids: [] },
        { created_at: A, updated_at: B },
      ];
      const all = lines(...more.map((each) => ({ ...NOTE, ...each })));
      assert.equal((await request('POST', '/notes', all)).status, 201);
      const [one = [], two = [], three = []] = await timesAt(service, '/notes');
      assert.deepEqual([...one, ...three], [A, A, A, B]);
      assert.ok(String(two[0]) >= before && two[0] === two[1], String(two));
      const [tag = []] = await timesAt(service, '/tags');
      assert.ok(String(tag[0]) >= before, String(tag));
      const { json } = await request('GET', `/changes?since=${first.next}`);
      assert.equal(json.items.length, 5);
      for (const { at } of json.items) assert.ok(at >= before, at);
    });
  });

test('times: notes are copied with times and tags by GET and POST', async (t) => {
  const [from, to] = [await startService(t), await startService(t)];
  for (const tags of [['x', 'y'], [], ['y']])
    await from.request('POST', '/notes', { json: { ...NOTE, tags, created_at: A } });
  await from.request('PATCH', '/notes/2', { json: { title: 'c' } });
  const read = async ({ request }: Target) =>
    (await request('GET', '/notes?include=times,tags,etag,tag_ids')).json.items;
  const withoutIds = ({ id, etag, tag_ids, ...rest }: Record<string, unknown>) => rest;
  const original = await read(from);
  const half = original.map(({ tag_ids, ...rest }: Record<string, unknown>) => rest);
  assert.equal((await to.request('POST', '/notes', lines(...half.slice(0, 2)))).status, 201);
  assert.equal((await to.request('POST', '/notes', { json: half[2] })).status, 201);
  assert.deepEqual((await read(to)).map(withoutIds), original.map(withoutIds));
});

test('times: what is wrong is refused with its pointer, and nothing is stored', async (t) => {
  const { request } = await startService(t);
  for (const [times, pointer, code] of [
    [{ created_at: B, updated_at: A }, '#/updated_at', 'minimum'],
    [{ created_at: 'yesterday' }, '#/created_at', 'format'],
    [{ updated_at: '2020-02-30T00:00:00Z' }, '#/updated_at', 'format'],
    [{ created_at: 1 }, '#/created_at', 'type'],
  ] as const)
    for (const isBulk of [false, true]) {
      const json = { ...NOTE, ...times };
      const answer = await request('POST', '/notes', isBulk ? lines(NOTE, json) : { json });
      const found = answer.json.errors.map((each: Violation) => [each.pointer, each.code]);
      const expected = isBulk ? pointer.replace('#', '#/1') : pointer;
      assert.deepEqual([answer.status, found], [422, [[expected, code]]]);
      const form = / must be a time \(RFC 3339\), such as \S+\.$/;
      if (code === 'format') assert.match(answer.json.detail, form);
    }
  assert.equal((await request('GET', '/notes')).json.total, 0);
});

test('times: PUT and PATCH ignore them', async (t) => {
  const service = await startService(t);
  const { request } = service;
  await request('POST', '/notes', { json: { ...NOTE, created_at: A } });
  for (const method of ['PUT', 'PATCH'])
    for (const time of [B, 'x', 1]) {
      const json = { ...NOTE, body: `${method} ${time}`, created_at: time, updated_at: time };
      assert.equal((await request(method, '/notes/1', { json })).status, 200);
    }
  const [[created, updated] = []] = await timesAt(service, '/notes');
  assert.equal(created, A);
  assert.ok(String(updated) > '2026', String(updated));
});
