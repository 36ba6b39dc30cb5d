// Lists in pages: one envelope, strict bounds, and the same answer at every depth.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS, inputOf, prepare } from './collections.ts';
import { type Service, startService } from './harness.ts';

/** Below this offset a page is walked to, from it on it is found by the block counts; both sides are tested. */
const BORDER = 2_048;
const RECORDS = 5_300;

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

async function createMany(service: Service, path: string, count: number, field: string): Promise<number[]> {
  const body = path === '/notes' ? { body: 'x' } : {};
  const created = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      service.request('POST', path, { json: { [field]: `record ${index}`, ...body } }),
    ),
  );
  return created.map(({ json }) => json.id);
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

for (const [name, path, field] of [
  ['notes', '/notes', 'title'],
  ['comments of one note among those of another', '/notes/1/comments', 'body'],
] as const) {
  test(`${name}: every page is a window of the whole list, also after deletions`, async (t) => {
    const service = await startService(t);
    if (field === 'body') {
      for (const title of ['one', 'two']) await service.request('POST', '/notes', { json: { title, body: 'x' } });
    }
    const half = createMany(service, path, RECORDS / 2, field);
    // Comments of the other note take ids in between.
    if (field === 'body') await createMany(service, '/notes/2/comments', RECORDS / 5, field);
    const ids = [...(await half), ...(await createMany(service, path, RECORDS / 2, field))];
    const gone = new Set(ids.filter((id, index) => id % 7 === 0 || (index > 1_000 && index < 2_100)));
    await Promise.all([...gone].map((id) => service.request('DELETE', `${path}/${id}`)));
    const left = ids.filter((id) => !gone.has(id)).sort((one, other) => one - other);
    assert.ok(left.length > BORDER + 200);

    const offsets = [0, 1, 99, 857, 858, 1_000, BORDER - 100, BORDER - 1, BORDER, BORDER + 1, left.length - 1];
    for (let offset = 0; offset < left.length; offset += 61) offsets.push(offset);
    for (const offset of [...offsets, left.length, left.length + 1]) {
      for (const limit of [1, 20, 100]) {
        const { json } = await service.request('GET', `${path}?limit=${limit}&offset=${offset}`);
        const expected = left.slice(offset, offset + limit);
        assert.deepEqual(
          json.items.map(({ id }: { id: number }) => id),
          expected,
          `${limit} from ${offset}`,
        );
        assert.equal(json.total, left.length);
      }
    }
  });
}
