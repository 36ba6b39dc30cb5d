// Metrics of requests, named by the semantic conventions of OpenTelemetry where these have a name.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Outcome } from '../http/route.ts';
import { createHistogram, type Histogram, type Observe } from './histogram.ts';

/** Upper bounds in seconds, from the conventions. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Methods with their own label. Others share one, because clients can invent any number. */
const METHODS: ReadonlySet<string> = new Set(
  'CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '),
);
const OTHER_METHOD = '_OTHER';

/** The metrics of the requests of this process. */
export class RequestMetrics {
  readonly histogram: Histogram = createHistogram(
    'http_server_request_duration_seconds',
    'Duration of requests until the answer was sent; no status if the client had disconnected.',
    BUCKETS,
  );
  readonly #refusals: Counter;
  /** The existing series by status, path template and method. */
  readonly #series = new Map<number | undefined, Map<string | undefined, Map<string, Observe>>>();
  #active = 0;

  constructor(registry: Registry) {
    const registers = [registry];
    const active = () => this.#active;
    new Gauge({
      name: 'http_server_active_requests',
      help: 'Requests in progress.',
      registers,
      collect() {
        this.set(active());
      },
    });
    this.#refusals = new Counter({
      name: 'notes_http_refused_total',
      help: 'Error responses to input that is not a valid request: malformed, too large or late.',
      labelNames: ['http_response_status_code'],
      registers,
    });
  }

  /** Call it when a request arrives; {@link ended} must follow. */
  begun(): void {
    this.#active += 1;
  }

  /** Call it when a request has been answered. */
  ended(outcome: Outcome): void {
    this.#active -= 1;
    this.#seriesOf(outcome)(outcome.milliseconds / 1e3);
  }

  /** Call it when input that is not a valid request was answered with `status`. */
  refused(status: number): void {
    this.#refusals.inc({ http_response_status_code: status });
  }

  #seriesOf({ method, template, status }: Outcome): Observe {
    const ofStatus =
      this.#series.get(status) ?? new Map<string | undefined, Map<string, Observe>>();
    const ofTemplate = ofStatus.get(template) ?? new Map<string, Observe>();
    const name = METHODS.has(method) ? method : OTHER_METHOD;
    const known = ofTemplate.get(name);
    if (known) return known;
    const begun = this.histogram.begin({
      http_request_method: name,
      http_route: template ?? '',
      http_response_status_code: String(status ?? ''),
    });
    this.#series.set(status, ofStatus.set(template, ofTemplate.set(name, begun)));
    return begun;
  }
}
