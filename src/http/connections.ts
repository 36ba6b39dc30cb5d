// Tracks the open connections of a server. A pipelined request waits for the previous answer, and a
// new connection takes the place of one that asks for nothing.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { HTTP_LIMITS } from './limits.ts';
import { Replaceable } from './replaceable.ts';

/** A well-formed request that has arrived on a connection. */
export interface Arrival {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Whether the client sends its body only after a 100 (Continue). */
  readonly awaitsContinue: boolean;
  readonly previous: ServerResponse | undefined;
  /** Whether there is no other connection, so that no other request can arrive at the same time. */
  readonly isOnlyClient: boolean;
}

/** What a waiting request takes beside its texts. */
const REQUEST_BYTES = 2_048;
/** The most that Node has read of a body when its connection is paused. */
const READ_BYTES = 65_536;

class Connection {
  readonly socket: Duplex;
  readonly network: string;
  /** The latest request, until it and its answer are complete. */
  latest: Arrival | undefined;
  /** When its last complete request was answered, or else when it was opened. */
  idleSinceMs = performance.now();
  constructor(socket: Duplex, network: string) {
    this.socket = socket;
    this.network = network;
  }

  /** Whether no complete request waits for the end of its answer. */
  get isIdle(): boolean {
    if (this.socket.destroyed) return false;
    const { message, response, previous } = this.latest ?? {};
    return (message?.complete ? response : previous)?.closed ?? true;
  }

  /** An idle connection must not hold its last request in memory. */
  release(arrival: Arrival): void {
    if (!arrival.message.complete || this.latest !== arrival) return;
    this.latest = undefined;
    this.idleSinceMs = performance.now();
  }
}

