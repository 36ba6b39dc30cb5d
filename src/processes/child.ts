// One of the processes that serve, as the supervisor sees it.
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Channel, openChannel } from './channel.ts';
import type { MemberFunctions, Report, SupervisorFunctions } from './protocol.ts';

const REPORT_MS = 1_000;

/** A process that the supervisor has started. */
export class Child {
  readonly channel: Channel<MemberFunctions>;
  /** Resolves when the process can be called; rejects if it ends before. */
  readonly ready: Promise<unknown>;
  /** Resolves with the exit status, the signal or the start error, before pending calls reject. */
  readonly ended: Promise<number | string>;
  /** The last report: without a late one, a falling counter would look like a restart. */
  metrics: Report | undefined;
  readonly child: ChildProcess;
  /** The clients whose places it has taken; they are free when it ends. */
  readonly places = new Set<string>();

  constructor(functions: Omit<SupervisorFunctions, 'ready'>) {
    const worker = cluster.fork();
    this.child = worker.process;
    const closeHandedOver = watchHandover(worker.process);
    this.channel = openChannel(worker, { ...functions, ready: () => void worker.emit('ready') });
    const ended = new Error('the other process has ended');
    this.ended = new Promise((resolve) => {
      const end = (status: number | string) => {
        resolve(status);
        closeHandedOver();
        this.channel.$close(ended);
      };
      worker.once('exit', (status, signal) => end(signal ?? status));
      // Without a pid, the start failed. Other errors are those of messages to an ended process.
      worker.on('error', (error) => worker.process.pid === undefined && end(String(error)));
    });
    this.ready = Promise.race([
      once(worker, 'ready'),
      this.ended.then(() => Promise.reject(ended)),
    ]);
  }

  /** Asks for `metrics`, for a second at most. */
  async updateMetrics(): Promise<void> {
    const report = this.channel.metrics().catch(() => undefined);
    const snapshot = await Promise.race([report, delay(REPORT_MS, undefined, { ref: false })]);
    if (snapshot) this.metrics = snapshot;
  }
}

/** Returns a function that closes the connection which `child` did not confirm before it died. */
function watchHandover(child: ChildProcess): () => void {
  const send: (...all: never[]) => boolean = child.send.bind(child);
  let handle: { close(): void } | undefined;
  child.send = (...all: unknown[]) => {
    const [message, connection] = all as [{ act?: string }, typeof handle];
    if (message.act === 'newconn') handle = connection;
    return send(...(all as never[]));
  };
  return () => handle?.close();
}
