// Metrics of requests.
import type { Outcome } from '../http/route.ts';
import { Histogram, type Observe } from './histogram.ts';
import { labelsText, type Readings, type Series } from './snapshot.ts';

/** Upper bounds in seconds, as the conventions of OpenTelemetry recommend. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Methods with their own label value. Others share one, because clients can invent any number. */
const METHODS: ReadonlySet<string> = new Set(
  'CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '),
);
const OTHER_METHOD = '_OTHER';

type ByTemplate = Map<string | undefined, Map<string, Observe>>;

/** The metrics of the requests of this process. */
export class RequestMetrics {
  readonly #durations = new Histogram(BOUNDS);
  readonly #refusals: Series = {};
  /** The functions that observe the existing series, by status, path template and method. */
  readonly #observers = new Map<number | undefined, ByTemplate>();
  #active = 0;
  #streams = 0;
  readonly readings: Readings = {
    http_server_request_duration_seconds: () => this.#durations.read(),
    http_server_active_requests: () => this.#active,
    notes_streams_open: () => this.#streams,
    notes_http_refused_total: () => this.#refusals,
  };

  /** Counts a request as active, until {@link end}. */
  begin(): void {
    this.#active += 1;
  }

  /** Records a request that has ended, answered or not, or whose stream has begun or ended. */
  end(outcome: Outcome): void {
    if (outcome.stream === 'ended') this.#streams -= 1;
    else this.#active -= 1;
    if (outcome.stream === 'opened') this.#streams += 1;
    // The duration of a stream says nothing about the service.
    if (outcome.stream) return;
    this.#observerOf(outcome)(outcome.milliseconds / 1e3);
  }

  /** Counts an error response to input that is not a valid request. */
  recordRefusal(status: number): void {
    const series = labelsText({ http_response_status_code: status });
    this.#refusals[series] = (this.#refusals[series] ?? 0) + 1;
  }

  #observerOf({ method, template, status }: Outcome): Observe {
    const byTemplate: ByTemplate = this.#observers.get(status) ?? new Map();
    const byMethod = byTemplate.get(template) ?? new Map<string, Observe>();
    const name = METHODS.has(method) ? method : OTHER_METHOD;
    const known = byMethod.get(name);
    if (known) return known;
    const observe = this.#durations.addSeries({
      http_request_method: name,
      http_route: template ?? '',
      http_response_status_code: String(status ?? ''),
    });
    this.#observers.set(status, byTemplate.set(template, byMethod.set(name, observe)));
    return observe;
  }
}
