// Sends replies that last, such as server-sent events.
import type { ServerResponse } from 'node:http';
import type { Chunk } from './reply.ts';

/** A client that has left this much unread is disconnected. */
const MAX_UNREAD_BYTES = 1_048_576;

/** Sends a stream, and ends early if the client leaves, does not read, or sends another request. */
export async function sendChunks(
  response: ServerResponse,
  stream: AsyncIterable<Chunk>,
): Promise<void> {
  const { socket } = response;
  // A connection is paused while a request waits on it, and would hide that the client leaves.
  if (socket?.isPaused()) response.destroy();
  else socket?.once('pause', () => response.destroy());
  try {
    for await (const { bytes, hasMore } of stream) {
      if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
      if (response.destroyed) return;
      response.write(bytes);
      // Without the second condition, a client could never get past a chunk of this length.
      if (hasMore || bytes.length > MAX_UNREAD_BYTES) await drained(response);
    }
  } finally {
    response.end();
  }
}

function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
  });
}
