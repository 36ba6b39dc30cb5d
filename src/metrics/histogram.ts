// A histogram that costs next to nothing to observe with. That of prom-client makes a text of the labels each time, which made
// reads 8 % slower; here a series is looked up once. prom-client adds and writes what has been counted.

/** Counts a value in a series. */
export type Observe = (value: number) => void;

/** A histogram. */
export interface Histogram {
  /** Begins the series of these labels, of which there must not be another, and returns what counts in it. */
  begin(labels: Readonly<Record<string, string>>): Observe;
  /** What has been counted, in the form that prom-client's registries have for JSON. */
  snapshot(): object;
}

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** How many values there were up to each bound and above the one before it; at last, above all. */
  readonly counts: Float64Array;
  sum: number;
}

/** Returns a histogram without series, with a bucket up to each of the rising `bounds` and one for all. */
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
    return { metricName: `${name}_bucket`, labels: { ...labels, le: bounds[bucket] ?? '+Inf' }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
