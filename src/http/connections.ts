// Tracks the open connections of a server. A pipelined request waits for the previous answer.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

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

/** All connections of one server. */
export class Connections {
  /** The latest request on each connection, until it and its answer are complete. */
  readonly latest = new Map<Duplex, Arrival | undefined>();
  /** The connections on which a request waits for the previous response. */
  readonly #waiting = new Set<Duplex>();
  accepted = 0;

  /** Adds a connection; `onIncomplete` is called if its input ends within a request. */
  add(socket: Socket, probeMs: number, onIncomplete: () => void): void {
    this.accepted += 1;
    this.latest.set(socket, undefined);
    // Once read, the address outlives the connection, for the log.
    void socket.remoteAddress;
    socket.once('close', () => {
      this.latest.delete(socket);
      this.#waiting.delete(socket);
    });
    socket.once('end', () => {
      if (this.latest.get(socket)?.message.complete === false) onIncomplete();
      else this.#probe(socket, probeMs);
    });
    // Node resumes a socket after each request, but requests behind a slow answer must wait.
    socket.on('resume', () => this.#waiting.has(socket) && socket.pause());
  }

  /** A client that has closed its sending side may be gone. Only a 102 tells: HTTP/1.0 has none. */
  #probe(socket: Socket, probeMs: number): void {
    const latest = this.latest.get(socket);
    if (!latest) return;
    announceClose(latest);
    if (latest.message.httpVersion === '1.0') return;
    const ask = () => {
      if (!latest.response.headersSent) latest.response.writeProcessing();
    };
    const timer = setInterval(ask, probeMs).unref();
    socket.once('close', () => clearInterval(timer));
  }

  begin(arrival: Arrival): void {
    this.latest.set(arrival.message.socket, arrival);
    // `bind` takes less time than a function that captures variables.
    arrival.response.on('close', this.#release.bind(this, arrival));
  }

  /** An idle connection must not hold its last request in memory. */
  #release(arrival: Arrival): void {
    const { socket, complete } = arrival.message;
    if (complete && this.latest.get(socket) === arrival) this.latest.set(socket, undefined);
  }

  /** Makes Node close those whose current answers make no progress for `stalledMs`. */
  limitStalls(stalledMs: number): void {
    for (const [socket, latest] of this.latest)
      if (latest && socket instanceof Socket && !socket.timeout) socket.setTimeout(stalledMs);
  }

  /** Calls `next` when `previous` is closed (RFC 9112, section 9.3.2), if more can be sent then. */
  runAfter(socket: Duplex, previous: ServerResponse | undefined, next: () => void): void {
    if (!socket.writable) return;
    // A response that is finished but not closed may still end the connection.
    if (!previous || previous.closed) {
      next();
      return;
    }
    const latest = this.latest.get(socket);
    this.#waiting.add(socket);
    socket.pause();
    previous.once('close', () => {
      const current = this.latest.get(socket);
      // Stay paused if a later request waits for this one.
      if (!current || current === latest) {
        this.#waiting.delete(socket);
        socket.resume();
      }
      if (socket.writable) next();
    });
  }

  /** Reads on, although requests may wait. */
  resume(socket: Duplex): void {
    this.#waiting.delete(socket);
    socket.resume();
  }

  /** Adds `connection: close` to the last answer on each connection, unless it has begun. */
  announceClose(): void {
    for (const latest of this.latest.values()) announceClose(latest);
  }

  /** Resolves when no answer is being flushed and no request waits behind another. */
  async flushed(): Promise<void> {
    for (const [socket, latest] of this.latest) {
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
    for (const [socket, latest] of this.latest) {
      const isSilent = !latest && socket instanceof Socket && socket.bytesRead === 0;
      const isAnswered = socket.writableFinished || latest?.response.writableFinished;
      if (isSilent || isAnswered) socket.destroy();
    }
  }

  destroyAll(): void {
    for (const socket of this.latest.keys()) socket.destroy();
  }

  /** Resolves when the `close` event of every connection has been emitted. */
  async allClosed(): Promise<void> {
    for (const socket of this.latest.keys())
      await new Promise((resolve) => socket.once('close', resolve));
  }
}

function announceClose(latest?: Arrival): void {
  if (latest && !latest.response.headersSent) latest.response.setHeader('connection', 'close');
}
