// One request and what is known of it, from its arrival to its answer.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { ByteBudget } from './byte-budget.ts';
import type { Arrival } from './connections.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import { ClientGone, type Problem } from './problem.ts';
import type { Reply, WrittenIds } from './reply.ts';
import type { Admission, BodyFormat, Call, ClientKey, Route } from './route.ts';

/** The parts of a request that tell who sent it. */
export interface Sender {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

const NO_BYTES = Buffer.alloc(0);

/** One request, and what the steps so far have found out. */
export class Exchange implements Call {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: IncomingHttpHeaders;
  readonly method: string | undefined;
  readonly requestId: string;
  readonly arrivedMs = performance.now();
  readonly awaitsContinue: boolean;
  admission: Admission = { headers: [] };
  template: string | undefined;
  route: Route | undefined;
  pathValues: readonly string[] = [];
  query = '';
  format: BodyFormat = 'json';
  bytes: Buffer = NO_BYTES;
  body: unknown;
  /** The internal cause of a 5xx, or of the end of a stream, for the log. */
  error: unknown;
  /** The ids that a write has created; undefined unless a write was carried out. */
  createdIds: WrittenIds | undefined;
  logged: Reply['logged'];
  sentBytes = 0;
  /** Why it was refused (401, 403, 429, or a 5xx without a cause), or why its stream was ended. */
  reason: string | undefined;
  readonly #replies: ByteBudget;
  readonly #networkOf: (sender: Sender) => string;

  constructor(arrival: Arrival, replies: ByteBudget, networkOf: (sender: Sender) => string) {
    const { message, response, requestId, awaitsContinue } = arrival;
    this.message = message;
    this.response = response;
    this.headers = message.headers;
    this.method = message.method;
    this.requestId = requestId;
    this.awaitsContinue = awaitsContinue;
    this.#replies = replies;
    this.#networkOf = networkOf;
  }

  get key(): ClientKey | undefined {
    return this.admission.key;
  }

  clientId(): string {
    return this.key?.digest ?? this.#networkOf(this.message);
  }

  enter(admission: Admission): void {
    this.admission = admission;
    if (admission.refusal) throw admission.refusal;
  }

  async charge(requests: number): Promise<void> {
    const { charge } = this.admission;
    if (charge) this.enter(await charge(requests));
  }

  ensureSendable(): void {
    if (this.response.destroyed) throw new ClientGone();
    if (this.#replies.heldBy(this.response) === 0) this.#replies.ensureRoom();
  }

  refusalFor(bytes: number): Problem | undefined {
    const isLarge = bytes >= DISPATCH_LIMITS.largeReplyCharacters;
    return isLarge ? this.#replies.refusal(bytes) : undefined;
  }

  reserveLarge(): Promise<void> {
    return this.#replies.reserve(this.response, DISPATCH_LIMITS.largePageBytes, this.signal());
  }

  signal(): AbortSignal {
    const { response } = this;
    if (response.destroyed) return AbortSignal.abort(new ClientGone());
    const controller = new AbortController();
    response.once('close', () => response.writableEnded || controller.abort(new ClientGone()));
    return controller.signal;
  }

  inputSignal(): AbortSignal {
    const { socket } = this.message;
    const controller = new AbortController();
    const abort = () => controller.abort();
    if (socket.readableEnded) abort();
    else socket.once('end', abort);
    this.response.once('close', () => socket.off('end', abort));
    return AbortSignal.any([this.signal(), controller.signal]);
  }
}

/** How a request ended, for the log and the metrics. */
export interface Ending {
  readonly exchange: Exchange;
  /** Undefined if the client has disconnected. */
  readonly status: number | undefined;
  readonly milliseconds: number;
  readonly stream?: 'opened' | 'ended';
}
