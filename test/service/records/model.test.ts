// Short games of random operations, the same in each run. Long ones of a random seed are in test/endurance/model.test.ts.
import { test } from 'node:test';
import { playClients, playRounds } from '../../support/model-games.ts';

const GAME = { seed: 16, operations: 300 };

test('model: random operations, with a restart', (t) => playRounds(t, { ...GAME, rounds: 2 }));

test('model: random operations of several clients', (t) => playClients(t, { ...GAME, clients: 6 }));
