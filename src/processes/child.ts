// Starts one of the processes that serve, for the supervisor.
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { Channel } from './channel.ts';
import type { MemberFunctions, SupervisorFunctions } from './protocol.ts';

/** A process that the supervisor has started. */
export interface Child {
  readonly pid: number | undefined;
  readonly channel: Channel<MemberFunctions>;
  /** Resolves when the process can be called, or has ended. */
  readonly ready: Promise<void>;
  /** Resolves with the exit status, the signal or the start error when the process has ended. */
  readonly ended: Promise<number | string>;
  /** Ends the process at once. */
  readonly kill: () => void;
}

/**
 * Starts a process and offers it `functions`. `onEnd` is called before `ended` resolves and before
 * pending calls reject.
 */
export function startChild(
  functions: Omit<SupervisorFunctions, 'ready'>,
  onEnd: () => void,
): Child {
  const worker = cluster.fork();
  const { process: child } = worker;
  const closeHandedOver = watchHandover(child);
  let markReady = () => {};
  const ready = new Promise<void>((resolve) => {
    markReady = resolve;
  });
  const channel = new Channel<MemberFunctions>(worker, { ...functions, ready: () => markReady() });
  const ended = new Promise<number | string>((resolve) => {
    function end(status: number | string): void {
      onEnd();
      closeHandedOver();
      channel.close();
      markReady();
      resolve(status);
    }
    worker.once('exit', (status, signal) => end(signal ?? status));
    // Without a pid, the start failed. All other errors are those of messages to a process that has
    // just ended.
    worker.on('error', (error) => child.pid === undefined && end(String(error)));
  });
  return { pid: child.pid, channel, ready, ended, kill: () => void child.kill('SIGKILL') };
}

/**
 * Remembers the last connection that node:cluster handed over to `child`; returns a function that
 * closes it. Node hands over one at a time, and keeps it open if the child dies before confirming.
 */
function watchHandover(child: ChildProcess): () => void {
  const send: (...all: never[]) => boolean = child.send.bind(child);
  let handle: { close(): void } | undefined;
  child.send = (...all: unknown[]) => {
    const [message, connection] = all as [{ act?: string }, typeof handle];
    // A message of Node's private protocol.
    if (message.act === 'newconn') handle = connection;
    return send(...(all as never[]));
  };
  return () => handle?.close();
}
