// The way of a request: target, guard, route, body, handler, answer, log line. The order in which faults are found is the
// order of the interface: guard (403, 401, 429), path (404), method (405), media type (415), size (413), JSON (400), and
// then the handler's. What the service cannot take on (503) is told before a body is read.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ClientGone, checkDeclaredLength, drain, hasBody, readBody } from './body.ts';
import { createInbox, type Inbox } from './inbox.ts';
import { parseJson } from './json.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { Problem, type ProblemSlug, problemReply } from './problem.ts';
import { type Reply, replyHeaders, sendReply } from './reply.ts';
import { checkMediaType, checkMessage } from './request-checks.ts';
import type { Router } from './router.ts';
import type { RequestListener } from './server.ts';
import { parseTarget, type Target } from './target.ts';

/** A request as a handler sees it: strictly parsed, nothing validated. */
export interface Call {
  /** The values of the path's parameters, percent-decoded, in the order of the template. */
  readonly path: readonly string[];
  /** The query without its question mark, as it was sent. */
  readonly query: string;
  /** The JSON value of the body; undefined where the route takes none. */
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  /**
   * Throws where a large answer would be in vain: {@link ClientGone} if the client has gone, service-unavailable while
   * those that are on their way leave no room for another.
   */
  readonly ensureWanted: () => void;
  /** Returns a signal that is aborted, with {@link ClientGone}, when the client goes before it has its answer. */
  readonly signal: () => AbortSignal;
}

/** Something the service does at a method and a path. `handle` may throw a {@link Problem}. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly template: string;
  readonly takesBody: boolean;
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}

/** What became of a request, for the log. */
export interface Outcome {
  readonly requestId: string;
  readonly method: string;
  /** The template of the path, if there is something at it. */
  readonly template: string | undefined;
  /** Undefined where the client had gone before the answer. */
  readonly status: number | undefined;
  readonly milliseconds: number;
  /** What went wrong inside, where the answer is a 5xx. */
  readonly error: unknown;
  /** What the client was told, where it was not let in or the answer is a 5xx although nothing went wrong. */
  readonly reason: string | undefined;
}

/**
 * Looks at a request before it is routed: throws the {@link Problem} that refuses it, or returns the answer to one that
 * needs no route; maybe later. `path` are the segments of its path. What it adds to `headers` goes out with the answer,
 * whatever that is.
 */
export type Guard = (
  message: IncomingMessage,
  path: readonly string[],
  headers: string[],
) => Reply | undefined | Promise<Reply | undefined>;

/** What dispatching needs to know. */
export interface DispatchOptions {
  readonly router: Router<Route>;
  readonly guard: Guard;
  readonly bodyLimitBytes: number;
  readonly problemBase: string;
  readonly onOutcome: (outcome: Outcome) => void;
  /** The problem that answers what a handler threw; undefined for what is unexpected, which is a 500. */
  readonly toProblem: (error: unknown) => Problem | undefined;
}

/** One request on its way, and what has been learnt of it. */
interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The client sends its body only after it was told to. */
  readonly awaitsContinue: boolean;
  /** What the guard adds to the answer. */
  readonly headers: string[];
  template: string | undefined;
}

/** What bounds the large bodies and the large answers of all exchanges together. */
interface Boxes {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
}

/** How a request ended: the reply, unless the client has gone, and what the log is to say of it. */
interface Settled {
  readonly reply?: Reply;
  readonly error?: unknown;
  readonly reason?: string;
}

/** How long a refusal is held back, on average. */
export const DISPATCH_LIMITS = { heldBackMs: 1_000 };

/** The problems of clients that are not let in: what they are told quotes nothing that they sent. */
const TELLING: ReadonlySet<ProblemSlug> = new Set(['unauthorized', 'forbidden', 'too-many-requests']);

/** What `OPTIONS *` asks for: nothing in particular. */
const NO_TARGET: Target = { segments: [], query: '' };
const SERVER_WIDE = ['allow', 'GET, HEAD, POST, PUT, DELETE, OPTIONS'];

/** Returns the listener that answers every well-formed request, and tells `onOutcome` what became of it. */
export function createDispatcher(options: DispatchOptions): RequestListener {
  const boxes = { inbox: createInbox(), outbox: createOutbox() };
  return async (message, response, requestId, awaitsContinue) => {
    const started = performance.now();
    const exchange: Exchange = { message, response, requestId, awaitsContinue, headers: [], template: undefined };
    let settled: Settled;
    try {
      settled = { reply: boxes.outbox.admit(await answer(exchange, boxes, options), response) };
    } catch (thrown) {
      // Not before the parser has read on: what is wrong with the end of a request comes before what it asks for.
      await undefined;
      const problem = problemOf(thrown, options);
      // The handler is over, and holds on to nothing of the request any more.
      if (problem?.heldBack && !response.destroyed) await heldBack(response);
      settled = problem ? failure(problem, options) : {};
    }
    const { reply, error, reason } = settled;
    const sent = reply && !response.destroyed ? reply : undefined;
    if (sent) send(exchange, withHeaders(sent, exchange.headers), options.bodyLimitBytes);
    options.onOutcome({
      requestId,
      method: message.method ?? '',
      template: exchange.template,
      status: sent?.status,
      milliseconds: performance.now() - started,
      error,
      reason,
    });
  };
}

/** The problem to answer with, none where the client has gone. */
function problemOf(thrown: unknown, { toProblem }: DispatchOptions): Problem | undefined {
  if (thrown instanceof ClientGone) return undefined;
  return thrown instanceof Problem ? thrown : (toProblem(thrown) ?? unexpected(thrown));
}

