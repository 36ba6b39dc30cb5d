// Answers well-formed requests. `#answer` has all steps, in the order in which they report faults.
import { performance } from 'node:perf_hooks';
import { nextTick } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { BodyReader, hasBody } from './body/read.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Arrival } from './connections.ts';
import { type Ending, Exchange, type Sender } from './exchange.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import { checkMessage, parseTarget, type Target } from './message.ts';
import { ClientGone, Problem, problemReply, unavailable } from './problem.ts';
import { bodyLength, type Chunk, type Reply, sendChunks, sendHead, sendReply } from './reply.ts';
import type { Guard, Route } from './route.ts';
import { type PathItem, Router } from './router.ts';
import { Slice, Slices } from './turns.ts';

interface DispatchOptions {
  readonly routes: readonly Route[];
  readonly guard: Guard;
  readonly bodyLimitBytes: number;
  readonly problemBase: string;
  /** Returns the number of connections that were accepted so far. */
  readonly accepted: () => number;
  readonly onEnd: (ending: Ending) => void;
  /** Identifies a client without a key. */
  readonly networkOf: (sender: Sender) => string;
  /** Returns the problem for an error of a handler; undefined means an unexpected error (500). */
  readonly toProblem: (error: unknown) => Problem | undefined;
}

/** The statuses of refusals whose detail is logged, because it never quotes the request. */
const LOGGED_STATUSES: ReadonlySet<number> = new Set([401, 403, 429]);

/** How many requests an iteration answers at least, even while connections arrive. */
const MIN_ANSWERED = 4;

