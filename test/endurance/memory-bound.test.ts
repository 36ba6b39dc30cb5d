// The memory of answers takes no more than its bound, whatever is read.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { DistinctReads } from './distinct-reads.ts';

const BOUND = 64;

/** V8 keeps holes between texts of different lengths; its young generation takes the rest. */
const HOLES = 1.5;
const REST = 32;

test('memory: a million distinct reads fit its bound', async (t) => {
  const program = fileURLToPath(new URL('./distinct-reads.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(BOUND)]);
  const { heap, during, resident, kept }: DistinctReads = JSON.parse(stdout);
  const [used, after, most] = [heap, resident, during].map(Math.round);
  t.diagnostic(`${used} MiB of heap, ${after} MiB resident, ${most} MiB before the collections`);
  assert.ok(resident < HOLES * BOUND + REST);
  assert.ok(heap < BOUND + 1);
  assert.ok(kept > BOUND - 1);
});
