// One request and what is known of it, from its arrival to its answer.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { type ByteBudget, Share } from './body/byte-budget.ts';
import type { BodyFormat } from './body/formats.ts';
import type { Arrival } from './connections.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import { ClientGone, type Problem } from './problem.ts';
import type { Reply, WrittenIds } from './reply.ts';

/** The parts of a request that tell who sent it. */
export interface Sender {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** What is known of a key; representable in JSON. Members are null where nothing is declared. */
export interface KeyEntry {
  /** SHA-256 in base64: identifies the key without revealing it. */
  readonly digest: string;
  /** What the log calls it: its name, or else the first 8 hexadecimal digits of its SHA-256. */
  readonly label: string;
  readonly name: string | null;
  readonly access: 'read' | 'write';
  /** In UTC, to the second. A day is shown by its last second, and ends a second later. */
  readonly expiresAt: string | null;
  readonly expiresMs: number | null;
}

/** The key of a client. */
export interface Key extends KeyEntry {
  /** Whether it has expired, or has been removed or changed. */
  readonly isOver: boolean;
}

/** What a guard decides. `headers` (flat: name, value, name, value) go with any answer. */
export interface Admission {
  readonly headers: readonly string[];
  readonly key?: Key | undefined;
  readonly refusal?: Problem;
  /** Counts further requests; the result replaces this admission. Undefined if nothing counts. */
  readonly charge?: ((requests: number) => Promise<Admission>) | undefined;
  readonly reply?: Reply;
}

const NO_BYTES = Buffer.alloc(0);
const NOT_ADMITTED: Admission = { headers: [] };

/** One request, and what the steps so far have found out. It is parsed, but not validated. */
export class Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  readonly arrivedMs = performance.now();
  readonly awaitsContinue: boolean;
  admission = NOT_ADMITTED;
  template: string | undefined;
  /** The values of the path parameters, percent-decoded, in the order of the template. */
  pathValues: readonly string[] = [];
  query = '';
  format: BodyFormat = 'json';
  bytes: Buffer = NO_BYTES;
  /** The JSON value of the body, or of its lines as an array; undefined where none is taken. */
  body: unknown;
  /** The internal cause of a 5xx, or of the end of a stream, for the log. */
  error: unknown;
  /** The ids that a write has created; undefined unless a write was carried out. */
  createdIds: WrittenIds | undefined;
  /** The length of the body that was sent. */
  sentBytes = 0;
  /** The detail that was sent, for 401, 403, 429 and a 5xx without an internal cause. */
  reason: string | undefined;
  readonly #replies: ByteBudget;
  readonly #networkOf: (sender: Sender) => string;
  #share: Share | undefined;

  constructor(arrival: Arrival, replies: ByteBudget, networkOf: (sender: Sender) => string) {
    const { message, response, requestId, awaitsContinue } = arrival;
    this.message = message;
    this.response = response;
    this.headers = message.headers;
    this.requestId = requestId;
    this.awaitsContinue = awaitsContinue;
    this.#replies = replies;
    this.#networkOf = networkOf;
  }

  clientId(): string {
    return this.admission.key?.digest ?? this.#networkOf(this.message);
  }

  enter(admission: Admission): void {
    this.admission = admission;
    if (admission.refusal) throw admission.refusal;
  }

  /** Counts further requests against the client's rate limit; rejects with too-many-requests. */
  async charge(requests: number): Promise<void> {
    const { charge } = this.admission;
    if (charge) this.enter(await charge(requests));
  }

  get share(): Share {
    this.#share ??= new Share(this.#replies, this.response);
    return this.#share;
  }

  /** Throws ClientGone if the client has disconnected, and a 503 if large replies find no room. */
  ensureSendable(): void {
    if (this.response.destroyed) throw new ClientGone();
    if (!this.#share) this.#replies.ensureRoom();
  }

  /** Takes the memory of the largest reply as soon as it is free; rejects as `ensureSendable`. */
  reserveLarge(): Promise<void> {
    return this.share.reserve(DISPATCH_LIMITS.largePageBytes, this.signal());
  }

  /** Returns a signal that aborts with ClientGone if the client disconnects before the reply. */
  signal(): AbortSignal {
    const { response } = this;
    if (response.destroyed) return AbortSignal.abort(new ClientGone());
    const controller = new AbortController();
    response.once('close', () => response.writableEnded || controller.abort(new ClientGone()));
    return controller.signal;
  }

  /** Returns a signal that also aborts if the client closes its sending side: it may be gone. */
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
