// The histogram: which value counts in which bucket, and that series are separate.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHistogram } from '../../src/metrics/histogram.ts';

/** Returns the samples as `name{labels}`: value. */
function samplesOf(snapshot: object): Record<string, number> {
  const { values } = snapshot as {
    values: { metricName: string; labels: object; value: number }[];
  };
  return Object.fromEntries(
    values.map(({ metricName, labels, value }) => [
      `${metricName}${JSON.stringify(labels)}`,
      value,
    ]),
  );
}

test('histogram: buckets are cumulative, with inclusive upper bounds', () => {
  const { addSeries, snapshot } = createHistogram('h', 'help', [0.5, 1, 2]);
  const observe = addSeries({ a: 'x' });
  for (const value of [0, 0.5, 0.75, 1, 1.5, 2, 3]) observe(value);
  assert.deepEqual(samplesOf(snapshot()), {
    'h_bucket{"a":"x","le":0.5}': 2,
    'h_bucket{"a":"x","le":1}': 4,
    'h_bucket{"a":"x","le":2}': 6,
    'h_bucket{"a":"x","le":"+Inf"}': 7,
    'h_sum{"a":"x"}': 8.75,
    'h_count{"a":"x"}': 7,
  });
});

test('histogram: each series counts separately, from zero', () => {
  const { addSeries, snapshot } = createHistogram('h', 'help', [1]);
  assert.deepEqual(samplesOf(snapshot()), {});
  addSeries({ a: 'x' });
  addSeries({ a: 'y' })(5);
  const counts = Object.entries(samplesOf(snapshot())).filter(([name]) =>
    name.startsWith('h_count'),
  );
  assert.deepEqual(Object.fromEntries(counts), { 'h_count{"a":"x"}': 0, 'h_count{"a":"y"}': 1 });
});
