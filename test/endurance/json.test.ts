// Strict JSON compared with JSON.parse, on thousands of random texts. NOTES_TEST_SEED=n repeats a
// run.
import { test } from 'node:test';
import {
  checkBytes,
  checkMutatedTexts,
  checkSpeed,
  checkTexts,
} from '../support/json-properties.ts';

const seed = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
const run = { seed, numRuns: 10_000 };

test('JSON: 10,000 generated texts', (t) => {
  t.diagnostic(`NOTES_TEST_SEED=${seed}`);
  checkTexts(run);
});

test('JSON: 10,000 mutated texts', () => checkMutatedTexts(run));

test('JSON: 10,000 texts of damaged bytes', () => checkBytes(run));

test('JSON: a mebibyte is judged within 500 ms', () => checkSpeed(1_048_576, 500));
