// The picture of the README and the figures of the guide are the measurements in bench.json, which
// `npm run bench` writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { root } from '../support/sources.ts';
import { guide, textOf } from './documents.ts';

/** Those of the picture. */
const CONNECTIONS = 64;

const { machine, results } = JSON.parse(textOf('test/bench/bench.json'));
const { ratioTable } = await import(new URL('test/bench/figures.mjs', root).href);
const { chart } = await import(new URL('test/bench/chart.mjs', root).href);
const lines: readonly string[] = ratioTable(results).split('\n');

test('benchmark: the guide has the table', () => {
  assert.ok(
    guide('benchmarks').includes(`\n\n${lines.join('\n')}\n\n`),
    'paste the table that npm run bench prints',
  );
});

test('benchmark: the README has the picture', () => {
  assert.equal(textOf('test/bench/bench.svg'), chart(results, CONNECTIONS));
  assert.ok(textOf('README.md').includes('(test/bench/bench.svg)'));
});

test('benchmark: at least five rounds, on a supported Node', () => {
  assert.ok(results.length > 0);
  for (const { rate } of results) assert.ok(rate.length >= 5);
  assert.ok(Number(machine.node.slice(1).split('.')[0]) >= 20);
});
