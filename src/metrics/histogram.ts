// A histogram in which no value needs a look-up by labels: each series has its own function.
import { labelsText, type Series } from './snapshot.ts';

/** Adds a value to a series. */
export type Observe = (value: number) => void;

/** A histogram; `bounds` are the inclusive upper bounds of the buckets, ascending. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #all: { labels: Record<string, string>; counts: Float64Array; sum: number }[] = [];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  /** Adds a series with these labels, which must be new; returns a function that adds to it. */
  addSeries(labels: Record<string, string>): Observe {
    // Not cumulative; the last bucket has no upper bound.
    const counts = new Float64Array(this.#bounds.length + 1);
    const series = { labels, counts, sum: 0 };
    this.#all.push(series);
    const bounds = this.#bounds;
    return (value) => {
      let bucket = 0;
      while (value > (bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      series.sum += value;
    };
  }

  /** Returns the cumulative buckets, the sum and the count of each series. */
  read(): Series {
    const values: Series = {};
    for (const { labels, counts, sum } of this.#all) {
      let count = 0;
      for (const [bucket, each] of counts.entries()) {
        count += each;
        const le = this.#bounds[bucket] ?? '+Inf';
        values[`_bucket${labelsText({ ...labels, le })}`] = count;
      }
      values[`_sum${labelsText(labels)}`] = sum;
      values[`_count${labelsText(labels)}`] = count;
    }
    return values;
  }
}
