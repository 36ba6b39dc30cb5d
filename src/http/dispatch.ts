// The path of a well-formed request. `respond` is the whole of it: its steps stand in the order in
// which their faults are reported.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientGone, checkDeclaredLength, hasBody, readBody } from './body.ts';
import { ByteBudget } from './byte-budget.ts';
import { parseJson } from './json.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import { Problem, type ProblemSlug, problemReply } from './problem.ts';
import { type Reply, sendReply, sendReplyAndClose } from './reply.ts';
import { checkMediaType, checkMessage } from './request-checks.ts';
import type { Call, Guard, Outcome, Route } from './route.ts';
import type { Match, Router } from './router.ts';
import { parseTarget, type Target } from './target.ts';

/** What dispatching depends on. */
export interface DispatchOptions {
  readonly router: Router<Route>;
  readonly guard: Guard;
  readonly bodyLimitBytes: number;
  readonly problemBase: string;
  readonly onOutcome: (outcome: Outcome) => void;
  /**
   * Returns the problem for an error that a handler threw; undefined for an unexpected one, which
   * is a 500.
   */
  readonly toProblem: (error: unknown) => Problem | undefined;
}

/** One request and what is known of it so far. */
interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** The client sends its body only after a 100 (Continue). */
  readonly awaitsContinue: boolean;
  /** The headers of the guard, for every answer. */
  headers: readonly string[];
  template: string | undefined;
}

/** How a request ended: without a reply if the client has disconnected. */
interface Settled {
  readonly reply?: Reply;
  readonly error?: unknown;
  readonly reason?: string;
}

/** The refusals whose detail may be logged: it never quotes the request. */
const LOGGED_DETAIL: ReadonlySet<ProblemSlug> = new Set([
  'unauthorized',
  'forbidden',
  'too-many-requests',
]);

/** The reply to `OPTIONS *`. */
const SERVER_OPTIONS: Reply = {
  status: 204,
  headers: ['allow', 'GET, HEAD, POST, PUT, DELETE, OPTIONS'],
};

