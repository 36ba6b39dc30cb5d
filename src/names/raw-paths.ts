// Names that arrive as raw bytes of UTF-8, as curl sends `Küche.md`. The parser of Node refuses
// them, and cannot go on. So the connection gets a new socket, and with it a new parser, which
// reads the request line once more, percent-encoded. This takes an idle connection, and a packet
// that begins with the line: otherwise, such a name is refused.
import { Socket } from 'node:net';
import { nextTick } from 'node:process';
import { HTTP_LIMITS } from '../http/limits.ts';
import type { Mend } from '../http/route.ts';

const LINE_FEED = 0x0a;

/** The beginning of a request line, up to raw bytes. */
const NAMED_LINE = /^(?:GET|HEAD|PUT|PATCH|POST|DELETE|OPTIONS) \/named\/[^ ?]*$/;

/** The part of a socket in Node that reads and writes. */
interface Handle {
  reading: boolean;
  readStop(): void;
}

/** Reads a request line with raw bytes once more. */
export const mendRawPath: Mend = (fault, socket, accept) => {
  const { code, rawPacket, bytesParsed = 0 } = fault;
  if (code !== 'HPE_INVALID_URL' || !rawPacket || Number(rawPacket[bytesParsed]) < 0x80)
    return false;
  const handle: Handle | null | undefined = Reflect.get(socket, '_handle');
  if (!handle || !(socket instanceof Socket)) return false;
  if (!NAMED_LINE.test(rawPacket.toString('latin1', 0, bytesParsed))) return false;
  let bytes = rawPacket;
  const pass = () => {
    if (socket.destroyed) return;
    const mended = successorOf(socket, handle);
    mended.unshift(encodePath(bytes));
    // Both at once would count as two connections.
    socket.once('close', () => accept(mended)).destroy();
  };
  const readLine = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    // A line that is too long is refused before its end.
    if (bytes.includes(LINE_FEED) || bytes.length > HTTP_LIMITS.headerBytes) pass();
  };
  nextTick(() => {
    if (socket.destroyed) return;
    // Detaches the parser. Before its listener, because that would close the connection.
    socket.removeAllListeners('data').on('data', readLine).prependListener('end', pass);
    readLine(Buffer.alloc(0));
  });
  return true;
};

/** Returns a new socket with the connection of another one, which is left without it. */
function successorOf(socket: Socket, handle: Handle): Socket {
  handle.readStop();
  handle.reading = false;
  const options = { handle, allowHalfOpen: true };
  const successor = new Socket(options);
  // The server waits for the sockets that it counts.
  Reflect.set(successor, '_server', Reflect.get(socket, '_server'));
  for (const name of ['_server', '_handle']) Reflect.set(socket, name, null);
  return successor;
}

/** Percent-encodes the raw bytes in the path of the first request line. */
function encodePath(bytes: Buffer): Buffer {
  const [path = ''] = /^[A-Z]+ [^ ?\n]*/.exec(bytes.toString('latin1')) ?? [];
  const encoded = path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  return Buffer.concat([Buffer.from(encoded), bytes.subarray(path.length)]);
}
