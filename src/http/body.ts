// Reading a request's body within its limit, and getting rid of one that nobody wants.
import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

/** The client went away before its request was complete: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** How long, and for how many bytes, a refused body is read away so that its sender gets to read the answer. */
const DRAIN_MS = 500;
const DRAIN_BYTES = 67_108_864;

/** How many chunks of a body are kept apart before they are copied into one. */
const CHUNKS_TOGETHER = 256;

/** Whether the request says that it has a body (RFC 9112, section 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Whether everybody agrees on where the request ends. Where not, what follows may be a part of it, and must not be taken
 * for the next one (RFC 9112, sections 6.1 and 11.2).
 */
export function hasSureEnd({ httpVersion, headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined ? httpVersion.startsWith('1.') : httpVersion === '1.1' && coding !== '';
}

/** Throws payload-too-large if the declared length is over `limitBytes`; nothing has been read then. */
export function checkDeclaredLength({ headers }: IncomingMessage, limitBytes: number): void {
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
}

/**
 * Reads the whole body, counting. Rejects with payload-too-large as soon as it is over `limitBytes`, with
 * {@link ClientGone} if it ends before its declared end, and with what `onReceived` throws, which is told the count.
 */
export function readBody(
  message: IncomingMessage,
  limitBytes: number,
  onReceived: (bytes: number) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let small: Buffer[] = [];
    let received = 0;

    function onData(chunk: Buffer): void {
      received += chunk.length;
      small.push(chunk);
      // A chunk of one byte holds on to the whole read it came with: together and copied they cost what they hold.
      if (small.length === CHUNKS_TOGETHER) gather();
      try {
        if (received > limitBytes) throw tooLarge(limitBytes);
        onReceived(received);
      } catch (error) {
        settle(() => reject(error));
      }
    }
    function gather(): void {
      chunks.push(Buffer.concat(small));
      small = [];
    }
    function onEnd(): void {
      const [first] = small;
      const whole = first && small.length === 1 && chunks.length === 0;
      settle(() => resolve(whole ? first : Buffer.concat([...chunks, ...small], received)));
    }
    function onClose(): void {
      settle(() => reject(new ClientGone('the connection was closed in the middle of a body')));
    }
    function settle(outcome: () => void): void {
      message.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      outcome();
    }

    // Whoever went while the guard was waiting has been heard of already.
    if (message.destroyed) onClose();
    else message.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

/** Reads the rest of a refused body away, for a bounded time and size; calls `done` once, when the sender has stopped. */
export function drain(message: IncomingMessage, done: () => void): void {
  if (message.complete) {
    done();
    return;
  }
  let drained = 0;
  const timer = setTimeout(finish, DRAIN_MS);
  function onData(chunk: Buffer): void {
    drained += chunk.length;
    if (drained > DRAIN_BYTES) finish();
  }
  function finish(): void {
    clearTimeout(timer);
    message.off('data', onData).off('end', finish).off('close', finish);
    done();
  }
  message.on('data', onData).on('end', finish).on('close', finish);
}

function tooLarge(limitBytes: number): Problem {
  return new Problem('payload-too-large', `The body is larger than ${limitBytes} bytes.`);
}
