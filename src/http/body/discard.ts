// Gives the memory of large buffers back at once: nothing would make Node collect them soon.
import { MessageChannel } from 'node:worker_threads';

const { port1: closedPort } = new MessageChannel();
closedPort.close();

/** Frees the memory of a buffer that shares it with nobody; the buffer is empty afterwards. */
export function discard({ buffer, length }: Buffer): void {
  if (length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  // What is transferred to nobody is freed.
  closedPort.postMessage(undefined, [buffer]);
}