/** All connections of one server. */
export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  readonly #replaceable = new Replaceable(this.#open);
  /** The bytes of the requests that wait for the previous response, by connection. */
  readonly #waiting = new Map<Duplex, number>();
  #waitingBytes = 0;
  /** When each request must be complete, if no byte of its connection gave it more time. */
  readonly #dueMs = new WeakMap<Arrival, number>();
  accepted = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Returns the latest request of a connection, until it and its answer are complete. */
  latestOn(socket: Duplex): Arrival | undefined {
    return this.#open.get(socket)?.latest;
  }

  /** Adds a connection; `onIncomplete` is called if its input ends within a request. */
  add(socket: Socket, network: string, probeMs: number, onIncomplete: () => void): void {
    this.accepted += 1;
    // Once read, the address outlives the connection, for the log.
    void socket.remoteAddress;
    this.#open.set(socket, new Connection(socket, network));
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#endWait(socket);
    });
    socket.once('end', () => {
      if (this.latestOn(socket)?.message.complete === false) onIncomplete();
      else this.#probe(socket, probeMs);
    });
    // Node resumes a socket after each request, but requests behind a slow answer must wait.
    socket.on('resume', () => this.#waiting.has(socket) && socket.pause());
  }

  /** A client that has closed its sending side may be gone. Only a 102 tells: HTTP/1.0 has none. */
  #probe(socket: Socket, probeMs: number): void {
    const latest = this.latestOn(socket);
    if (!latest) return;
    announceClose(latest);
    if (latest.message.httpVersion === '1.0') return;
    const ask = () => {
      if (!latest.response.headersSent) latest.response.writeProcessing();
    };
    const timer = setInterval(ask, probeMs).unref();
    socket.once('close', () => clearInterval(timer));
  }

  /** If there are more than `max`, closes one that is idle, or else `added`. */
  limit(max: number, added: Socket): void {
    if (this.#open.size > max) (this.#replaceable.take()?.socket ?? added).destroy();
  }

  begin(arrival: Arrival): void {
    const connection = this.#open.get(arrival.message.socket);
    if (!connection) return;
    connection.latest = arrival;
    arrival.response.on('close', () => connection.release(arrival));
  }

  /** Makes Node close those whose current answers make no progress for `stalledMs`. */
  limitStalls(stalledMs: number): void {
    for (const { socket, latest } of this.#open.values())
      if (latest && socket instanceof Socket && !socket.timeout) socket.setTimeout(stalledMs);
  }

  /** Calls `refuse`, once each, for those whose request arrives too slowly after its headers. */
  limitArrivals(
    { requestTimeoutMs, bytesPerMs }: Pick<typeof HTTP_LIMITS, 'requestTimeoutMs' | 'bytesPerMs'>,
    refuse: (socket: Socket) => void,
  ): void {
    const nowMs = performance.now();
    for (const { socket, latest } of this.#open.values()) {
      if (!latest || latest.message.complete || !(socket instanceof Socket)) continue;
      const dueMs =
        this.#dueMs.get(latest) ?? nowMs + requestTimeoutMs - socket.bytesRead / bytesPerMs;
      const isLate = nowMs > dueMs + socket.bytesRead / bytesPerMs;
      this.#dueMs.set(latest, isLate ? Number.POSITIVE_INFINITY : dueMs);
      if (isLate) refuse(socket);
    }
  }

  /** Calls `next` when `previous` is closed (RFC 9112, section 9.3.2), if more can be sent then. */
  runAfter(socket: Duplex, previous: ServerResponse | undefined, next: () => void): void {
    if (!socket.writable) return;
    // A response that is finished but not closed may still end the connection.
    if (!previous || previous.closed) {
      next();
      return;
    }
    const latest = this.latestOn(socket);
    socket.pause();
    this.#wait(socket, latest);
    previous.once('close', () => {
      const current = this.latestOn(socket);
      // Stay paused if a later request waits for this one.
      if (!current || current === latest) this.resume(socket);
      if (socket.writable) next();
    });
  }

  /** Reads on, although requests may wait. */
  resume(socket: Duplex): void {
    this.#endWait(socket);
    socket.resume();
  }

  /** Counts what waits. Where too much does, it closes the connection on which most waits. */
  #wait(socket: Duplex, latest: Arrival | undefined): void {
    const bytes = latest ? sizeOf(latest.message) : 0;
    this.#waiting.set(socket, (this.#waiting.get(socket) ?? 0) + bytes);
    this.#waitingBytes += bytes;
    if (this.#waitingBytes <= HTTP_LIMITS.waitingBytes) return;
    const [most] = [...this.#waiting].reduce((one, other) => (other[1] > one[1] ? other : one));
    this.#endWait(most);
    most.destroy();
  }

  #endWait(socket: Duplex): void {
    this.#waitingBytes -= this.#waiting.get(socket) ?? 0;
    this.#waiting.delete(socket);
  }

  /** Adds `connection: close` to the last answer on each connection, unless it has begun. */
  announceClose(): void {
    for (const { latest } of this.#open.values()) announceClose(latest);
  }

  /** Resolves when no answer is being flushed and no request waits behind another. */
  async flushed(): Promise<void> {
    for (const { socket, latest } of this.#open.values()) {
      const { response } = latest ?? {};
      // Of a refused request, the answer of the handler is never sent.
      const isFlushing = socket.writable && response?.writableEnded && !response.writableFinished;
      const busy = this.#waiting.has(socket) ? socket : isFlushing ? response : undefined;
      if (!busy) continue;
      await new Promise((resolve) => busy.once('close', resolve));
      return this.flushed();
    }
  }

  /** Destroys silent and answered connections, for which http.Server.close() would wait. */
  destroySpent(): void {
    for (const { socket, latest } of this.#open.values()) {
      const isSilent = !latest && socket instanceof Socket && socket.bytesRead === 0;
      const isAnswered = socket.writableFinished || latest?.response.writableFinished;
      if (isSilent || isAnswered) socket.destroy();
    }
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Resolves when the `close` event of every connection has been emitted. */
  async allClosed(): Promise<void> {
    for (const socket of this.#open.keys())
      await new Promise((resolve) => socket.once('close', resolve));
  }
}

/** Returns about how many bytes a request takes that has just arrived on a paused connection. */
function sizeOf({ headers, rawHeaders, url = '' }: IncomingMessage): number {
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  const body = coding === undefined ? Math.min(Number(length), READ_BYTES) : READ_BYTES;
  return rawHeaders.reduce((sum, text) => sum + text.length, REQUEST_BYTES + url.length + body);
}

function announceClose(latest?: Arrival): void {
  if (latest && !latest.response.headersSent) latest.response.setHeader('connection', 'close');
}
