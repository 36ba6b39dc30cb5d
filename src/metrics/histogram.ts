// A histogram with cheap observations. That of prom-client builds a key from the labels for every
// value; here a series is looked up once. prom-client still aggregates and formats the counts.

/** Adds a value to a series. */
export type Observe = (value: number) => void;

/** A histogram. */
export interface Histogram {
  /** Adds a series with these labels, which must be new; returns the function that observes. */
  begin(labels: Readonly<Record<string, string>>): Observe;
  /** Returns the metric in the JSON format of prom-client. */
  snapshot(): object;
}

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** The number of values in each bucket, not cumulative; the last bucket has no upper bound. */
  readonly counts: Float64Array;
  sum: number;
}

/** Creates a histogram without series. `bounds` are the upper bounds of its buckets, ascending. */
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
