// Short games of random operations, the same in each run. Long ones of a random seed are in
// test/endurance/larger.test.ts.
import { test } from 'node:test';
import { playClients, playRounds } from '../../support/model-games.ts';

const SEED = 16;

test('model: random operations, with a restart', (t) =>
  playRounds(t, { seed: SEED, operations: 300, rounds: 2 }));

test('model: random operations of several clients', (t) =>
  playClients(t, { seed: SEED, operations: 300, clients: 4 }));
