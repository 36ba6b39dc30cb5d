// The steps of the search index, with a stand-in for the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStepReader, SEARCHABLE } from '../../src/search/steps.ts';

test('search index: other events take turns with the texts of a step', async () => {
  const text = 'lorem ipsum dolor '.repeat(220);
  const texts = Array.from({ length: 250 }, (_, index) => [index + 1, ['title', text]]);
  const position = { number: 0, id: null, last: 250, reaches: 1 };
  const work = { latest: 250, size: 250 * text.length, backlog: 250 * text.length, is_full: 0 };
  const row = { ...position, ...work, records: JSON.stringify(texts) };
  const [resource] = SEARCHABLE;
  assert.ok(resource);
  const readStep = createStepReader(resource, { read: async () => [row] });
  let turns = 0;
  let isDone = false;
  const countTurns = () => {
    turns += 1;
    if (!isDone) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const { step } = await readStep();
  isDone = true;
  assert.equal(step?.rows.length, 250);
  assert.ok(turns > 1, `${turns} turns`);
});
