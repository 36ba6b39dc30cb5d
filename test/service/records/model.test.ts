// A short game of random operations, the same in each run. Long ones of a random seed are among the
// endurance tests.
import { test } from 'node:test';
import { playRounds } from '../../support/model.ts';

test('model: random operations, with a restart', (t) =>
  playRounds(t, { seed: 16, operations: 300, rounds: 2 }));
