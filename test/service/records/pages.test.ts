// Lists in pages: one envelope, strict bounds, and the same answer at every depth.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS, inAnyOrder, inputOf, prepare } from '../../support/collections.ts';
import { startService } from '../../support/service.ts';

const RECORDS = 101;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Each query with the first id, the number of items, the limit and the offset of the answer. */
const ACCEPTED: readonly (readonly [string, number | undefined, number, number, number])[] = [
  ['', 1, 20, 20, 0],
  ['?', 1, 20, 20, 0],
  ['?limit=1', 1, 1, 1, 0],
  ['?limit=100', 1, 100, 100, 0],
  ['?limit=100&offset=1', 2, 100, 100, 1],
  ['?offset=1&limit=2', 2, 2, 2, 1],
  ['?offset=100', 101, 1, 20, 100],
  ['?offset=101', undefined, 0, 20, 101],
  [`?offset=${LARGEST}`, undefined, 0, 20, LARGEST],
  ['?limit=007&offset=00', 1, 7, 7, 0],
  ['?limit=%31%30&offset=%30', 1, 10, 10, 0],
  ['?%6Cimit=5', 1, 5, 5, 0],
];

const REFUSED: readonly (readonly [string, string[], code: string, detail: string])[] = [
  ['limit=0', ['limit'], 'minimum', 'must be at least 1'],
  ['limit=-1', ['limit'], 'minimum', 'must be at least 1'],
  ['limit=101', ['limit'], 'maximum', 'must be at most 100'],
  ['limit=18446744073709551617', ['limit'], 'maximum', 'must be at most 100'],
  ['offset=-1', ['offset'], 'minimum', 'must be at least 0'],
  ['offset=9007199254740992', ['offset'], 'maximum', `must be at most ${LARGEST}`],
  [`offset=${'9'.repeat(400)}`, ['offset'], 'type', 'must be an integer'],
  ['limit=10.5&offset=-0', ['limit', 'offset'], 'type', 'must be an integer'],
  ['limit=%D9%A1&offset=+1', ['limit', 'offset'], 'type', 'must be an integer'],
  ['limit&offset=', ['limit', 'offset'], 'type', 'must be an integer'],
  ['limit=%25', ['limit'], 'type', 'must be an integer'],
  ['limit=5&limit=5', ['limit'], 'maxItems', 'must be given only once'],
  ['limit=5&%6cimit=6', ['limit'], 'maxItems', 'must be given only once'],
  ['limit=&limit', ['limit'], 'maxItems', 'must be given only once'],
  ['offset=0&offset=1', ['offset'], 'maxItems', 'must be given only once'],
];

for (const collection of COLLECTIONS) {
  const { label, path } = collection;

  test(`pages: ${label.toLowerCase()}s`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    await Promise.all(
      Array.from({ length: RECORDS }, (_, index) =>
        service.request('POST', path, { json: inputOf(collection, `record ${index}`) }),
      ),
    );

    await t.test(`pages: ${path}: limit and offset up to their bounds`, async () => {
      for (const [query, first, length, limit, offset] of ACCEPTED) {
        const { status, json } = await service.request('GET', `${path}${query}`);
        assert.equal(status, 200, query);
        assert.deepEqual([json.items[0]?.id, json.items.length], [first, length], query);
        assert.deepEqual([json.limit, json.offset, json.total], [limit, offset, RECORDS], query);
      }
    });

    await t.test(`pages: ${path}: beyond the bounds is 422, never clamped`, async () => {
      for (const [query, fields, code, detail] of REFUSED) {
        const { status, json } = await service.request('GET', `${path}?${query}`);
        assert.equal(status, 422, query);
        const errors = fields.map((field) => ({ field, in: 'query', code, detail }));
        assert.deepEqual(inAnyOrder(json.errors), inAnyOrder(errors), query);
      }
    });
  });
}
