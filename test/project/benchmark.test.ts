// What the README says of speed is what was measured: bench.json, which `npm run bench` writes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);
const text = (path: string) => readFileSync(fileURLToPath(new URL(path, root)), 'utf8');
const { machine, results } = JSON.parse(text('test/bench/bench.json'));

test('the table and the picture of the README are those of the figures', async () => {
  const { ratioTable } = await import(new URL('test/bench/figures.mjs', root).href);
  const { chart } = await import(new URL('test/bench/chart.mjs', root).href);
  assert.ok(text('README.md').includes(ratioTable(results)), 'paste the table that npm run bench prints');
  assert.equal(text('test/bench/bench.svg'), chart(results));
  assert.ok(text('README.md').includes(`(test/bench/bench.svg)`));
});

test('the figures are medians of five rounds at least, on the oldest Node that is supported or a later one', () => {
  assert.ok(results.length > 0);
  for (const { rate } of results) assert.ok(rate.length >= 5);
  assert.ok(Number(machine.node.slice(1).split('.')[0]) >= 20);
});
