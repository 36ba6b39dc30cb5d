// Reads request bodies within their limits.
import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';

/** The client disconnected before its request was complete or answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** This many chunks are joined into one: each keeps the buffer of a network read in memory. */
const MAX_CHUNKS = 256;

const NO_BYTES = Buffer.alloc(0);

/** Whether the request has a body (RFC 9112, section 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Whether all parsers agree on where the request ends. If not, the bytes after it must not be read
 * as the next request (RFC 9112, sections 6.1 and 11.2).
 */
export function hasUnambiguousEnd({ httpVersion, headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined
    ? httpVersion.startsWith('1.')
    : httpVersion === '1.1' && coding !== '';
}

/** Throws payload-too-large if the declared length exceeds `limitBytes`. */
export function checkDeclaredLength({ headers }: IncomingMessage, limitBytes: number): void {
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
}

/**
 * Returns the whole body, or its promise if it has not arrived yet. Calls `onReceived` after each
 * chunk with the number of bytes so far. Throws or rejects with payload-too-large beyond
 * `limitBytes`, with {@link ClientGone} if the connection closes first, and with any error that
 * `onReceived` throws.
 */
export function readBody(
  message: IncomingMessage,
  limitBytes: number,
  onReceived: (bytes: number) => void,
): Buffer | Promise<Buffer> {
  // Events and a promise would cost more time than the rest of the work on a small body.
  if (!message.complete) return receiveBody(message, limitBytes, onReceived);
  const bytes: Buffer = message.read() ?? NO_BYTES;
  if (bytes.length > limitBytes) throw tooLarge(limitBytes);
  onReceived(bytes.length);
  return bytes;
}

function receiveBody(
  message: IncomingMessage,
  limitBytes: number,
  onReceived: (bytes: number) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const joined: Buffer[] = [];
    let chunks: Buffer[] = [];
    let received = 0;

    function onData(chunk: Buffer): void {
      received += chunk.length;
      chunks.push(chunk);
      if (chunks.length === MAX_CHUNKS) {
        joined.push(Buffer.concat(chunks));
        chunks = [];
      }
      try {
        if (received > limitBytes) throw tooLarge(limitBytes);
        onReceived(received);
      } catch (error) {
        settle(() => reject(error));
      }
    }
    function onEnd(): void {
      const [only] = chunks;
      const isOne = only !== undefined && chunks.length === 1 && joined.length === 0;
      settle(() => resolve(isOne ? only : Buffer.concat([...joined, ...chunks], received)));
    }
    function onClose(): void {
      settle(() => reject(new ClientGone('the connection was closed in the middle of a body')));
    }
    function settle(complete: () => void): void {
      message.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      complete();
    }

    // If the client disconnected before this call, the message emits no further event.
    if (message.destroyed) onClose();
    else message.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function tooLarge(limitBytes: number): Problem {
  return new Problem('payload-too-large', `The body is larger than ${limitBytes} bytes.`);
}
