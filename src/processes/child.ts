// One of the processes that serve, as the one that has started it sees it.
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { type Channel, openChannel } from './channel.ts';
import type { MemberFunctions, SupervisorFunctions } from './protocol.ts';

/** A process that was started. */
export interface Child {
  readonly pid: number | undefined;
  readonly channel: Channel<MemberFunctions>;
  /** Resolves when it can be called, or is no more. */
  readonly begun: Promise<void>;
  /** Resolves when it is no more, with the status, the signal or the error that it ended with. */
  readonly ended: Promise<number | string>;
  /** Ends it at once, if it has not ended. */
  kill(): void;
}

/** Starts the command once more, with what is done for it; `onEnd` is called before anybody else learns that it ended. */
export function startChild(functions: Omit<SupervisorFunctions, 'begun'>, onEnd: () => void): Child {
  const worker = cluster.fork();
  const { process: child } = worker;
  const dropHandover = watchHandover(child);
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const channel = openChannel<MemberFunctions>(worker, { ...functions, begun: () => begin() });
  const ended = new Promise<number | string>((resolve) => {
    function end(how: number | string): void {
      onEnd();
      dropHandover();
      channel.close();
      begin();
      resolve(how);
    }
    worker.once('exit', (status, signal) => end(signal ?? status));
    // It was not to be started. Any other error is that of a message to one that has just ended.
    worker.on('error', (error) => child.pid === undefined && end(String(error)));
  });
  return { pid: child.pid, channel, begun, ended, kill: () => void child.kill('SIGKILL') };
}

/**
 * Node keeps a connection that it hands over until the other process says that it has it: for ever, if that one dies before.
 * Returns what closes it then.
 */
function watchHandover(child: ChildProcess): () => void {
  const send: (...all: never[]) => boolean = child.send.bind(child);
  let handle: { close(): void } | undefined;
  child.send = (...all: unknown[]) => {
    const [message, sent] = all as [{ act?: string }, typeof handle];
    if (message.act === 'newconn') handle = sent;
    return send(...(all as never[]));
  };
  return () => handle?.close();
}
