// Answers well-formed requests. `#respond` has all steps, in the order in which it reports faults.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ByteBudget, Share } from './body/byte-budget.ts';
import { acceptedTypes, type BodyFormats, formatOf, parseLines } from './body/formats.ts';
import { parseJson } from './body/json.ts';
import { ClientGone, checkDeclaredLength, hasBody, readBody } from './body/read.ts';
import { Exchange, type SharedParts } from './exchange.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import { Problem, type ProblemSlug, problemReply, unavailable } from './problem.ts';
import {
  type Chunk,
  checkHeaders,
  lengthOf,
  type Reply,
  sendReply,
  sendReplyAndClose,
} from './reply.ts';
import { checkMessage } from './request-checks.ts';
import type { Admission, Guard, Outcome, Route, Sender } from './route.ts';
import type { Match, Router } from './router.ts';
import { sendChunks, sendStreamHead } from './stream.ts';
import { parseTarget, type Target } from './target.ts';
import { Turns } from './turns.ts';
import { whenReady } from './when-ready.ts';

/** The parts of the service that a dispatcher calls, and its limits. */
export interface DispatchOptions {
  readonly router: Router<Route>;
  readonly guard: Guard;
  readonly bodyLimitBytes: number;
  readonly problemBase: string;
  readonly onOutcome: (outcome: Outcome, message: IncomingMessage) => void;
  /** Identifies a client without a key. */
  readonly networkOf: (sender: Sender) => string;
  /** Returns the problem for an error of a handler; undefined means an unexpected error (500). */
  readonly toProblem: (error: unknown) => Problem | undefined;
}

/** What to send and to log; no reply if the client has disconnected. */
interface Result {
  readonly reply?: Reply;
  readonly error?: unknown;
  readonly reason?: string;
}

/** The refusals whose detail is logged, because it never quotes the request. */
const LOGGED_DETAIL: ReadonlySet<ProblemSlug> = new Set([
  'unauthorized',
  'forbidden',
  'too-many-requests',
]);

