// One of the processes that serve, as the supervisor that started it sees it.
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { Channel } from './channel.ts';
import type { MemberFunctions, SupervisorFunctions } from './protocol.ts';

/** A process that was started. */
export interface Child {
  readonly pid: number | undefined;
  readonly channel: Channel<MemberFunctions>;
  /** Resolves when the process can be called, or has ended. */
  readonly begun: Promise<void>;
  /**
   * Resolves when the process has ended, with its exit status, its signal, or the error of the
   * start.
   */
  readonly ended: Promise<number | string>;
  /** Ends the process at once. */
  readonly kill: () => void;
}

/**
 * Starts a process and offers it `functions`. `onEnd` is called before `ended` resolves and calls
 * reject.
 */
export function startChild(
  functions: Omit<SupervisorFunctions, 'begun'>,
  onEnd: () => void,
): Child {
  const worker = cluster.fork();
  const { process: child } = worker;
  const closeHandedOver = watchHandover(child);
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const channel = new Channel<MemberFunctions>(worker, { ...functions, begun: () => begin() });
  const ended = new Promise<number | string>((resolve) => {
    function end(status: number | string): void {
      onEnd();
      closeHandedOver();
      channel.close();
      begin();
      resolve(status);
    }
    worker.once('exit', (status, signal) => end(signal ?? status));
    // Without a pid the start failed. Any other error is that of a message to a process that has
    // just ended.
    worker.on('error', (error) => child.pid === undefined && end(String(error)));
  });
  return { pid: child.pid, channel, begun, ended, kill: () => void child.kill('SIGKILL') };
}

/**
 * Remembers the last connection that node:cluster handed over to `child`, and returns a function
 * that closes it. Node keeps a connection open until the child confirms it, even if the child has
 * died.
 */
function watchHandover(child: ChildProcess): () => void {
  const send: (...all: never[]) => boolean = child.send.bind(child);
  let handle: { close(): void } | undefined;
  child.send = (...all: unknown[]) => {
    const [message, sent] = all as [{ act?: string }, typeof handle];
    // Node's private message for a new connection.
    if (message.act === 'newconn') handle = sent;
    return send(...(all as never[]));
  };
  return () => handle?.close();
}
