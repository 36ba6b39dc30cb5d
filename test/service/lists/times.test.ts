// Filters of lists by time: exclusive, to the millisecond.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPath } from '../../support/databases.ts';
import { type Service, startService } from '../../support/service.ts';

const NOON = Date.UTC(2026, 10, 22, 12);
const LISTS = ['/notes', '/tags/1/notes', '/tags', '/notes/1/tags', '/notes/1/comments'];

/** Fills a service with notes of these times, in ms after noon; null is unknown. */
async function fill(service: Service, times: readonly (number | null)[]): Promise<void> {
  for (let id = 1; id <= times.length; id += 1)
    await service.request('POST', '/notes', { json: { title: `${id}`, body: 'b' } });
  const database = await openPath(service.file);
  const rows = times.map((ms, index) => [index + 1, ms === null ? null : NOON + ms]);
  const sql = `
    UPDATE notes SET created_at = sent.value ->> 1, updated_at = sent.value ->> 1
    FROM json_each(?1) AS sent WHERE notes.id = sent.value ->> 0`;
  await database.transact([{ sql, parameter: JSON.stringify(rows) }]);
  await database.close();
}

test('times: exclusive and exact; unknown ones match nothing', async (t) => {
  const service = await startService(t);
  await fill(service, [0, 1, null, 2, 1]);
  for (const [query, ids] of [
    ['updated_after=2026-11-22T12:00:00Z', [2, 4, 5]],
    ['updated_after=2026-11-22T12:00:00.0005Z', [2, 4, 5]],
    ['updated_after=2026-11-22T12:00:00.001Z', [4]],
    ['updated_before=2026-11-22T12:00:00.0005Z', [1]],
    ['created_before=2026-11-22T12:00:00.001Z', [1]],
    ['created_before=2026-11-22T12:00:00.0011Z', [1, 2, 5]],
    ['created_after=2026-11-22T12:00:00Z&updated_before=2026-11-22T12:00:00.002Z', [2, 5]],
    [
      'created_after=2026-11-22T13:00:00%2B01:00&created_before=2026-11-22T00:00:00.002-12:00',
      [2, 5],
    ],
    ['updated_after=2030-01-01T00:00:00Z', []],
    ['updated_after=0000-01-01T00:00:00%2B23:59', [1, 2, 4, 5]],
    ['created_after=2026-11-22T12:00:00.002Z&created_before=2026-11-22T12:00:00Z', []],
  ] as const) {
    const { json } = await service.request('GET', `/notes?${query}&fields=id`);
    const found = json.items.map(({ id }: { id: number }) => id);
    assert.deepEqual([found, json.total], [ids, ids.length], query);
  }
});

test('times: what is no time is 422 on every list, with the way to write one', async (t) => {
  const service = await startService(t);
  const rule = 'must be a time such as 2026-11-22T09:30:00Z (RFC 3339; in a URL, write + as %2B)';
  for (const path of LISTS) {
    for (const name of ['created_after', 'created_before', 'updated_after', 'updated_before']) {
      for (const text of [
        '',
        '2026-02-30T00:00:00Z',
        '2016-12-31T23:59:60Z',
        '2026-11-22T12:00:00+02:00',
      ]) {
        const { status, json } = await service.request('GET', `${path}?${name}=${text}`);
        const error = { field: name, in: 'query', code: 'format', detail: rule };
        assert.deepEqual([status, json.errors], [422, [error]], `${path} ${name} ${text}`);
      }
    }
  }
  const { json } = await service.request('GET', '/notes?update_after=2026-11-22T12:00:00Z');
  assert.equal(json.errors[0].detail, 'is not known; did you mean updated_after?');
});