function failure(problem: Problem, { problemBase }: DispatchOptions): Settled {
  const reply = problemReply(problem, problemBase);
  // The cause of a 4xx may quote what the client sent, which has no place in a log.
  if (TELLING.has(problem.slug)) return { reply, reason: problem.message };
  if (reply.status < 500) return { reply };
  return problem.cause === undefined ? { reply, reason: problem.message } : { reply, error: problem.cause };
}

/** Resolves after a while, and not with all the others that are held back, else they would come back together. */
function heldBack(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, DISPATCH_LIMITS.heldBackMs * (0.5 + Math.random()));
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Not async, for each such layer costs every request a promise and a turn of the microtasks. */
function answer(exchange: Exchange, boxes: Boxes, options: DispatchOptions): Reply | Promise<Reply> {
  const { message, headers } = exchange;
  checkMessage(message);
  const target = isServerWide(message) ? NO_TARGET : parseTarget(message.url ?? '');
  const guarded = options.guard(message, target.segments, headers);
  if (guarded instanceof Promise) return guarded.then((reply) => reply ?? routed(exchange, target, boxes, options));
  return guarded ?? routed(exchange, target, boxes, options);
}

function isServerWide({ method, url }: IncomingMessage): boolean {
  return method === 'OPTIONS' && url === '*';
}

/** The answer of what is at the target, to a request that the guard has let in. */
function routed(
  exchange: Exchange,
  { segments, query }: Target,
  boxes: Boxes,
  options: DispatchOptions,
): Reply | Promise<Reply> {
  const { message } = exchange;
  const { method = '' } = message;
  if (isServerWide(message)) return { status: 204, headers: SERVER_WIDE };
  const match = options.router(segments);
  if (!match) throw new Problem('not-found', 'There is nothing at this path.');
  const { template, methods, allow } = match.place;
  exchange.template = template;
  if (method === 'OPTIONS') return { status: 204, headers: ['allow', allow] };
  const route = methods.get(method);
  if (!route) {
    throw new Problem('method-not-allowed', `This path allows ${allow}.`, { headers: ['allow', allow] });
  }
  if (route.takesBody) checkMediaType(message);
  checkDeclaredLength(message, options.bodyLimitBytes);
  const handle = (body: unknown) => route.handle(callOf(exchange, boxes.outbox, match.values, query, body));
  // A change is made only when all of its request has come, a body that nobody asked for included.
  const unasked = route.method !== 'GET' && hasBody(message) && !exchange.awaitsContinue;
  if (!route.takesBody && !unasked) return handle(undefined);
  return received(exchange, boxes.inbox, options.bodyLimitBytes, (bytes) =>
    handle(route.takesBody ? parseJson(bytes) : undefined),
  );
}

function callOf(
  { message, response }: Exchange,
  outbox: Outbox,
  path: readonly string[],
  query: string,
  body: unknown,
): Call {
  const ensureWanted = () => {
    if (response.destroyed) throw clientGone();
    outbox.ensureRoom();
  };
  return { path, query, body, headers: message.headers, ensureWanted, signal: () => departureOf(response) };
}

function departureOf(response: ServerResponse): AbortSignal {
  if (response.destroyed) return AbortSignal.abort(clientGone());
  const controller = new AbortController();
  response.once('close', () => response.writableEnded || controller.abort(clientGone()));
  return controller.signal;
}

function clientGone(): ClientGone {
  return new ClientGone('the connection was closed before the answer');
}

/** Calls `use` with the body once all of it has come, and a large one has its turn. */
async function received(
  { message, response, awaitsContinue }: Exchange,
  inbox: Inbox,
  bodyLimitBytes: number,
  use: (bytes: Buffer) => Reply | Promise<Reply>,
): Promise<Reply> {
  const onReceived = inbox.open(message, response);
  if (awaitsContinue) response.writeContinue();
  const bytes = await readBody(message, bodyLimitBytes, onReceived);
  const turn = inbox.turn(bytes.length);
  if (turn) await turn;
  return use(bytes);
}

function send({ message, response, requestId, awaitsContinue }: Exchange, reply: Reply, bodyLimitBytes: number): void {
  // A body that is too large ends the connection even when all of it has come in the meantime.
  if (reply.status !== 413 && !leavesBodyUnread(message, awaitsContinue, bodyLimitBytes)) {
    sendReply(response, reply, requestId);
    return;
  }
  response.writeHead(reply.status, [...replyHeaders(reply, requestId), 'connection', 'close']);
  // Node would keep an answer to HEAD back until its end.
  response.flushHeaders();
  if (reply.body !== undefined) response.write(reply.body);
  // Node closes the connection once the response ends: that waits until the client has stopped sending.
  drain(message, () => response.end());
}

function withHeaders(reply: Reply, headers: readonly string[]): Reply {
  return headers.length === 0 ? reply : { ...reply, headers: [...(reply.headers ?? []), ...headers] };
}

/** Whether more of the body is to come than Node should read away to keep the connection. */
function leavesBodyUnread(message: IncomingMessage, awaitsContinue: boolean, bodyLimitBytes: number): boolean {
  if (message.complete || !hasBody(message)) return false;
  const declared = message.headers['content-length'];
  return awaitsContinue || declared === undefined || Number(declared) > bodyLimitBytes;
}

function unexpected(cause: unknown): Problem {
  return new Problem('internal-server-error', 'Something unexpected happened.', { cause });
}
