// GET /metrics. It is loaded only if metrics are enabled.
import { prometheusContentType } from 'prom-client';
import { endpoint } from '../contract/endpoint.ts';
import type { Route } from '../http/route.ts';
import type { Metrics } from '../metrics/metrics.ts';

const HEADERS = ['content-type', prometheusContentType, 'cache-control', 'no-store'];

/** Returns the route that serves `metrics`. */
export function metricsRoute(metrics: Metrics): Route {
  return endpoint('GET', '/metrics', async () => ({
    status: 200,
    headers: HEADERS,
    body: await metrics.exposition(),
  }));
}
