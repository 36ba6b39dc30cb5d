// Gives the memory of large buffers back at once: nothing would make Node collect them soon.
import { MessageChannel } from 'node:worker_threads';

const { port1: closedPort } = new MessageChannel();
closedPort.close();

/** Empties a buffer that shares its memory with nobody, and frees it; does nothing for a text. */
export function discard(value: Buffer | string): void {
  if (typeof value === 'string') return;
  const { buffer, length } = value;
  if (length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  // What is transferred to nobody is freed.
  closedPort.postMessage(undefined, [buffer]);
}
