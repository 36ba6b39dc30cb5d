// When the clock counts as set forward.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyClock } from '../../src/retries/feature.ts';

const DAY_MS = 86_400_000;

test('keys: a clock that is set during a transaction is corrected in the next one', (t) => {
  const clock = new KeyClock();
  assert.deepEqual(clock.begin(), []);
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() + DAY_MS);
  clock.end({ isDurable: true });
  const [correction] = clock.begin();
  assert.ok(Math.abs(Number(correction?.parameter) - DAY_MS) < 10_000);
  clock.end({ isDurable: false });
  assert.equal(clock.begin().length, 1);
  clock.end({ isDurable: true });
  assert.deepEqual(clock.begin(), []);
});
