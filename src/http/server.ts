// Wraps node:http and closes the gaps that it leaves: pipelined requests are answered in order,
// malformed ones get a problem, and a stop loses no request. What a well-formed request means is
// decided in dispatch.ts.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { hasSureEnd } from './body.ts';
import { type Connection, Connections } from './connections.ts';
import { HTTP_LIMITS } from './limits.ts';
import { Problem, problemReply } from './problem.ts';
import { type Reply, replyHeaders } from './reply.ts';
import { requestIdOf } from './request-id.ts';
import type { RequestListener } from './route.ts';

/** What the server depends on. */
export interface HttpServerOptions {
  readonly onRequest: RequestListener;
  /** Called for each answer to something that never became a request. */
  readonly onRefused: (requestId: string, problem: Problem) => void;
  readonly problemBase: () => string;
  readonly limits?: typeof HTTP_LIMITS;
}

/** A server that listens once and stops once. */
export class HttpServer {
  readonly #onRequest: RequestListener;
  readonly #onRefused: HttpServerOptions['onRefused'];
  readonly #problemBase: () => string;
  readonly #limits: typeof HTTP_LIMITS;
  readonly #server: Server;
  readonly #connections = new Connections();
  #closing = false;

  constructor({ onRequest, onRefused, problemBase, limits = HTTP_LIMITS }: HttpServerOptions) {
    this.#onRequest = onRequest;
    this.#onRefused = onRefused;
    this.#problemBase = problemBase;
    this.#limits = limits;
    this.#server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // request-checks.ts refuses a missing host with a body.
      requireHostHeader: false,
    });
    this.#server.maxConnections = limits.connections;
    this.#server.timeout = limits.stalledMs;
    // Node would silently drop further headers, such as a second host; request-checks.ts counts
    // them.
    this.#server.maxHeadersCount = 0;
    this.#listenToEvents();
  }

  /**
   * Resolves with the address once connections are accepted; rejects with Node's error
   * (`EADDRINUSE`, ...).
   */
  async listen(host: string, port: number): Promise<AddressInfo> {
    this.#server.listen(port, host, this.#limits.backlog);
    await once(this.#server, 'listening');
    return this.#server.address() as AddressInfo;
  }

  /**
   * Stops accepting, finishes the requests in flight (for `closeMs` at most), also those that
   * clients sent before they could know of the stop, and closes every connection.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#connections.announceClose();
    await this.#acceptBacklog();
    // http.Server.close() would close a connection whose response is still being flushed;
    // net.Server.close() only stops accepting.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    // closeAllConnections() would miss those of a CONNECT.
    const deadline = setTimeout(() => this.#connections.destroyAll(), this.#limits.closeMs);
    await this.#connections.flushed();
    // A client that has not read `connection: close` yet may have sent another request; its answer
    // says it again.
    await Promise.race([closed, delay(this.#limits.farewellMs, undefined, { ref: false })]);
    await this.#connections.flushed();
    this.#connections.destroySilent();
    this.#server.close();
    await closed;
    clearTimeout(deadline);
    await this.#connections.allClosed();
  }

  #listenToEvents(): void {
    const server = this.#server;
    server.on('connection', (socket) => this.#connections.add(socket));
    server.on('request', (message, response) => this.#receive(message, response, false));
    server.on('checkContinue', (message, response) => this.#receive(message, response, true));
    server.on('checkExpectation', (message, response) => this.#receive(message, response, false));
    server.on('connect', (_message, socket) => this.#refuseConnect(socket));
    server.on('clientError', (error, socket) => this.#answerParseError(error, socket));
  }

  #receive(message: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const { socket } = message;
    // Determined once, so that all log lines of a request have the same id.
    const requestId = requestIdOf(message);
    const previous = this.#connections.begin(message, response, requestId);
    // Node does not switch protocols, but it drops what follows a request that asks for it.
    const losesTheNext = message.headers.upgrade !== undefined;
    if (this.#closing || losesTheNext || !hasSureEnd(message))
      response.setHeader('connection', 'close');
    this.#connections.inTurn(socket, previous, () =>
      this.#onRequest(message, response, requestId, awaitsContinue),
    );
  }

  #refuseConnect(socket: Duplex): void {
    // Node removes its own listeners from this socket; without one a reset would end the process.
    socket.on('error', () => socket.destroy());
    if (socket instanceof Socket) socket.setTimeout(this.#limits.stalledMs, () => socket.destroy());
    const problem = new Problem('method-not-allowed', 'This service is no proxy.', {
      headers: ['allow', 'GET, HEAD, OPTIONS'],
    });
    const previous = this.#connections.latest(socket)?.response;
    this.#connections.inTurn(socket, previous, () => this.#refuse(socket, problem));
  }

  #answerParseError(error: NodeJS.ErrnoException, socket: Duplex): void {
    // Whatever follows on a refused connection is unreadable too.
    if (socket.writableEnded) return;
    const latest = this.#connections.latest(socket);
    const problem = problemOf(error);
    if (latest?.message.complete) {
      this.#connections.inTurn(socket, latest.response, () => this.#refuse(socket, problem));
    } else if (latest?.response.headersSent) {
      this.#end(socket);
    } else {
      // The body of the latest request is unreadable: this is the answer to that request.
      this.#connections.inTurn(socket, latest?.previous, () =>
        this.#refuse(socket, problem, latest),
      );
    }
  }

  /** Answers what never became a request, for which there is no response object. */
  #refuse(socket: Duplex, problem: Problem, latest?: Connection): void {
    if (!socket.writable || problem.cause === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const requestId = latest?.requestId ?? randomUUID();
    const isHead = latest?.message.method === 'HEAD';
    this.#end(socket, responseText(problemReply(problem, this.#problemBase()), requestId, isHead));
    this.#onRefused(requestId, problem);
  }

  /**
   * Ends the connection, but reads on for a while: a client that still sends would lose the answer
   * to a reset.
   */
  #end(socket: Duplex, lastWords = ''): void {
    socket.end(lastWords);
    socket.resume();
    setTimeout(() => socket.destroy(), this.#limits.lingerMs).unref();
  }

  /**
   * Accepts the clients that have already connected. Node accepts one connection in each turn of
   * the event loop, and the system resets the others when the listening ends.
   */
  async #acceptBacklog(): Promise<void> {
    const end = performance.now() + this.#limits.farewellMs;
    let before = -1;
    while (this.#connections.accepted !== before && performance.now() < end) {
      before = this.#connections.accepted;
      // Two ticks guarantee one complete loop iteration.
      await nextTurn();
      await nextTurn();
    }
  }
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem(
        'request-header-fields-too-large',
        'The request line and headers are too large.',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'The request did not arrive in time.');
    default:
      return new Problem('bad-request', 'The request is not valid HTTP.', { cause: code });
  }
}

/** Returns a whole response as it goes over the wire; for a HEAD without its body. */
function responseText(reply: Reply, requestId: string, isHead: boolean): string {
  const headers = [
    ...replyHeaders(reply, requestId),
    'date',
    new Date().toUTCString(),
    'connection',
    'close',
  ];
  const lines = headers.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : [],
  );
  const statusLine = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}`;
  return `${[statusLine, ...lines].join('\r\n')}\r\n\r\n${isHead ? '' : reply.body}`;
}
