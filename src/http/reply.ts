// An answer as a value: handlers return it, and one function puts it on the wire.
import type { ServerResponse } from 'node:http';

/** An answer. `headers` is flat (name, value, name, value), in lower case, without content-length. */
export interface Reply {
  readonly status: number;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
}

const JSON_HEADERS = ['content-type', 'application/json'];
const TEXT_HEADERS = ['content-type', 'text/plain; charset=utf-8'];

/** The answer with `text`, which is JSON already. */
export function jsonReply(status: number, text: string, headers?: readonly string[]): Reply {
  return { status, headers: headers ? [...JSON_HEADERS, ...headers] : JSON_HEADERS, body: text };
}

/** The answer with `text`, which is plain. */
export function textReply(status: number, text: string, headers: readonly string[]): Reply {
  return { status, headers: [...TEXT_HEADERS, ...headers], body: text };
}

/** All headers of an answer: its own, and those that every answer carries. */
export function replyHeaders({ status, headers = [], body = '' }: Reply, requestId: string): string[] {
  const all = [...headers, 'x-request-id', requestId, 'x-content-type-options', 'nosniff'];
  if (status !== 204 && status !== 304) all.push('content-length', String(Buffer.byteLength(body)));
  return all;
}

/** Sends `reply` and ends the response. Node leaves the body out where the request was HEAD. */
export function sendReply(response: ServerResponse, reply: Reply, requestId: string): void {
  response.writeHead(reply.status, replyHeaders(reply, requestId));
  response.end(reply.body);
}
