// A strict parser of Prometheus' text exposition format 0.0.4.
import assert from 'node:assert/strict';

/** One value with its labels. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric with its samples. */
export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/y;

/** Asserts that `text` is well-formed and returns its metrics by name. */
export function parseExposition(text: string): Map<string, Family> {
  assert.match(text, /^# HELP .*\n$/s);
  const families = new Map<string, Family>();
  for (const part of text.split(/^# HELP /m).slice(1)) {
    const [, name = '', help = '', type = '', lines = ''] =
      /^(\S+) (.+)\n# TYPE \1 (\w+)\n(.*)$/s.exec(part) ?? assert.fail(part);
    assert.ok(!families.has(name), `${name} is declared twice`);
    const samples = lines
      .split('\n')
      .filter((line) => line !== '')
      .map(parseSample);
    const suffix = type === 'histogram' ? '_(?:bucket|sum|count)' : '';
    for (const sample of samples) assert.match(sample.name, new RegExp(`^${name}${suffix}$`));
    const series = samples.map((sample) =>
      JSON.stringify([sample.name, Object.entries(sample.labels).sort()]),
    );
    assert.equal(new Set(series).size, series.length, `${name} repeats a series`);
    if (type === 'histogram') assertHistogram(name, samples);
    families.set(name, { type, help, samples });
  }
  return families;
}

function parseSample(line: string): Sample {
  const [, name = '', inner = '', value] = SAMPLE.exec(line) ?? assert.fail(line);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inner.length) {
    const [, label = '', text = ''] = LABEL.exec(inner) ?? assert.fail(line);
    assert.ok(!(label in labels), line);
    labels[label] = text;
  }
  assert.ok(Number.isFinite(Number(value)), line);
  return { name, labels, value: Number(value) };
}

function assertHistogram(name: string, samples: readonly Sample[]): void {
  const counts = samples.filter((sample) => sample.name === `${name}_count`);
  assert.equal(
    samples.filter((sample) => sample.name === `${name}_sum`).length,
    counts.length,
    name,
  );
  for (const { labels, value } of counts) {
    const buckets = samples.filter(
      (sample) =>
        sample.name === `${name}_bucket` &&
        Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
    );
    const values = buckets.map((bucket) => bucket.value);
    assert.deepEqual(
      values,
      [...values].sort((one, other) => one - other),
      name,
    );
    assert.deepEqual([buckets.at(-1)?.labels.le, buckets.at(-1)?.value], ['+Inf', value], name);
  }
}

/** Returns the value of the one sample `name` whose labels include `labels`; 0 without a sample. */
export function sampleOf(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Sample['labels'] = {},
): number {
  const family = families.get(name.replace(/_(?:sum|count|bucket)$/, '')) ?? families.get(name);
  const found = family?.samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  assert.ok(found && found.length <= 1, `${name} ${found ? 'is ambiguous' : 'is missing'}`);
  return found[0]?.value ?? 0;
}

/** The name of the histogram of requests. */
export const REQUESTS = 'http_server_request_duration_seconds';

/** Returns how many requests were counted under these labels. */
export function counted(
  families: Map<string, Family>,
  method: string,
  route: string,
  status: number | '',
): number {
  const labels = {
    http_request_method: method,
    http_route: route,
    http_response_status_code: String(status),
  };
  return sampleOf(families, `${REQUESTS}_count`, labels);
}

/** Returns how many lookups in memory have found something, and how many have not. */
export function lookups(families: Map<string, Family>): [hits: number, misses: number] {
  const count = (result: string) => sampleOf(families, 'notes_cache_lookups_total', { result });
  return [count('hit'), count('miss')];
}
