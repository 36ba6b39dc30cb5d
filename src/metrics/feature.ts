// The metrics at /metrics, in the text format of Prometheus.
import { endpoint } from '../contract/endpoint.ts';
import type { Feature } from '../feature.ts';
import { type MetricSources, Metrics } from './metrics.ts';
import type { ShareMetrics } from './snapshot.ts';

const HEADERS = [
  ...['content-type', 'text/plain; version=0.0.4; charset=utf-8'],
  ...['cache-control', 'no-store'],
];

/** The metrics. Batches must report to the `meters`. */
export function metrics(sources: MetricSources, shareMetrics: ShareMetrics) {
  const counted = new Metrics(sources, shareMetrics);
  const route = endpoint('GET', '/metrics', async () => ({
    status: 200,
    headers: HEADERS,
    body: await counted.exposition(),
  }));
  return {
    meters: counted.meters,
    routes: () => [route],
    onArrival: counted.beginRequest,
    onEnd: counted.endRequest,
    onKeysChanged: counted.forgetRemovedKeys,
    onRefused: (_, { status }) => counted.recordRefusal(status),
    close: () => counted.close(),
  } satisfies Feature & Pick<Metrics, 'meters'>;
}
