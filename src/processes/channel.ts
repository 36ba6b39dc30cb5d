// Calls between the processes of one service, over Node's IPC channel.
import { type BirpcReturn, createBirpc } from 'birpc';

/** An end of Node's IPC channel: `process` in a child, its cluster `Worker` in the parent. */
export interface Port {
  send?(message: object, handle: undefined, options: undefined, sent: () => void): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** The functions of the other end. A call rejects with the error of its function. */
export type Channel<Theirs extends object> = BirpcReturn<Theirs, object>;

/** Offers `ours` to the other end, and returns its functions. */
export function openChannel<Theirs extends object>(port: Port, ours: object): Channel<Theirs> {
  return createBirpc<Theirs, object>(ours, {
    // If sending fails, the other process is ending: the channel is closed, or this process ends.
    post: (message) => void port.send?.(message, undefined, undefined, () => {}),
    on: (listener) => void port.on('message', listener),
    // JSON has no errors, and the launcher explains some of them by their code.
    serialize: (sent) => ({ ...sent, e: sent.e && { message: sent.e.message, code: sent.e.code } }),
    deserialize: (received) => ({
      ...received,
      e: received?.e && Object.assign(new Error(received.e.message), received.e),
    }),
    // A process may wait long for the write lease.
    timeout: -1,
  });
}