/** Answers well-formed requests and reports what became of them. */
export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #bodies = new ByteBudget(
    DISPATCH_LIMITS.bodiesBytes,
    'Too many large bodies come in at one time.',
  );
  readonly #replies = new ByteBudget(
    DISPATCH_LIMITS.repliesBytes,
    'Too many large answers wait for clients that read slowly.',
  );
  /** Resolves when the last large body that arrived may be parsed. */
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /** Answers one request under `requestId`. Never rejects. */
  async dispatch(
    message: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    awaitsContinue: boolean,
  ): Promise<void> {
    const started = performance.now();
    const exchange: Exchange = {
      message,
      response,
      awaitsContinue,
      headers: [],
      template: undefined,
    };
    let settled: Settled;
    try {
      settled = { reply: this.#admit(await this.#respond(exchange), response) };
    } catch (thrown) {
      settled = await this.#settle(thrown, response);
    }
    const { reply, error, reason } = settled;
    const isSent = reply !== undefined && !response.destroyed;
    if (isSent) this.#send(exchange, reply, requestId);
    this.#options.onOutcome({
      requestId,
      method: message.method ?? '',
      template: exchange.template,
      status: isSent ? reply.status : undefined,
      milliseconds: performance.now() - started,
      error,
      reason,
    });
  }

  /** Answers one request. May throw anything; a {@link Problem} says what is wrong. */
  async #respond(exchange: Exchange): Promise<Reply> {
    const { message } = exchange;
    checkMessage(message); // 505, 431, 400, 501, 417
    const target = parseTarget(message); // 400
    const admission = await this.#options.guard(message, target.segments); // 403
    exchange.headers = admission.headers;
    if (admission.refusal) throw admission.refusal; // 401, 429
    if (admission.reply) return admission.reply;
    if (target.isServer) return SERVER_OPTIONS;
    const match = this.#options.router(target.segments);
    if (!match) throw new Problem('not-found', 'There is nothing at this path.'); // 404
    exchange.template = match.place.template;
    if (message.method === 'OPTIONS') return { status: 204, headers: ['allow', match.place.allow] };
    const route = routeOf(match, message); // 405
    const body = await this.#readInput(exchange, route); // 415, 413, 400
    return route.handle(this.#callOf(exchange, match, target, body)); // 422, 404 and the rest
  }

  /** Resolves with the answer to a request that failed with `thrown`, when it may be sent. */
  async #settle(thrown: unknown, response: ServerResponse): Promise<Settled> {
    await parserCaughtUp();
    const problem = this.#problemOf(thrown);
    if (problem?.heldBack && !response.destroyed) await holdBack(response);
    return problem ? this.#failure(problem) : {};
  }

  /**
   * Reads the body. A write waits for its whole request, even for a body that its route does not
   * take.
   */
  async #readInput(
    { message, response, awaitsContinue }: Exchange,
    route: Route,
  ): Promise<unknown> {
    const { bodyLimitBytes } = this.#options;
    if (route.takesBody) checkMediaType(message);
    checkDeclaredLength(message, bodyLimitBytes);
    const mustWait = route.method !== 'GET' && hasBody(message) && !awaitsContinue;
    if (!route.takesBody && !mustWait) return undefined;
    const onReceived = this.#bodyCounter(message, response);
    if (awaitsContinue) response.writeContinue();
    const bytes = await readBody(message, bodyLimitBytes, onReceived);
    if (bytes.length >= DISPATCH_LIMITS.largeBodyBytes) await this.#turn();
    return route.takesBody ? parseJson(bytes) : undefined;
  }

  /**
   * Returns a function that counts the received bytes of a large body and throws when there is no
   * room for them.
   */
  #bodyCounter({ headers }: IncomingMessage, response: ServerResponse): (received: number) => void {
    if (Number(headers['content-length'] ?? 0) >= DISPATCH_LIMITS.largeBodyBytes)
      this.#bodies.ensureRoom();
    let take: ((bytes: number) => void) | undefined;
    let counted = 0;
    return (received) => {
      if (received < DISPATCH_LIMITS.largeBodyBytes) return;
      take ??= this.#bodies.account(response);
      this.#bodies.ensureRoom(received - counted);
      take(received - counted);
      counted = received;
    };
  }

  /** Resolves in a turn of the event loop in which no other large body is parsed. */
  #turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => nextTurn());
    return this.#lastTurn;
  }

  #callOf(
    { message, response }: Exchange,
    match: Match<Route>,
    target: Target,
    body: unknown,
  ): Call {
    return {
      path: match.values,
      query: target.query,
      body,
      headers: message.headers,
      ensureWanted: () => {
        if (response.destroyed) throw clientGone();
        this.#replies.ensureRoom();
      },
      signal: () => disconnectSignal(response),
    };
  }

  /**
   * Counts a large reply. It becomes bytes, because Node would keep its text in memory beside them.
   */
  #admit(reply: Reply, response: ServerResponse): Reply {
    const { body = '' } = reply;
    if (body.length < DISPATCH_LIMITS.largeReplyCharacters || response.destroyed) return reply;
    this.#replies.ensureRoom();
    const bytes = Buffer.from(body);
    this.#replies.account(response)(bytes.length);
    return { ...reply, body: bytes };
  }

  /** Returns the problem to answer with; undefined if the client has disconnected. */
  #problemOf(thrown: unknown): Problem | undefined {
    if (thrown instanceof ClientGone) return undefined;
    return thrown instanceof Problem
      ? thrown
      : (this.#options.toProblem(thrown) ?? unexpected(thrown));
  }

  #failure(problem: Problem): Settled {
    const reply = problemReply(problem, this.#options.problemBase);
    if (LOGGED_DETAIL.has(problem.slug)) return { reply, reason: problem.message };
    // The cause of a 4xx may quote the request, so it is not logged.
    if (reply.status < 500) return { reply };
    return problem.cause === undefined
      ? { reply, reason: problem.message }
      : { reply, error: problem.cause };
  }

  #send(
    { message, response, awaitsContinue, headers }: Exchange,
    reply: Reply,
    requestId: string,
  ): void {
    const complete =
      headers.length === 0 ? reply : { ...reply, headers: [...(reply.headers ?? []), ...headers] };
    const closes = reply.status === 413 || this.#leavesBodyUnread(message, awaitsContinue);
    if (closes) sendReplyAndClose(message, response, complete, requestId);
    else sendReply(response, complete, requestId);
  }

  /** Whether more of the body is to come than Node should discard to keep the connection. */
  #leavesBodyUnread(message: IncomingMessage, awaitsContinue: boolean): boolean {
    if (message.complete || !hasBody(message)) return false;
    const declared = message.headers['content-length'];
    return (
      awaitsContinue || declared === undefined || Number(declared) > this.#options.bodyLimitBytes
    );
  }
}

function routeOf({ place }: Match<Route>, { method = '' }: IncomingMessage): Route {
  const { allow, methods } = place;
  const route = methods.get(method);
  if (route) return route;
  throw new Problem('method-not-allowed', `This path allows ${allow}.`, {
    headers: ['allow', allow],
  });
}

/** Yields once, so that a parse error later in the same packet takes precedence. */
async function parserCaughtUp(): Promise<void> {
  await undefined;
}

/** Waits a random time around `heldBackMs`, so that refused clients do not retry in step. */
function holdBack(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, DISPATCH_LIMITS.heldBackMs * (0.5 + Math.random()));
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function disconnectSignal(response: ServerResponse): AbortSignal {
  if (response.destroyed) return AbortSignal.abort(clientGone());
  const controller = new AbortController();
  response.once('close', () => response.writableEnded || controller.abort(clientGone()));
  return controller.signal;
}

function clientGone(): ClientGone {
  return new ClientGone('the connection was closed before the answer');
}

function unexpected(cause: unknown): Problem {
  return new Problem('internal-server-error', 'Something unexpected happened.', { cause });
}
