// The histogram: which value counts in which bucket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../src/metrics/snapshot.ts';

test('histogram: buckets are cumulative, with inclusive upper bounds', () => {
  const histogram = new Histogram([0.5, 1, 2]);
  assert.deepEqual(histogram.read(), {});
  const observe = histogram.addSeries({ a: 'x' });
  for (const value of [0, 0.5, 0.75, 1, 1.5, 2, 3]) observe(value);
  assert.deepEqual(histogram.read(), {
    '_bucket{a="x",le="0.5"}': 2,
    '_bucket{a="x",le="1"}': 4,
    '_bucket{a="x",le="2"}': 6,
    '_bucket{a="x",le="+Inf"}': 7,
    '_sum{a="x"}': 8.75,
    '_count{a="x"}': 7,
  });
});
