// Writes the log lines of requests.
import type { Problem } from '../http/problem.ts';
import type { Outcome } from '../http/route.ts';
import type { Log } from './log.ts';

/** Logs the outcome of a request. `client` is the name of its client in the log. */
export function logOutcome(
  log: Log,
  outcome: Outcome,
  client: string,
  traceId: string | undefined,
): void {
  const { requestId, method, template, status, milliseconds, stream, error, reason } = outcome;
  const failed = status === 500 || error !== undefined;
  const event = stream ? `stream ${stream}` : 'request';
  log.write(failed ? 'error' : levelOf(status), event, {
    request_id: requestId,
    trace_id: traceId,
    client,
    method,
    route: template,
    status,
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
  traceId: string | undefined,
): void {
  log.write(levelOf(status), 'refused', {
    request_id: requestId,
    trace_id: traceId,
    client,
    status,
    reason: cause,
  });
}

function levelOf(status = 0): 'warn' | 'info' {
  return status >= 400 ? 'warn' : 'info';
}
