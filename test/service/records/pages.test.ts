// Lists in pages: one envelope, strict bounds, and the same answer at every depth.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEEP_OFFSET } from '../../../src/storage/pages.ts';
import { COLLECTIONS, inputOf, prepare } from '../../support/collections.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

const RECORDS = 6_600;

/** What is no integer in a query; among them a plus sign, spaces and Arabic digits, as they travel in a URL. */
const NO_INTEGERS = [
  '',
  '10.5',
  '1e2',
  '+1',
  '%2B1',
  '%201',
  '1%20',
  '0x10',
  'abc',
  '-0',
  '%D9%A1',
  '1_0',
  '%00',
  '%zz',
];

type Item = Readonly<Record<string, unknown>>;

async function createMany(service: Service, path: string, count: number): Promise<Item[]> {
  const texts = (index: number) => ({ title: `title ${index}`, name: `name ${index}`, body: `body ${index}` });
  const answers = await Promise.all(
    Array.from({ length: count }, (_, index) => service.request('POST', path, { json: texts(index) })),
  );
  return answers.map(({ json }) => json);
}

for (const collection of COLLECTIONS) {
  const { label, path } = collection;

  test(`${label}: limit and offset are applied as asked, at their bounds`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    for (let count = 0; count < 101; count += 1) {
      await service.request('POST', path, { json: inputOf(collection, `record ${count}`) });
    }
    const largest = String(Number.MAX_SAFE_INTEGER);
    const cases: [query: string, first: number | undefined, length: number, limit: number, offset: number][] = [
      ['', 1, 20, 20, 0],
      ['?limit=1', 1, 1, 1, 0],
      ['?limit=100', 1, 100, 100, 0],
      ['?limit=100&offset=1', 2, 100, 100, 1],
      ['?offset=100', 101, 1, 20, 100],
      ['?offset=101', undefined, 0, 20, 101],
      [`?offset=${largest}`, undefined, 0, 20, Number.MAX_SAFE_INTEGER],
      ['?limit=007&offset=00', 1, 7, 7, 0],
      ['?limit=%31%30', 1, 10, 10, 0],
      ['?unknown=x&unknown=y&LIMIT=0', 1, 20, 20, 0],
    ];
    for (const [query, first, length, limit, offset] of cases) {
      const { status, json } = await service.request('GET', `${path}${query}`);
      assert.equal(status, 200, query);
      assert.deepEqual([json.items[0]?.id, json.items.length], [first, length], query);
      assert.deepEqual([json.limit, json.offset, json.total], [limit, offset, 101], query);
    }
  });

  test(`${label}: a limit or offset outside its bounds is refused, never clamped`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const bad: [query: string, fields: string[], code: string][] = [
      ['limit=0', ['limit'], 'minimum'],
      ['limit=101', ['limit'], 'maximum'],
      ['limit=-1', ['limit'], 'minimum'],
      ['offset=-1', ['offset'], 'minimum'],
      ['offset=9007199254740992', ['offset'], 'maximum'],
      ['limit=0&offset=-1', ['limit', 'offset'], 'minimum'],
      ['limit=5&limit=5', ['limit'], 'maxItems'],
      ...NO_INTEGERS.map((text): [string, string[], string] => [`limit=${text}`, ['limit'], 'type']),
    ];
    for (const [query, fields, code] of bad) {
      const { status, json } = await service.request('GET', `${path}?${query}`);
      assert.equal(status, 422, query);
      assert.deepEqual(
        json.errors.map((error: { field: string }) => error.field),
        fields,
        query,
      );
      for (const error of json.errors) assert.deepEqual([error.in, error.code], ['query', code], query);
    }
  });
}

/** Limits that are tried in turn at the offsets, and all of them at the offsets where something changes. */
const LIMITS = [1, 7, 20, 100];

async function assertPage(service: Service, path: string, all: readonly Item[], limit: number, offset: number) {
  const { json } = await service.request('GET', `${path}?limit=${limit}&offset=${offset}`);
  const items = all.slice(offset, offset + limit);
  assert.deepEqual(json, { items, limit, offset, total: all.length }, `${path}: ${limit} from ${offset}`);
}

// Tags differ from notes in their names alone.
for (const collection of COLLECTIONS.filter(({ label }) => label !== 'Tag')) {
  const { label, path, nested } = collection;

  test(`${label}: at every offset, the page is that window of the whole list, after deletions as well`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const half = createMany(service, path, RECORDS / 2);
    // Comments of another note take ids in between.
    if (nested) await createMany(service, '/notes/2/comments', RECORDS / 3);
    const created = [...(await half), ...(await createMany(service, path, RECORDS / 2))];
    // Single ones go, and so many in one place that whole blocks of ids are empty.
    const gone = new Set(created.filter(({ id }, index) => Number(id) % 13 === 0 || (index > 500 && index < 1_600)));
    await Promise.all([...gone].map(({ id }) => service.request('DELETE', `${path}/${id}`)));
    const left = created.filter((item) => !gone.has(item)).sort((one, other) => Number(one.id) - Number(other.id));
    assert.ok(left.length > 5_000);

    await Promise.all(
      Array.from({ length: left.length + 100 }, (_, offset) =>
        assertPage(service, path, left, LIMITS[offset % LIMITS.length] ?? 1, offset),
      ),
    );
    for (const middle of [0, DEEP_OFFSET, left.length]) {
      for (const offset of [middle - 100, middle - 1, middle, middle + 1].filter((each) => each >= 0)) {
        for (const limit of LIMITS) await assertPage(service, path, left, limit, offset);
      }
    }
    await assertSound(service.file);
  });
}
