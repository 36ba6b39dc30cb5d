// Compares pages of a long list with the corresponding parts of the list, at all offsets.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { DEEP_OFFSET } from '../../src/storage/lists/request.ts';
import type { CollectionUnderTest } from './collections.ts';
import { newFile, openDatabase, withNumbers } from './databases.ts';
import { expected } from './records.ts';
import { type Service, startService } from './service.ts';
import { assertSound } from './stored-data.ts';

/** Limits tried in turn, and all of them at the offsets where the way to find a page changes. */
const LIMITS = [1, 7, 20, 100];

/** A run of missing ids that leaves a whole block empty. */
const GAP = { first: 1_000, last: 2_100 };
const REMOVED_EVERY = 211;
const OF_OTHER_NOTE_EVERY = 4;

type Item = Readonly<Record<string, unknown>> & { readonly id: number };

/** How many ids the list spans, and the step between the offsets that are tried. */
export interface WindowSizes {
  readonly records: number;
  readonly step: number;
}

/**
 * Asserts that each page of a list with gaps is that window of the list, before and after
 * deletions.
 */
export async function testWindows(
  t: TestContext,
  { path, nested }: CollectionUnderTest,
  { records, step }: WindowSizes,
): Promise<void> {
  const file = newFile(t);
  const inGap = (id: number) => id >= GAP.first && id <= GAP.last;
  let left: Item[] = [];
  for (let id = 1; id <= records; id += 1) {
    if (inGap(id) || (nested && id % OF_OTHER_NOTE_EVERY === 0)) continue;
    left.push(
      expected({
        id,
        ...(nested ? { note_id: 3 } : { title: `${id}` }),
        body: `body ${id}`,
      }) as Item,
    );
  }
  assert.ok(left.length > DEEP_OFFSET + step + 100);

  const database = await openDatabase(t, file);
  const notes = nested ? 3 : records;
  await database.transact('fill', [
    {
      sql: `${withNumbers(notes)} INSERT INTO notes (title, body)
            SELECT n, 'body ' || n FROM numbers`,
    },
    ...(nested
      ? [
          {
            sql: `${withNumbers(records)} INSERT INTO comments (note_id, body)
                  SELECT iif(n % ${OF_OTHER_NOTE_EVERY} = 0, 2, 3), 'body ' || n FROM numbers`,
          },
        ]
      : []),
    {
      sql: `DELETE FROM ${nested ? 'comments' : 'notes'}
            WHERE id BETWEEN ${GAP.first} AND ${GAP.last}`,
    },
  ]);
  await database.close();

  const service = await startService(t, { db: file });
  for (const offset of [0, DEEP_OFFSET]) await assertPage(service, path, left, 20, offset);
  const gone = left.filter(({ id }) => id % REMOVED_EVERY === 0);
  await Promise.all(gone.map(({ id }) => service.request('DELETE', `${path}/${id}`)));
  left = left.filter((item) => !gone.includes(item));

  for (let offset = 0; offset < left.length + 100; offset += 50 * step) {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        const limit = LIMITS[index % LIMITS.length] ?? 1;
        return assertPage(service, path, left, limit, offset + index * step);
      }),
    );
  }
  for (const middle of [0, DEEP_OFFSET, left.length]) {
    for (const offset of [middle - 100, middle - 1, middle, middle + 1]) {
      if (offset < 0) continue;
      for (const limit of LIMITS) await assertPage(service, path, left, limit, offset);
    }
  }
  await assertSound(file);
}

async function assertPage(
  service: Service,
  path: string,
  all: readonly Item[],
  limit: number,
  offset: number,
): Promise<void> {
  const { json } = await service.request('GET', `${path}?limit=${limit}&offset=${offset}`);
  const items = all.slice(offset, offset + limit);
  const label = `${path}: ${limit} from ${offset}`;
  assert.deepEqual(json, { items, limit, offset, total: all.length }, label);
}
