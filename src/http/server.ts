// The HTTP server: node:http with the gaps closed that it leaves. Connections, malformed requests and the end are here;
// what a well-formed request means is decided in dispatch.ts.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { hasSureEnd } from './body.ts';
import { Problem, problemReply } from './problem.ts';
import { type Reply, replyHeaders } from './reply.ts';
import { requestIdOf } from './request-id.ts';

/** Times and sizes that bound what one client can take up. */
export const HTTP_LIMITS = {
  headerBytes: 16_384,
  /** How many header lines a request may have. */
  headerCount: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  /**
   * How long a connection may stand still while an answer is on its way: a client that does not read loses it. Node looks
   * at that interval whether anything moved since it last looked, so it may take twice as long.
   */
  stalledMs: 60_000,
  /** How often Node looks for requests that are out of time. */
  checkIntervalMs: 500,
  connections: 10_000,
  /** How many connections the system may hold until they are accepted, which is one in each turn of the event loop. */
  backlog: 4_096,
  /** How long a connection stays open after an answer to something unreadable, so that the client can read it. */
  lingerMs: 500,
  /**
   * How long the server still accepts, at most, those who have connected already when it closes, and how long idle
   * connections stay open then: a request may be on its way on any of them.
   */
  farewellMs: 500,
  /** How long requests in flight may take to finish when the server closes. */
  closeMs: 10_000,
};

/** Handles one well-formed request, and sees to its answer, which goes out under `requestId`. */
export type RequestListener = (
  message: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  awaitsContinue: boolean,
) => void;

/** What the server needs to know. */
export interface HttpServerOptions {
  readonly onRequest: RequestListener;
  /** Told of each answer to something that never became a request. */
  readonly onRefused: (requestId: string, problem: Problem) => void;
  readonly problemBase: () => string;
  readonly limits?: typeof HTTP_LIMITS;
}

/** The latest request of a connection, as its response, and the response that goes out before it. */
interface Latest {
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly ahead: ServerResponse | undefined;
}

/** A server that listens and stops. */
export interface HttpServer {
  /** Resolves with the address once connections are accepted; rejects with Node's error (`EADDRINUSE`, ...). */
  listen(host: string, port: number): Promise<AddressInfo>;
  /**
   * Stops accepting, lets requests in flight finish (`closeMs` at most), those among them that clients sent before they
   * could know, and closes every connection.
   */
  close(): Promise<void>;
}

