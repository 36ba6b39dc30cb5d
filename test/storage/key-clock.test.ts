// When the clock counts as set forward.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyClock } from '../../src/storage/batches/key-clock.ts';

const DAY_MS = 86_400_000;

test('keys: a clock that is set during a transaction is corrected in the next one', (t) => {
  const clock = new KeyClock();
  assert.deepEqual(clock.corrections(), []);
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() + DAY_MS);
  clock.accept();
  const [correction] = clock.corrections();
  assert.ok(Math.abs(Number(correction?.parameter) - DAY_MS) < 10_000);
  // The transaction may have failed.
  assert.equal(clock.corrections().length, 1);
  clock.accept();
  assert.deepEqual(clock.corrections(), []);
});
