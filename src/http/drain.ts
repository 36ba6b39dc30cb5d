// Discards request bodies that nobody wants, so that their senders can read the answer.
import type { IncomingMessage } from 'node:http';

/** How long, and for how many bytes, a body is discarded. */
const DRAIN_MS = 500;
const DRAIN_BYTES = 67_108_864;

/** Discards the rest of a refused body, bounded in time and size; calls `done` once, at its end. */
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
