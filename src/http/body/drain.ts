// Discards the rest of refused bodies, because many clients send everything before they read.
import type { IncomingMessage } from 'node:http';

const MAX_DRAIN_MS = 500;
const MAX_DRAIN_BYTES = 67_108_864;

/** Discards the rest of a body until its end or a limit, then calls `done` once. */
export function drain(message: IncomingMessage, done: () => void): void {
  if (message.complete) {
    done();
    return;
  }
  let drained = 0;
  const timer = setTimeout(finish, MAX_DRAIN_MS);
  function onData(chunk: Buffer): void {
    drained += chunk.length;
    if (drained > MAX_DRAIN_BYTES) finish();
  }
  function finish(): void {
    clearTimeout(timer);
    message.off('data', onData).off('end', finish).off('close', finish);
    done();
  }
  message.on('data', onData).on('end', finish).on('close', finish);
}
