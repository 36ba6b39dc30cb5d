// A histogram with cheap observations: prom-client's own builds a key from the labels for every
// value, this one has a function for each series. prom-client aggregates and formats the counts.

/** Adds a value to a series. */
export type Observe = (value: number) => void;

/** A histogram, which has no series at first. */
export interface Histogram {
  /** Adds a series with these labels, which must be new; returns a function that adds to it. */
  addSeries(labels: Readonly<Record<string, string>>): Observe;
  /** Returns the metric in the JSON format of prom-client. */
  snapshot(): object;
}

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** The number of values in each bucket, not cumulative; the last bucket has no upper bound. */
  readonly counts: Float64Array;
  sum: number;
}

/** Creates a histogram. `bounds` are the inclusive upper bounds of its buckets, ascending. */
export function createHistogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const all: Series[] = [];

  return {
    addSeries(labels) {
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
