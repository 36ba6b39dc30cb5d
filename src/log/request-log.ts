// Writes the log lines of requests, with the trace that each belongs to (W3C Trace Context).
import type { IncomingHttpHeaders } from 'node:http';
import type { Problem } from '../http/problem.ts';
import type { Outcome } from '../http/route.ts';
import type { Log } from './log.ts';

/** Ids of zeros and version `ff` are invalid; versions after `00` may append more fields. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** Logs the outcome of a request. `client` is the name of its client in the log. */
export function logOutcome(
  log: Log,
  outcome: Outcome,
  client: string,
  headers: IncomingHttpHeaders,
): void {
  const { requestId, method, template, status = 0, milliseconds, stream, error, reason } = outcome;
  const failed = status === 500 || error !== undefined;
  log.write(failed ? 'error' : levelOf(status), stream ? `stream ${stream}` : 'request', {
    request_id: requestId,
    trace_id: traceIdOf(headers),
    client,
    method,
    route: template,
    status: outcome.status,
    ms: Math.round(milliseconds * 1_000) / 1_000,
    error,
    reason,
  });
}

/** Logs the error response to input that is not a valid request. */
export function logRefusal(
  log: Log,
  requestId: string,
  { status, cause }: Problem,
  client: string,
  headers: IncomingHttpHeaders,
): void {
  log.write(levelOf(status), 'refused', {
    request_id: requestId,
    trace_id: traceIdOf(headers),
    client,
    status,
    reason: cause,
  });
}

function levelOf(status: number): 'warn' | 'info' {
  return status >= 400 ? 'warn' : 'info';
}

/** Returns the trace id in `traceparent`; undefined if the field is missing or invalid. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
