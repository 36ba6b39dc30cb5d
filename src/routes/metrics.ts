// GET /metrics, for Prometheus.
import { endpoint } from '../contract/endpoint.ts';
import type { Route } from '../http/route.ts';
import type { Metrics } from '../metrics/metrics.ts';

const TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const HEADERS = ['content-type', TYPE, 'cache-control', 'no-store'];

/** Returns the route that serves `metrics` in Prometheus' text format. */
export function metricsRoute(metrics: Metrics): Route {
  return endpoint('GET', '/metrics', async () => ({
    status: 200,
    headers: HEADERS,
    body: await metrics.exposition(),
  }));
}
