// The lines of the log about requests.
import type { IncomingHttpHeaders } from 'node:http';
import type { Feature } from '../feature.ts';
import type { Ending, Sender } from '../http/exchange.ts';
import type { Log } from './log.ts';

/** Ids of zeros and version `ff` are invalid; versions after `00` may append more fields. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

type ClientOf = (sender: Sender, key?: string) => string;

/** Logs all requests; `clientOf` returns what to call a client, by its key if it has one. */
export function requestLog(log: Log, clientOf: ClientOf): Feature {
  if (!log.writes('error')) return {};
  return {
    onEnd: (ending) => logEnding(log, ending, clientOf),
    onRefused(requestId, { status, cause }, sender) {
      log.write('warn', 'refused', {
        request_id: requestId,
        trace_id: traceIdOf(sender.headers),
        client: clientOf(sender),
        status,
        reason: cause,
      });
    },
  };
}

function logEnding(log: Log, ending: Ending, clientOf: ClientOf): void {
  const { exchange, status = 0, milliseconds, stream } = ending;
  const { requestId, message, headers, template, error, reason } = exchange;
  const failed = status === 500 || error !== undefined;
  const level = failed ? 'error' : status >= 400 ? 'warn' : 'info';
  if (!log.writes(level)) return;
  log.write(level, stream ? `stream ${stream}` : 'request', {
    request_id: requestId,
    trace_id: traceIdOf(headers),
    client: clientOf(message, exchange.admission.key?.label),
    method: message.method,
    route: template,
    status: ending.status,
    ms: Math.round(milliseconds * 1_000) / 1_000,
    ids: writtenIds(exchange),
    ...exchange.logged,
    error,
    reason,
  });
}

/** Returns the ids in the path of a write that was carried out, and those that it has created. */
function writtenIds({ template = '', pathValues, createdIds }: Ending['exchange']) {
  if (!createdIds) return undefined;
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const inPath = names.map((name, index) => [name, Number(pathValues[index])] as const);
  // A name is no id.
  const isId = ([, id]: readonly [string, number]) => !Number.isNaN(id);
  const ids = { ...Object.fromEntries(inPath.filter(isId)), ...createdIds };
  return Object.keys(ids).length > 0 ? ids : undefined;
}

/** Returns the trace id in `traceparent`; undefined if the field is missing or invalid. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
