// Wraps node:http: answers pipelined requests in turn, and malformed ones with problem details.
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type AddressInfo, type ListenOptions, Server as NetServer, Socket } from 'node:net';
import { nextTick } from 'node:process';
import type { Duplex } from 'node:stream';
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import { hasUnambiguousEnd } from './body/read.ts';
import { type Arrival, Connections } from './connections.ts';
import type { Sender } from './exchange.ts';
import type { HTTP_LIMITS } from './limits.ts';
import { chooseRequestId, mustEncode } from './message.ts';
import { Problem, problemReply } from './problem.ts';
import { type Reply, replyHeaders } from './reply.ts';
import type { Mend } from './route.ts';

interface HttpServerOptions {
  readonly onRequest: (arrival: Arrival) => void;
  readonly mend: Mend;
  /** Called for each answer to malformed or late input or CONNECT, with the parsed headers. */
  readonly onRefused: (requestId: string, problem: Problem, sender: Sender) => void;
  /** Identifies the clients at one place. */
  readonly networkOf: (sender: Sender) => string;
  /** Returns the URI with which the `type` of every problem begins. */
  readonly problemBase: () => string;
  readonly limits: typeof HTTP_LIMITS;
}

/** A server that listens once and stops once. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #connections = new Connections();
  readonly #stallCheck: NodeJS.Timeout;
  #closing = false;

  constructor(options: HttpServerOptions) {
    const { limits } = options;
    this.#options = options;
    this.#server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.slowRequestMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // Node would refuse a missing host without problem details, and drop a second host or key;
      // message.ts sends problems.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
    });
    // Otherwise Node sends nothing to a client that has closed only its sending side.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    // With `server.timeout`, Node would create a timer for each request.
    const refuseLate = (socket: Socket) =>
      this.#answerFaulty(socket, faultOf({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }));
    const check = () => {
      this.#connections.limitStalls(limits.stalledMs);
      // Node would count neither bytes nor time apart from the headers.
      this.#connections.limitArrivals(limits, refuseLate);
    };
    this.#stallCheck = setInterval(check, limits.checkIntervalMs).unref();
    // Node would drop headers beyond a limit, perhaps a second host; message.ts counts them.
    this.#server.maxHeadersCount = 0;
    this.#server
      .on('connection', (socket) => {
        // Node does not report that a request for an upgrade ends before it is complete.
        const refuse = () => this.#answerFaulty(socket, faultOf({ code: 'HPE_INVALID_EOF_STATE' }));
        const network = options.networkOf({ headers: {}, socket });
        this.#connections.add(socket, network, limits.probeMs, refuse);
        this.#connections.limit(limits.connections, socket);
        // Node calls it after the last answer. Node's own would not wait for what still arrives.
        socket.destroySoon = () => this.#end(socket);
      })
      .on('request', (message, response) => this.#receive(message, response))
      .on('checkContinue', (message, response) => this.#receive(message, response, true))
      .on('checkExpectation', (message, response) => this.#receive(message, response))
      .on('connect', (message, socket) => this.#refuseConnect(message, socket))
      .on('clientError', (error, socket) => this.#mend(socket, error));
  }

  readonly accepted = (): number => this.#connections.accepted;

  /** Accepts connections at an address or a Unix socket, and resolves with its URL. */
  async listen(at: ListenOptions): Promise<string> {
    this.#server.listen({ ...at, backlog: this.#options.limits.backlog });
    await once(this.#server, 'listening');
    if (at.path !== undefined) return `unix:${at.path}`;
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Stops accepting, finishes the requests in flight within `closeMs`, closes every connection. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#connections.announceClose();
    await this.#acceptBacklog();
    // http.Server.close() would close connections while their responses are being flushed.
    const closed = new Promise<void>((resolve) => {
      // Bun's HTTP server is not a server of node:net.
      const isNode = this.#server instanceof NetServer;
      const closer: NetServer = isNode ? NetServer.prototype : this.#server;
      closer.close.call(this.#server, () => resolve());
    });
    // http.Server.closeAllConnections() would miss the connections that sent a CONNECT.
    const deadline = setTimeout(() => this.#connections.destroyAll(), this.#options.limits.closeMs);
    await this.#connections.flushed();
    // A client may have sent another request before it read `connection: close`.
    await Promise.race([closed, delay(this.#options.limits.graceMs, undefined, { ref: false })]);
    await this.#connections.flushed();
    this.#connections.destroySpent();
    this.#server.close();
    await closed;
    clearTimeout(deadline);
    clearInterval(this.#stallCheck);
    await this.#connections.allClosed();
  }

  #receive(message: IncomingMessage, response: ServerResponse, awaitsContinue = false): void {
    const requestId = chooseRequestId(message.headers);
    const previous = this.#connections.latestOn(message.socket)?.response;
    const isOnlyClient = this.#connections.size === 1;
    const arrival = { message, response, requestId, awaitsContinue, previous, isOnlyClient };
    this.#connections.begin(arrival);
    // Node does not switch protocols, but it drops the data after a request for an upgrade, and
    // does not report errors in its body: a client that then waits gets 408.
    if (this.#closing || message.headers.upgrade !== undefined || !hasUnambiguousEnd(message))
      response.setHeader('connection', 'close');
    this.#connections.runAfter(message.socket, previous, () => this.#options.onRequest(arrival));
  }

  #refuseConnect(message: IncomingMessage, socket: Duplex): void {
    // Node removes its own listeners from this socket; without any, a reset would end the process.
    socket.on('error', () => socket.destroy());
    if (socket instanceof Socket)
      socket.setTimeout(this.#options.limits.stalledMs, () => socket.destroy());
    const problem = new Problem('method-not-allowed', 'This service is not a proxy.', {
      headers: ['allow', 'GET, HEAD, OPTIONS'],
    });
    const previous = this.#connections.latestOn(socket)?.response;
    const refused = { message, requestId: chooseRequestId(message.headers) };
    this.#connections.runAfter(socket, previous, () => this.#refuse(socket, problem, refused));
  }

  #mend(socket: Duplex, error: Error): void {
    const accept = (mended: Socket) => this.#server.emit('connection', mended);
    const latest = this.#connections.latestOn(socket);
    // While an earlier request is not answered, more input may arrive.
    const isIdle = latest === undefined || latest.response.closed;
    if (!isIdle || !this.#options.mend(error, socket, accept))
      this.#answerFaulty(socket, faultOf(error));
  }

  #answerFaulty(socket: Duplex, problem: Problem): void {
    const latest = this.#connections.latestOn(socket);
    if (latest?.message.complete) {
      this.#connections.runAfter(socket, latest.response, () => this.#refuse(socket, problem));
    } else if (latest?.response.headersSent) {
      this.#connections.runAfter(socket, latest.response, () => this.#end(socket));
    } else {
      // The input ends or is malformed before the latest request, if any, is complete.
      const refuse = () => this.#refuse(socket, problem, latest);
      this.#connections.runAfter(socket, latest?.previous, refuse);
    }
  }

  #refuse(socket: Duplex, problem: Problem, refused: Partial<Arrival> = {}): void {
    const { message, requestId = chooseRequestId({}) } = refused;
    const reply = problemReply(problem, this.#options.problemBase());
    this.#end(socket, responseText(reply, requestId, message?.method === 'HEAD'));
    const sender = message ?? { headers: {}, socket: socket instanceof Socket ? socket : {} };
    this.#options.onRefused(requestId, problem, sender);
  }

  /** Sends `text` and ends the connection, but reads on: a reset could destroy the answer. */
  #end(socket: Duplex, text?: string): void {
    const { drainMs, drainBytes, graceMs } = this.#options.limits;
    const timer = setTimeout(() => socket.destroy(), this.#closing ? graceMs : drainMs).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.end(text);
    this.#connections.resume(socket);
    let drained = 0;
    const drain = (chunk: Buffer) => {
      drained += chunk.length;
      if (drained > drainBytes) socket.destroy();
    };
    // Detaches the parser, which would keep requests in memory. This needs a socket that reads.
    nextTick(() => socket.removeAllListeners('data').on('data', drain));
  }

  /** Accepts the queued connections, which would be reset; Node accepts one in each iteration. */
  async #acceptBacklog(): Promise<void> {
    const end = performance.now() + this.#options.limits.graceMs;
    let before = -1;
    while (this.#connections.accepted !== before && performance.now() < end) {
      before = this.#connections.accepted;
      // Two immediates guarantee one complete loop iteration.
      await immediate();
      await immediate();
    }
  }
}

const HEADERS_TOO_LARGE = 'The request line and headers are too large.';
const LATE =
  'The request did not arrive in time: the headers within 10 s, all within 30 s, or within ' +
  '5 minutes if it keeps arriving at 4 KB/s. Send less at once, or over a faster connection.';
const HTTP_2 = 'This service speaks HTTP/1.1 and HTTP/1.0, but not HTTP/2.';

/** Returns the problem for an error of Node's parser, whose `reason` is the message of llhttp. */
function faultOf(error: Partial<NodeJS.ErrnoException> & { readonly reason?: string }): Problem {
  const { code: cause, reason = '' } = error;
  if (cause === 'HPE_HEADER_OVERFLOW')
    return new Problem('request-header-fields-too-large', HEADERS_TOO_LARGE);
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request-timeout', LATE);
  if (cause === 'HPE_PAUSED_H2_UPGRADE')
    return new Problem('http-version-not-supported', HTTP_2, { cause });
  let detail = 'The request is not valid HTTP.';
  if (reason.startsWith('Invalid char in'))
    detail = mustEncode('A character of the request target that is not printable ASCII');
  if (reason.startsWith('Expected HTTP/'))
    detail = `HTTP/1.1 must follow the request target. ${mustEncode('A space in the target')}`;
  return new Problem('bad-request', detail, { cause });
}

function responseText(reply: Reply, requestId: string, isHead: boolean): string {
  const date = new Date().toUTCString();
  const headers = [...replyHeaders(reply, requestId), 'date', date, 'connection', 'close'];
  let text = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n`;
  for (let index = 0; index < headers.length; index += 2)
    text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}\r\n${isHead ? '' : reply.body}`;
}
