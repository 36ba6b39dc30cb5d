// Long games of random operations. NOTES_TEST_SEED=N repeats the games of seed N.
import { test } from 'node:test';
import { playRounds } from '../support/model-games.ts';

const seed = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
const GAME = { seed, operations: 5_000 };
console.log(`model: NOTES_TEST_SEED=${seed}`);

test('model: 5,000 random operations, with restarts', (t) =>
  playRounds(t, { ...GAME, rounds: 10 }));
