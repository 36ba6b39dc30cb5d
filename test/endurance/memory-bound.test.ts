// The memory of answers takes no more than its bound when a million different records are read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FreshMemory } from '../../src/memory/fresh-memory.ts';
import { Table } from '../../src/records/table.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Database } from '../../src/storage/database.ts';
import { collectGarbage } from '../support/heap.ts';

const BOUND = 64;

/** V8 keeps holes between texts of different lengths; its young generation takes the rest. */
const HOLES = 1.5;
const REST = 32;

const MIB = 1_048_576;
const READS = 1_000_000;
const BATCH = 64;
const COLLECTIONS = 20;
const MAX_LENGTH = 100_000;

const TEXTS = ['The quick brown fox. ', '吾輩は猫である。名前はまだ無い。'].map((text) =>
  text.repeat(MAX_LENGTH / text.length + 1),
);

/** Returns texts with one to `MAX_LENGTH` characters; a greater `skew` makes more of them short. */
function randomText(skew: number): string {
  const length = Math.floor(MAX_LENGTH ** (Math.random() ** skew));
  return TEXTS[Math.floor(Math.random() * TEXTS.length)]?.slice(0, length) ?? '';
}

const ENGINE: Database = {
  freshness: { revision: () => '1', committed: () => '1', isNext: () => false },
  async read({ parameter = '' }) {
    const ids: number[] = JSON.parse(parameter);
    const lines = ids.map((id) => `00000000-${READS + id} {"id":${id},"${randomText(4)}"}`);
    return [{ lines: lines.join('\n') }];
  },
  transact: () => assert.fail(),
  ping: async () => {},
  close: async () => {},
};

async function fill(count: number, maxBytes: number): Promise<FreshMemory> {
  const memory = new FreshMemory(ENGINE.freshness, maxBytes);
  const write = () => assert.fail();
  const table = new Table(notes, { database: ENGINE, memory, meters: undefined, write });
  for (let id = 1; id <= count; id += BATCH)
    await Promise.all(Array.from({ length: BATCH }, (_, index) => table.read(id + index)));
  return memory;
}

test('memory: a million distinct reads fit its bound', async (t) => {
  // Grow what does not depend on the bound.
  await fill(READS / 20, MIB);
  collectGarbage();
  const before = process.memoryUsage();
  const memory = await fill(READS, BOUND * MIB);
  const during = process.memoryUsage.rss() - before.rss;
  let resident = during;
  // V8 gives memory back some time after a collection.
  for (let round = 0; round < COLLECTIONS; round += 1) {
    collectGarbage();
    await nextTurn();
    resident = Math.min(resident, process.memoryUsage.rss() - before.rss);
  }
  const heap = process.memoryUsage().heapUsed - before.heapUsed;
  const [used, after, most] = [heap, resident, during].map((bytes) => Math.round(bytes / MIB));
  t.diagnostic(`${used} MiB of heap, ${after} MiB resident, ${most} MiB before the collections`);
  assert.ok(resident < (HOLES * BOUND + REST) * MIB);
  assert.ok(heap < (BOUND + 1) * MIB);
  assert.ok(memory.bytes > (BOUND - 1) * MIB);
});
