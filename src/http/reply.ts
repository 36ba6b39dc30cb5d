// Replies as values: handlers return them, and the functions below send them.
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { nextTick } from 'node:process';
import { pipeline } from 'node:stream';
import { HTTP_LIMITS } from './limits.ts';
import type { Slices } from './turns.ts';

/** Ids by the names of path parameters; of several consecutive ones, the first and the last. */
export type WrittenIds = Readonly<Record<string, number | readonly [first: number, last: number]>>;

/** A reply. `headers` is flat (name, value, name, value), in lower case, without content-length. */
export interface Reply {
  readonly status: number;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  /** Sent instead of `body`, in parts: joining them would take as much memory again. */
  readonly large?: readonly Buffer[];
  /** Sent instead of `body`, as long as it lasts. If it fails, the response is cut off. */
  readonly stream?: AsyncGenerator<Chunk>;
  /** For the log. */
  readonly createdIds?: WrittenIds | undefined;
  /** More members of the line in the log. */
  readonly logged?: Readonly<Record<string, string>>;
}

/** A part of a stream. */
export interface Chunk {
  readonly bytes: Buffer;
  /** Whether the next chunk is ready, so that the client sets the pace. */
  readonly hasMore: boolean;
}

/** A client that has left this much unread is disconnected. */
const MAX_UNREAD_BYTES = 1_048_576;

/** Returns a reply whose body is `json`, a JSON text. */
export function jsonReply(
  status: number,
  json: string | readonly Buffer[],
  headers: readonly string[] = [],
  createdIds?: WrittenIds,
): Reply {
  const all = ['content-type', 'application/json', ...headers];
  if (typeof json === 'string') return { status, headers: all, body: json, createdIds };
  return { status, headers: all, large: json };
}

/** Returns the length of a body, without that of a stream. */
export function bodyLength({ body = '', large }: Reply): number {
  return large?.reduce((sum, { length }) => sum + length, 0) ?? Buffer.byteLength(body);
}

/** Returns the headers of a reply with those that every reply has. */
export function replyHeaders(reply: Reply, requestId: string, length = bodyLength(reply)) {
  const { status, headers = [], stream } = reply;
  const others = ['x-request-id', requestId, 'x-content-type-options', 'nosniff'];
  if (status === 204 || status === 304 || stream) return [...headers, ...others];
  return [...headers, ...others, 'content-length', String(length)];
}

/** Sends `reply`, its parts in `slices`, and ends the response. Node omits the body for HEAD. */
export function sendReply(
  response: ServerResponse,
  reply: Reply,
  requestId: string,
  slices: Slices,
): void {
  const { body, large } = reply;
  const length = bodyLength(reply);
  response.writeHead(reply.status, replyHeaders(reply, requestId, length));
  if (body === undefined) {
    // If the client leaves, nothing is left to do.
    if (large && large.length > 1) pipeline(oneByOne(large, slices), response, () => {});
    else response.end(large?.[0]);
    return;
  }
  // Node writes Latin-1 faster than UTF-8, and ASCII is the same in both.
  response.write(body, length === body.length ? 'latin1' : 'utf8');
  // `end(body)` would write a second, empty piece, and Node would copy both.
  nextTick(() => response.end());
}

/** Yields parts when there is time for them, because the system copies each. */
async function* oneByOne(parts: readonly Buffer[], slices: Slices): AsyncGenerator<Buffer> {
  for (const part of parts) {
    yield part;
    await slices.next();
  }
}

/** Sends the head of the last reply of a connection. */
export function sendHead(response: ServerResponse, reply: Reply, requestId: string): void {
  response.writeHead(reply.status, [...replyHeaders(reply, requestId), 'connection', 'close']);
  // Otherwise Node would delay the head until the first chunk, or that of a HEAD until `end`.
  response.flushHeaders();
}

/** Sends a stream, and ends early if the client leaves or does not read. */
export async function sendChunks(
  response: ServerResponse,
  stream: AsyncIterable<Chunk>,
  onSent: (bytes: number) => void,
) {
  const closing = new AbortController();
  response.once('close', () => closing.abort());
  try {
    for await (const { bytes, hasMore } of stream) {
      if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
      if (response.destroyed) return;
      response.write(bytes);
      onSent(bytes.length);
      // Without the second condition, a client could never get past a chunk of this length.
      if (response.writableNeedDrain && (hasMore || bytes.length > MAX_UNREAD_BYTES)) {
        const late = setTimeout(() => response.destroy(), HTTP_LIMITS.chunkMs);
        await once(response, 'drain', { signal: closing.signal }).catch(() => {});
        clearTimeout(late);
      }
    }
  } catch (error) {
    cutOff(response);
    throw error;
  } finally {
    response.end();
  }
}

/** Ends a response so that the client sees that it is incomplete. */
function cutOff(response: ServerResponse): void {
  const { socket } = response;
  // For HTTP/1.0, only a reset differs from the end; but a Unix socket has none.
  if (socket?.remoteAddress === undefined) response.destroy();
  else {
    // It would wait for what still arrives.
    socket.destroySoon = () => socket.destroy();
    socket.resetAndDestroy();
  }
}
