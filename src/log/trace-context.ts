// Reads the trace context of a request (W3C Trace Context, level 1).
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Version, trace id, parent id and flags. Ids of zeros and version `ff` are invalid; versions after
 * `00` may append more fields.
 */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** Returns the trace id in `traceparent`; undefined if the field is missing or invalid. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