/** Returns a server that is not listening yet. */
export function createHttpServer({
  onRequest,
  onRefused,
  problemBase,
  limits = HTTP_LIMITS,
}: HttpServerOptions): HttpServer {
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    // A missing host is refused in dispatch.ts, with a body.
    requireHostHeader: false,
  });
  server.maxConnections = limits.connections;
  server.timeout = limits.stalledMs;
  // Node would drop what is over this number in silence, a second host among it: they are counted in request-checks.ts.
  server.maxHeadersCount = 0;

  /** All open connections, with the latest request of those where one has not been answered yet. */
  const latest = new Map<Duplex, Latest | undefined>();
  /** The connections on which something waits for its turn. */
  const waiting = new Set<Duplex>();
  let closing = false;
  let accepted = 0;

  server.on('connection', (socket) => {
    accepted += 1;
    latest.set(socket, undefined);
    socket.once('close', () => {
      latest.delete(socket);
      waiting.delete(socket);
    });
    // Nothing more is read while something waits, else one slow answer would let its client fill the memory. Node
    // resumes on its own whenever it has read a request to its end.
    socket.on('resume', () => waiting.has(socket) && socket.pause());
  });

  function receive(awaitsContinue: boolean) {
    return (message: IncomingMessage, response: ServerResponse) => {
      const ahead = latest.get(message.socket)?.response;
      // Once: whatever becomes of the request is told under one id.
      const requestId = requestIdOf(message);
      latest.set(message.socket, { response, requestId, ahead });
      // What has been answered is let go of: connections that are idle would keep the memory of their last request.
      response.once('close', () => {
        if (message.complete && latest.get(message.socket)?.response === response)
          latest.set(message.socket, undefined);
      });
      // Node does not switch protocols, but it drops what came behind a request that asks for it.
      const losesTheNext = message.headers.upgrade !== undefined;
      if (closing || losesTheNext || !hasSureEnd(message)) response.setHeader('connection', 'close');
      inTurn(message.socket, ahead, () => onRequest(message, response, requestId, awaitsContinue));
    };
  }
  server.on('request', receive(false));
  server.on('checkContinue', receive(true));
  server.on('checkExpectation', receive(false));

  server.on('connect', (_message, socket) => {
    // Node lets go of such a socket, its errors included: without a listener a reset would end the process.
    socket.on('error', () => socket.destroy());
    if (socket instanceof Socket) socket.setTimeout(limits.stalledMs, () => socket.destroy());
    const problem = new Problem('method-not-allowed', 'This service is no proxy.', {
      headers: ['allow', 'GET, HEAD, OPTIONS'],
    });
    inTurn(socket, latest.get(socket)?.response, () => refuse(socket, problem));
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Whatever follows on a connection that has been refused is unreadable as well.
    if (socket.writableEnded) return;
    const current = latest.get(socket);
    const { response, ahead } = current ?? {};
    if (response?.req.complete) inTurn(socket, response, () => refuse(socket, problemOf(error)));
    else if (response?.headersSent) part(socket);
    // It is the body of that request which cannot be read: the answer is to it.
    else inTurn(socket, ahead, () => refuse(socket, problemOf(error), current));
  });

  /**
   * Pipelined requests take their turns, for a read may follow the write it depends on (RFC 9112, section 9.3.2): calls
   * `next` once `previous` has been answered, and not at all if the connection ended with that answer.
   */
  function inTurn(socket: Duplex, previous: ServerResponse | undefined, next: () => void): void {
    // To be finished is not enough: its end may be about to end the connection.
    if (!previous || previous.closed) {
      if (socket.writable) next();
      return;
    }
    const last = latest.get(socket);
    waiting.add(socket);
    socket.pause();
    previous.once('close', () => {
      const current = latest.get(socket);
      if (!current || current === last) {
        waiting.delete(socket);
        socket.resume();
      }
      if (socket.writable) next();
    });
  }

  /** Answers what never became a request: there is no response object to do it with. */
  function refuse(socket: Duplex, problem: Problem, current?: Latest): void {
    if (!socket.writable || problem.cause === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const requestId = current?.requestId ?? randomUUID();
    part(socket, onTheWire(problemReply(problem, problemBase()), requestId, current?.response.req.method === 'HEAD'));
    onRefused(requestId, problem);
  }

  /** Ends the connection, but reads away what the client still sends: an early end would make it lose the answer. */
  function part(socket: Duplex, lastWords = ''): void {
    socket.end(lastWords);
    socket.resume();
    setTimeout(() => socket.destroy(), limits.lingerMs).unref();
  }

  return {
    listen: (host, port) => listen(server, host, port, limits.backlog),

    async close() {
      closing = true;
      for (const current of latest.values()) {
        if (current && !current.response.headersSent) current.response.setHeader('connection', 'close');
      }
      await everybodyAccepted();
      // The close of node:http takes a connection for idle whose answer is written and not sent yet: the one below it
      // only stops accepting.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      const deadline = setTimeout(() => {
        // All of them: those of a CONNECT Node knows no more.
        for (const socket of latest.keys()) socket.destroy();
      }, limits.closeMs);
      await sentToTheEnd();
      // Whoever has not read `connection: close` yet may have sent another request: each gets an answer that says it.
      await Promise.race([closed, delay(limits.farewellMs, undefined, { ref: false })]);
      await sentToTheEnd();
      for (const [socket, current] of latest) {
        // What is idle between requests Node knows; a connection on which none has begun it would wait for.
        if (!current && socket instanceof Socket && socket.bytesRead === 0) socket.destroy();
      }
      server.close();
      await closed;
      clearTimeout(deadline);
      // The last of them have been let go, but do not know it yet: whoever serves them is told before this resolves.
      for (const socket of latest.keys()) await new Promise((resolve) => socket.once('close', resolve));
    },
  };

  /**
   * Resolves when nobody waits to be let in: Node accepts one connection in each turn of the event loop, and the system
   * resets those that it has made and nobody has accepted when the listening ends.
   */
  async function everybodyAccepted(): Promise<void> {
    const end = performance.now() + limits.farewellMs;
    for (let before = -1; accepted !== before && performance.now() < end; ) {
      before = accepted;
      // Of two turns one is whole.
      await nextTurn();
      await nextTurn();
    }
  }

  /** Resolves when no answer is written and not sent yet, and nothing waits behind one. */
  async function sentToTheEnd(): Promise<void> {
    const leaving = [...latest].map(([socket, current]) => {
      if (waiting.has(socket)) return socket;
      return current?.response.writableEnded && !current.response.writableFinished ? current.response : undefined;
    });
    const [first] = leaving.filter((each) => each !== undefined);
    if (!first) return;
    await new Promise((resolve) => first.once('close', resolve));
    await sentToTheEnd();
  }
}

function listen(server: Server, host: string, port: number, backlog: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, backlog, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('request-header-fields-too-large', 'The request line and headers are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'The request did not arrive in time.');
    default:
      return new Problem('bad-request', 'The request is not valid HTTP.', { cause: code });
  }
}

function onTheWire(reply: Reply, requestId: string, headersOnly: boolean): string {
  const headers = [...replyHeaders(reply, requestId), 'date', new Date().toUTCString(), 'connection', 'close'];
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n${lines.join('\r\n')}\r\n\r\n${headersOnly ? '' : reply.body}`;
}