const SERVER_OPTIONS: Reply = {
  status: 204,
  headers: ['allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
};

/** Answers well-formed requests and reports how they ended. */
export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #router: Router;
  readonly #root: Route | undefined;
  readonly #bodies: BodyReader;
  readonly #replies = new ByteBudget(
    DISPATCH_LIMITS.repliesBytes,
    'Too many large answers are being read, or wait for clients that read slowly.',
  );
  readonly #answering: Slice;
  readonly #sending: Slices;
  #streams = 0;
  #arrived: Exchange[] = [];

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#router = new Router(options.routes);
    this.#root = options.routes.find(({ template }) => template === '/');
    this.#bodies = new BodyReader(options.bodyLimitBytes);
    this.#answering = new Slice(options.accepted);
    this.#sending = new Slices(options.accepted);
  }

  dispatch(arrival: Arrival): void {
    const exchange = new Exchange(arrival, this.#replies, this.#options.networkOf);
    // Answer together what arrives together: one check of memory, one wake-up, and whole bodies.
    if (this.#arrived.push(exchange) > 1) return;
    // A lone client need not wait, unless a body comes: the next tick would precede its rest.
    if (arrival.isOnlyClient && !hasBody(arrival.message)) nextTick(this.#answerArrived);
    else setImmediate(this.#answerArrived);
  }

  readonly #answerArrived = () => {
    const arrived = this.#arrived;
    this.#arrived = [];
    this.#answering.begin();
    let count = 0;
    for (const exchange of arrived) {
      if (count >= MIN_ANSWERED && this.#answering.isOver) break;
      count += 1;
      void this.#answer(exchange);
    }
    if (count === arrived.length) return;
    // The rest comes first in the next iteration.
    if (this.#arrived.length === 0) setImmediate(this.#answerArrived);
    this.#arrived = [...arrived.slice(count), ...this.#arrived];
  };

  /** Never rejects. Awaits only what is not ready: each `await` costs time. */
  async #answer(exchange: Exchange): Promise<void> {
    const { message } = exchange;
    let sent: Reply | undefined;
    let stream: Reply['stream'];
    try {
      checkMessage(message); // 505, 431, 400, 501, 417
      const target = parseTarget(message); // 400
      const admission = this.#options.guard(message, target.segments); // 403
      exchange.enter(admission instanceof Promise ? await admission : admission); // 403, 401, 429
      const found = exchange.admission.reply ?? this.#find(exchange, target); // 404, 405
      let reply: Reply | Promise<Reply>;
      if ('handle' in found) {
        const received = this.#bodies.receive(exchange, found); // 413, 415, 400
        if (received) await received;
        reply = found.handle(exchange); // 400, 422, 404 and the rest
      } else reply = found;
      let whole = reply instanceof Promise ? await reply : reply;
      stream = whole.stream;
      if ('handle' in found && found.method !== 'GET') exchange.createdIds = whole.createdIds ?? {};
      if (this.#count(exchange, whole)) {
        const turn = this.#sending.next();
        if (turn) await turn;
        whole = encoded(whole);
      }
      sent = this.#send(exchange, whole);
    } catch (error) {
      // Node may refuse the headers of this answer, too.
      sent = await this.#fail(exchange, error).catch((fault) => this.#fail(exchange, fault));
    }
    const milliseconds = performance.now() - exchange.arrivedMs;
    const ending: Ending = { exchange, status: sent?.status, milliseconds };
    if (sent?.stream && message.method !== 'HEAD')
      await this.#stream(exchange, sent.stream, ending);
    else {
      // Nobody will read it.
      if (stream) await stream.return(undefined);
      this.#options.onEnd(ending);
    }
  }

  async #stream(exchange: Exchange, stream: AsyncGenerator<Chunk>, ending: Ending): Promise<void> {
    const { response, arrivedMs } = exchange;
    const { onEnd } = this.#options;
    this.#streams += 1;
    onEnd({ ...ending, stream: 'opened' });
    const failure: unknown = await sendChunks(response, stream, (bytes) => {
      exchange.sentBytes += bytes;
    }).catch((error: unknown) => error);
    // A stream may be ended on purpose, as at a stop.
    if (failure instanceof Problem) exchange.reason = failure.message;
    else exchange.error = failure;
    this.#streams -= 1;
    onEnd({ ...ending, stream: 'ended', milliseconds: performance.now() - arrivedMs });
  }

  /** Finds the route of a request, or the reply if it needs none. Throws 404 or 405. */
  #find(exchange: Exchange, { segments, query }: Target): Route | Reply {
    if (segments.length === 0) return SERVER_OPTIONS;
    const { method = '' } = exchange.message;
    const match = this.#router.find(segments, method);
    if (!match) throw new Problem('not-found', 'There is nothing at this path.');
    const { template, methods, allow } = match.pathItem;
    exchange.template = template;
    if (method === 'OPTIONS') return optionsReply(match.pathItem);
    const route = methods.get(method);
    if (!route) {
      const headers = ['allow', allow];
      throw new Problem('method-not-allowed', `This path allows ${allow}.`, { headers });
    }
    exchange.route = route;
    exchange.pathValues = match.values;
    exchange.query = query;
    return route;
  }

  async #fail(exchange: Exchange, error: unknown): Promise<Reply | undefined> {
    // Yield once, so that a parse error later in the same packet takes precedence.
    await undefined;
    if (error instanceof ClientGone) return undefined;
    const { toProblem, problemBase } = this.#options;
    const problem =
      (error instanceof Problem ? error : toProblem(error)) ??
      new Problem('internal-server-error', 'Something unexpected happened.', { cause: error });
    if (problem.extras.heldBack) {
      // A random time, so that refused clients do not all retry at once.
      const milliseconds = DISPATCH_LIMITS.heldBackMs * (0.5 + Math.random());
      await delay(milliseconds, undefined, { signal: exchange.signal() }).catch(() => {});
    }
    const own = (exchange.route ?? this.#root)?.refuse?.(problem, exchange);
    const sent = this.#send(exchange, own ?? problemReply(problem, problemBase));
    const { status, cause, message: reason } = problem;
    // The detail and the cause of other 4xx may quote the request.
    if (status >= 500) exchange.error = cause;
    if (LOGGED_STATUSES.has(status) || (status >= 500 && cause === undefined))
      exchange.reason = reason;
    return sent;
  }

  /** Sends a reply and returns it, unless the client has disconnected. Throws before it sends. */
  #send(exchange: Exchange, reply: Reply): Reply | undefined {
    const { message, response, requestId, admission } = exchange;
    exchange.logged = reply.logged;
    if (response.destroyed) return undefined;
    const complete =
      admission.headers.length === 0
        ? reply
        : { ...reply, headers: [...(reply.headers ?? []), ...admission.headers] };
    if (reply.stream && this.#streams >= DISPATCH_LIMITS.streams)
      throw unavailable('Too many streams are open.');
    if (reply.status === 413 || (!message.complete && this.#bodies.leavesUnread(exchange)))
      response.setHeader('connection', 'close');
    // A client may read the reply only after it has sent the whole body.
    if (!message.complete) message.resume();
    if (reply.stream && message.method !== 'HEAD') sendHead(response, complete, requestId);
    else sendReply(response, complete, requestId, this.#sending);
    if (admission.key && message.method !== 'HEAD') exchange.sentBytes = bodyLength(reply);
    return reply;
  }

  /** Counts a large reply; returns whether it is large. Throws 503. */
  #count({ message, response }: Exchange, reply: Reply): boolean {
    const { body = '', large } = reply;
    if (!large && body.length < DISPATCH_LIMITS.largeReplyCharacters) return false;
    const isRead = message.method === 'GET' || message.method === 'HEAD';
    // A write is already done; it was carried out only while there was room.
    if (isRead && this.#replies.heldBy(response) === 0) this.#replies.ensureRoom();
    this.#replies.hold(response, bodyLength(reply));
    return true;
  }
}

/** Encodes a large reply: Node would keep the text in memory beside the bytes. */
function encoded(reply: Reply): Reply {
  const { body, ...others } = reply;
  if (body === undefined) return reply;
  return { ...others, large: [typeof body === 'string' ? Buffer.from(body) : body] };
}

function optionsReply({ allow, methods }: PathItem): Reply {
  const patches = methods.get('PATCH')?.accepts;
  const headers = patches ? ['accept-patch', patches.types.join(', ')] : [];
  return { status: 204, headers: ['allow', allow, ...headers] };
}
