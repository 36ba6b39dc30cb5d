// The metrics of the service, in the text format of Prometheus. Loaded only if metrics are enabled.
import { prometheusContentType, Registry } from 'prom-client';
import { BatchMetrics } from './batch-metrics.ts';
import { addCacheMetrics, type CacheSource } from './cache-metrics.ts';
import { addGauges, type GaugeSources } from './gauges.ts';
import { measureProcess } from './process.ts';
import { RequestMetrics } from './request-metrics.ts';
import { aggregate, type ShareMetrics, type Snapshot } from './snapshot.ts';

/** The media type of {@link Metrics.exposition}. */
export const EXPOSITION_TYPE: string = prometheusContentType;

/** The metrics of the service, counted from the moment of construction. */
export class Metrics {
  readonly #registry = new Registry();
  readonly requests = new RequestMetrics(this.#registry);
  readonly #batches = new BatchMetrics(this.#registry);
  readonly meters = this.#batches.meters;
  readonly #collect: () => Promise<readonly Snapshot[]>;
  readonly #stopMeasuring: () => void;
  #pending: Promise<string> | undefined;

  constructor(sources: GaugeSources & { readonly cache: CacheSource }, shareMetrics: ShareMetrics) {
    addCacheMetrics(this.#registry, sources.cache);
    addGauges(this.#registry, sources);
    this.#stopMeasuring = measureProcess(this.#registry);
    this.#collect = shareMetrics(() => this.#snapshot());
  }

  /** Resolves with the metrics of all processes as text. Concurrent calls share one reading. */
  exposition(): Promise<string> {
    this.#pending ??= this.#text().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Stops measuring the event loop. */
  close(): void {
    this.#stopMeasuring();
  }

  async #text(): Promise<string> {
    return aggregate(await this.#collect()).metrics();
  }

  async #snapshot(): Promise<Snapshot> {
    const histograms = [this.requests.histogram, ...this.#batches.histograms];
    return [
      ...histograms.map(({ snapshot }) => snapshot()),
      ...(await this.#registry.getMetricsAsJSON()),
    ];
  }
}
