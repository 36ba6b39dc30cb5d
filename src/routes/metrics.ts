// GET /metrics, for Prometheus. Loaded only if metrics are enabled.
import { endpoint } from '../contract/endpoint.ts';
import type { Route } from '../http/route.ts';
import { EXPOSITION_TYPE, type Metrics } from '../metrics/metrics.ts';

const HEADERS = ['content-type', EXPOSITION_TYPE, 'cache-control', 'no-store'];

/** Returns the route that serves `metrics` in Prometheus' text format. */
export function metricsRoute(metrics: Metrics): Route {
  return endpoint('GET', '/metrics', async () => ({
    status: 200,
    headers: HEADERS,
    body: await metrics.exposition(),
  }));
}
