// Checks of the primitives that have been seen to fail: each is made with the primitives as they are and once more for
// every slip that it is to find, which is the compiled module with one piece of it changed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Puppets, startPuppets } from './puppets.ts';

const SYNC = new URL('../../src/concurrency/sync.js', import.meta.url);

/** No check takes a tenth of this, unless a thread runs in circles. */
const LIMIT = { timeout: 120_000 };

/** A mistake that one could make in the primitives, and how the check fails that finds it. */
export interface Slip {
  readonly name: string;
  /** A piece of the compiled module, which stands there once, and what it becomes. */
  readonly from: string;
  readonly to: string;
  readonly found: RegExp;
}

/** Returns a slip. */
export function slip(name: string, from: string, to: string, found: RegExp): Slip {
  return { name, from, to, found };
}

/** Makes a test of a check with `size` threads, and one for each slip, with which the check must fail. */
export function check(
  title: string,
  size: number,
  body: (puppets: Puppets) => Promise<void>,
  slips: readonly Slip[] | undefined = [],
): void {
  test(title, LIMIT, async (t) => body(await startPuppets(t, size, SYNC.href)));
  for (const { name, from, to, found } of slips) {
    test(`${title}; the check finds ${name}`, LIMIT, async (t) => {
      const puppets = await startPuppets(t, size, moduleWith(from, to));
      await assert.rejects(body(puppets), found);
    });
  }
}

/** Returns the numbers from 0 to below `count`. */
export function upTo(count: number): number[] {
  return [...Array(count).keys()];
}

function moduleWith(from: string, to: string): string {
  // Without its map, which would be looked for beside it.
  const text = readFileSync(SYNC, 'utf8').replace(/^\/\/# sourceMappingURL.*$/m, '');
  assert.equal(text.split(from).length, 2, `the compiled module is to have this once: ${from}`);
  return `data:text/javascript,${encodeURIComponent(text.replace(from, () => to))}`;
}