/** The reply to `OPTIONS *`. */
const SERVER_OPTIONS: Reply = {
  status: 204,
  headers: ['allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
};

/** Answers well-formed requests and reports their outcomes. */
export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #bodies = new ByteBudget(
    DISPATCH_LIMITS.bodiesBytes,
    'Too many large bodies are arriving.',
  );
  readonly #replies = new ByteBudget(
    DISPATCH_LIMITS.repliesBytes,
    'Too many large answers are being read, or wait for clients that read slowly.',
  );
  #streams = 0;
  /** The requests that have arrived in this iteration of the event loop. */
  #arrived: Exchange[] = [];
  /** Each iteration of the event loop parses only one part of a large body. */
  readonly #parsing = new Turns();

  readonly #shared: SharedParts;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#shared = { replies: this.#replies, networkOf: options.networkOf };
  }

  /** Answers one request under `requestId`. */
  dispatch(
    message: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    awaitsContinue: boolean,
  ): void {
    const exchange = new Exchange(message, response, requestId, awaitsContinue, this.#shared);
    // Requests that arrive together are answered together: memory is checked once for all reads, a
    // client with many connections is woken up once, and small bodies have arrived.
    if (this.#arrived.push(exchange) === 1) setImmediate(() => this.#answerArrived());
  }

  #answerArrived(): void {
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const exchange of arrived) void this.#answer(exchange);
  }

  /** Never rejects. Does not wait for what is in memory: each `await` costs time. */
  async #answer(exchange: Exchange): Promise<void> {
    const { message, response, requestId, arrivedMs } = exchange;
    let result: Result;
    let isSent: boolean;
    try {
      const responded = this.#respond(exchange);
      const reply = responded instanceof Promise ? await responded : responded;
      result = { reply: this.#account(reply, exchange) };
      isSent = this.#send(exchange, result.reply);
    } catch (error) {
      result = await this.#fail(error, response);
      isSent = this.#send(exchange, result.reply);
    }
    const { reply, error, reason } = result;
    const outcome: Outcome = {
      requestId,
      method: message.method ?? '',
      key: exchange.admission.key,
      template: exchange.template,
      status: isSent ? reply?.status : undefined,
      milliseconds: performance.now() - arrivedMs,
      error,
      reason,
    };
    const stream = isSent && reply && streamOf(reply, message);
    if (stream) await this.#stream(exchange, stream, outcome);
    else this.#options.onOutcome(outcome, message);
  }

  /** Sends a stream and reports when it begins and ends. */
  async #stream(
    { message, response, arrivedMs }: Exchange,
    stream: AsyncIterable<Chunk>,
    outcome: Outcome,
  ): Promise<void> {
    const { onOutcome } = this.#options;
    this.#streams += 1;
    onOutcome({ ...outcome, stream: 'opened' }, message);
    const error = await sendChunks(response, stream).catch((reason: unknown) => reason);
    this.#streams -= 1;
    const milliseconds = performance.now() - arrivedMs;
    onOutcome({ ...outcome, stream: 'ended', milliseconds, error }, message);
  }

  /** Returns the reply to a request. Throws a {@link Problem} or any other error. */
  #respond(exchange: Exchange): Reply | Promise<Reply> {
    const { message } = exchange;
    checkMessage(message); // 505, 431, 400, 501, 417
    const target = parseTarget(message); // 400
    const admission = this.#options.guard(message, target.segments); // 403
    return whenReady(admission, (admitted) => this.#route(exchange, target, admitted));
  }

  /** Continues {@link #respond} when the guard has decided. */
  #route(exchange: Exchange, target: Target, admission: Admission): Reply | Promise<Reply> {
    const { message } = exchange;
    exchange.enter(admission); // 403, 401, 429
    if (admission.reply) return admission.reply;
    if (target.isServer) return SERVER_OPTIONS;
    const match = this.#options.router(target.segments);
    if (!match) throw new Problem('not-found', 'There is nothing at this path.'); // 404
    exchange.template = match.pathItem.template;
    if (message.method === 'OPTIONS') return optionsReply(match);
    const route = routeOf(match, message); // 405
    checkDeclaredLength(message, this.#options.bodyLimitBytes); // 413
    exchange.pathValues = match.values;
    exchange.query = target.query;
    const handle = () => route.handle(exchange); // 400, 422, 404 and the rest
    // 415, 413, 400
    if (route.accepts) return whenReady(this.#readInput(exchange, route.accepts), handle);
    if (mustReceive(exchange, route)) return whenReady(this.#readBytes(exchange), handle); // 413
    return handle();
  }

  /** Resolves with the result for an error, after a delay if the problem is held back. */
  async #fail(error: unknown, response: ServerResponse): Promise<Result> {
    // Yield once, so that a parse error later in the same packet takes precedence.
    await undefined;
    if (error instanceof ClientGone) return {};
    const { toProblem, problemBase } = this.#options;
    const problem = error instanceof Problem ? error : (toProblem(error) ?? unexpected(error));
    if (problem.heldBack && !response.destroyed) await holdBack(response);
    const reply = problemReply(problem, problemBase);
    // The detail and the cause of other 4xx may quote the request.
    if (reply.status < 500 && !LOGGED_DETAIL.has(problem.slug)) return { reply };
    const { cause, message: reason } = problem;
    return reply.status < 500 || cause === undefined ? { reply, reason } : { reply, error: cause };
  }

  /** Reads and parses the body. Throws or rejects with 415, 413 or 400. */
  #readInput(exchange: Exchange, accepts: BodyFormats): void | Promise<void> {
    exchange.format = formatOf(exchange.message, accepts);
    return whenReady(this.#readBytes(exchange), (bytes) => {
      exchange.bytes = bytes;
      return whenReady(this.#parse(exchange, accepts), (body) => {
        exchange.body = body;
      });
    });
  }

  #parse({ format, bytes }: Exchange, accepts: BodyFormats): unknown {
    const { largeBodyBytes } = DISPATCH_LIMITS;
    const pause = () => this.#parsing.next();
    const parse = () =>
      format === 'json' ? parseJson(bytes) : parseLines(bytes, accepts, largeBodyBytes, pause);
    return bytes.length < largeBodyBytes ? parse() : pause().then(parse);
  }

  #readBytes({ message, response, awaitsContinue }: Exchange): Buffer | Promise<Buffer> {
    const onReceived = this.#bodyCounter(message, response);
    if (awaitsContinue) response.writeContinue();
    return readBody(message, this.#options.bodyLimitBytes, onReceived);
  }

  /** Returns a function that counts the bytes of a large body. Both throw beyond the budget. */
  #bodyCounter({ headers }: IncomingMessage, response: ServerResponse): (received: number) => void {
    if (Number(headers['content-length'] ?? 0) >= DISPATCH_LIMITS.largeBodyBytes)
      this.#bodies.ensureRoom();
    const share = new Share(this.#bodies, response);
    return (received) => {
      if (received < DISPATCH_LIMITS.largeBodyBytes) return;
      this.#bodies.ensureRoom(received - share.bytes);
      share.hold(received);
    };
  }

  /** Counts a large reply and encodes it: Node would keep the text in memory beside the bytes. */
  #account(reply: Reply, exchange: Exchange): Reply {
    const { body = '', large, ...head } = reply;
    if (!large && body.length < DISPATCH_LIMITS.largeReplyCharacters) return reply;
    const { message, share } = exchange;
    // What is written is written, and the size of its body has limited the reply.
    if (!isWrite(message) && share.bytes === 0) this.#replies.ensureRoom();
    const counted = large ?? { parts: [typeof body === 'string' ? Buffer.from(body) : body] };
    share.hold(lengthOf(counted.parts));
    return { ...head, large: counted };
  }

  /**
   * Sends a reply unless the client has disconnected; returns whether it did. Throws, before it
   * sends anything, for a header that Node refuses, such as a value with a line feed.
   */
  #send(
    { message, response, requestId, awaitsContinue, admission: { headers } }: Exchange,
    reply: Reply | undefined,
  ): boolean {
    if (reply === undefined || response.destroyed) return false;
    // Once Node has refused a 204 or a 304, it would send no other body either.
    if (reply.body === undefined && !reply.large) checkHeaders(reply.headers);
    const complete =
      headers.length === 0 ? reply : { ...reply, headers: [...(reply.headers ?? []), ...headers] };
    if (reply.stream && this.#streams >= DISPATCH_LIMITS.streams)
      throw unavailable('Too many streams are open.');
    if (streamOf(reply, message)) {
      sendStreamHead(response, complete, requestId);
      return true;
    }
    const closes = reply.status === 413 || this.#leavesBodyUnread(message, awaitsContinue);
    if (closes) sendReplyAndClose(message, response, complete, requestId);
    else sendReply(response, complete, requestId);
    return true;
  }

  /** Whether the rest of the body may be too long for Node to discard, or may never be sent. */
  #leavesBodyUnread(message: IncomingMessage, awaitsContinue: boolean): boolean {
    if (message.complete || !hasBody(message)) return false;
    const declared = message.headers['content-length'];
    const isBounded = declared !== undefined && Number(declared) <= this.#options.bodyLimitBytes;
    return awaitsContinue || !isBounded;
  }
}

