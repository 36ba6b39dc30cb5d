// The figures of the README are the measurements in bench.json, which `npm run bench` writes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { root } from '../support/sources.ts';

const text = (path: string) => readFileSync(new URL(path, root), 'utf8');
const { machine, results } = JSON.parse(text('test/bench/bench.json'));

test('benchmark: the README has the table and the chart', async () => {
  const { ratioTable } = await import(new URL('test/bench/figures.mjs', root).href);
  const { chart } = await import(new URL('test/bench/chart.mjs', root).href);
  assert.ok(text('README.md').includes(ratioTable(results)), 'paste the table that npm run bench prints');
  assert.equal(text('test/bench/bench.svg'), chart(results));
  assert.ok(text('README.md').includes(`(test/bench/bench.svg)`));
});

test('benchmark: at least five rounds, on a supported Node', () => {
  assert.ok(results.length > 0);
  for (const { rate } of results) assert.ok(rate.length >= 5);
  assert.ok(Number(machine.node.slice(1).split('.')[0]) >= 20);
});
