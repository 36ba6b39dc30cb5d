// Counts requests, under the names of OpenTelemetry's semantic conventions where they have one.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Outcome } from '../http/route.ts';
import { createHistogram, type Histogram, type Observe } from './histogram.ts';

/** Upper bounds in seconds, as the conventions give them. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The methods that have a label of their own; clients could make up any number of others. */
const METHODS: ReadonlySet<string> = new Set(
  'CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '),
);
const OTHER_METHOD = '_OTHER';

/** The requests of this process. */
export class RequestMetrics {
  readonly histogram: Histogram = createHistogram(
    'http_server_request_duration_seconds',
    'Duration of requests until their answer was handed over; without a status where the client had disconnected.',
    BUCKETS,
  );
  readonly #refusals: Counter;
  /** The series so far, by status, path template and method. */
  readonly #series = new Map<number | undefined, Map<string | undefined, Map<string, Observe>>>();
  #active = 0;

  constructor(registry: Registry) {
    const registers = [registry];
    const active = () => this.#active;
    new Gauge({
      name: 'http_server_active_requests',
      help: 'Requests that have no answer yet.',
      registers,
      collect() {
        this.set(active());
      },
    });
    this.#refusals = new Counter({
      name: 'notes_http_refused_total',
      help: 'Answers to what never became a request: malformed, too large or late.',
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

  /** Call it when something that never became a request was answered with `status`. */
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