function isWrite({ method }: IncomingMessage): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

function streamOf({ stream }: Reply, { method }: IncomingMessage) {
  return method === 'HEAD' ? undefined : stream;
}

function optionsReply({ pathItem: { allow, methods } }: Match<Route>): Reply {
  const patches = methods.get('PATCH')?.accepts;
  const headers = patches ? ['accept-patch', acceptedTypes(patches)] : [];
  return { status: 204, headers: ['allow', allow, ...headers] };
}

/** Whether a write waits for a body that it ignores: unless the client awaits a 100 (Continue). */
function mustReceive({ message, awaitsContinue }: Exchange, { method }: Route): boolean {
  return method !== 'GET' && hasBody(message) && !awaitsContinue;
}

function routeOf({ pathItem }: Match<Route>, { method = '' }: IncomingMessage): Route {
  const { allow, methods } = pathItem;
  const route = methods.get(method);
  if (route) return route;
  const headers = ['allow', allow];
  throw new Problem('method-not-allowed', `This path allows ${allow}.`, { headers });
}

/** Waits a random time around `heldBackMs`, so that refused clients do not all retry at once. */
function holdBack(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, DISPATCH_LIMITS.heldBackMs * (0.5 + Math.random()));
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function unexpected(cause: unknown): Problem {
  return new Problem('internal-server-error', 'Something unexpected happened.', { cause });
}
