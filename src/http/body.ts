// Reads request bodies within their limits.
import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

/** The client disconnected before its request was complete or answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** How many chunks of a body are kept apart before they are copied into one. */
const MAX_CHUNKS = 256;

/** Whether the request has a body (RFC 9112, section 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Whether every parser agrees on where the request ends. If not, what follows may belong to it, and
 * must not be taken for the next request (RFC 9112, sections 6.1 and 11.2).
 */
export function hasSureEnd({ httpVersion, headers }: IncomingMessage): boolean {
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
 * Reads the whole body and calls `onReceived` with the number of bytes after each chunk. Rejects
 * with payload-too-large as soon as there are more than `limitBytes`, with {@link ClientGone} if
 * the connection closes first, and with what `onReceived` throws.
 */
export function readBody(
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
      // A chunk of one byte keeps the whole network read alive; a copy does not.
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
    function settle(outcome: () => void): void {
      message.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      outcome();
    }

    // The client may have disconnected while the guard was deciding; no event would follow.
    if (message.destroyed) onClose();
    else message.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function tooLarge(limitBytes: number): Problem {
  return new Problem('payload-too-large', `The body is larger than ${limitBytes} bytes.`);
}
