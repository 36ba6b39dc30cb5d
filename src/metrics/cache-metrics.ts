// Metrics of the records and pages that are kept in memory.
import { Counter, Gauge, type Registry } from 'prom-client';

/** Counts lookups by their result; `bytes` is what the memory takes now. */
export type CacheSource = Readonly<Record<'hits' | 'misses' | 'bytes', number>>;

/** Adds the metrics of `cache` to `registry`. */
export function addCacheMetrics(registry: Registry, cache: CacheSource): void {
  const registers = [registry];
  new Counter({
    name: 'notes_cache_lookups_total',
    help: 'Records and pages that were found in memory (hit) or not (miss).',
    labelNames: ['result'],
    registers,
    collect() {
      this.reset();
      this.inc({ result: 'hit' }, cache.hits);
      this.inc({ result: 'miss' }, cache.misses);
    },
  });
  new Gauge({
    name: 'notes_cache_bytes',
    help: 'Memory that records and pages take.',
    registers,
    collect() {
      this.set(cache.bytes);
    },
  });
}
