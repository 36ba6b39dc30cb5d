// A histogram that is cheap to observe. prom-client's own builds a key from the labels for every
// value; here a series is looked up once. prom-client still aggregates and writes the counts.

/** Counts a value in a series. */
export type Observe = (value: number) => void;

/** A histogram. */
export interface Histogram {
  /** Begins the series of these labels, which must be new, and returns what counts in it. */
  begin(labels: Readonly<Record<string, string>>): Observe;
  /** Returns the counts in the JSON form of prom-client's registries. */
  snapshot(): object;
}

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /**
   * The values in each bucket: above the bound before it, up to its own; the last one has no bound.
   */
  readonly counts: Float64Array;
  sum: number;
}

/**
 * Returns a histogram without series, with a bucket up to each of the rising `bounds` and one for
 * all.
 */
export function createHistogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const all: Series[] = [];

  return {
    begin(labels) {
      const series: Series = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 };
      all.push(series);
      const { counts } = series;
      return (value) => {
        let bucket = 0;
        while (value > (bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
        counts[bucket] = (counts[bucket] ?? 0) + 1;
        series.sum += value;
      };
    },

    snapshot: () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: all.flatMap((series) => samplesOf(name, bounds, series)),
    }),
  };
}

function samplesOf(name: string, bounds: readonly number[], { labels, counts, sum }: Series) {
  let count = 0;
  const buckets = [...counts].map((each, bucket) => {
    count += each;
    return {
      metricName: `${name}_bucket`,
      labels: { ...labels, le: bounds[bucket] ?? '+Inf' },
      value: count,
    };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
