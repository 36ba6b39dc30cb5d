// One request and what is known of it, from its arrival to its answer.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type ByteBudget, Share } from './body/byte-budget.ts';
import type { BodyFormat } from './body/formats.ts';
import { ClientGone } from './body/read.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import type { Admission, Call, Sender } from './route.ts';

const NO_BYTES = Buffer.alloc(0);

/** What all requests of a dispatcher share. */
export interface SharedParts {
  /** The memory of all large replies. */
  readonly replies: ByteBudget;
  /** Identifies a client without a key. */
  readonly networkOf: (sender: Sender) => string;
}

/** One request, and what the steps so far have found out. Handlers see it as a {@link Call}. */
export class Exchange implements Call {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly arrivedMs = performance.now();
  /** The client sends its body only after a 100 (Continue). */
  readonly awaitsContinue: boolean;
  /** What the guard has decided so far; every answer gets its headers. */
  admission: Admission = { headers: [] };
  template: string | undefined;
  pathValues: readonly string[] = [];
  query = '';
  format: BodyFormat = 'json';
  bytes: Buffer = NO_BYTES;
  body: unknown;
  readonly #shared: SharedParts;
  #share: Share | undefined;

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    awaitsContinue: boolean,
    shared: SharedParts,
  ) {
    this.message = message;
    this.response = response;
    this.requestId = requestId;
    this.awaitsContinue = awaitsContinue;
    this.#shared = shared;
  }

  get headers(): IncomingHttpHeaders {
    return this.message.headers;
  }

  get client(): string | undefined {
    return this.admission.client;
  }

  clientId(): string {
    return this.admission.client ?? this.#shared.networkOf(this.message);
  }

  /** Records what the guard has decided. Throws its refusal. */
  enter(admission: Admission): void {
    this.admission = admission;
    if (admission.refusal) throw admission.refusal;
  }

  async charge(requests: number): Promise<void> {
    const { charge } = this.admission;
    if (charge) this.enter(await charge(requests));
  }

  /** What the reply holds of the memory of all large replies. */
  get share(): Share {
    this.#share ??= new Share(this.#shared.replies, this.response);
    return this.#share;
  }

  ensureSendable(): void {
    if (this.response.destroyed) throw clientGone();
    if (!this.#share) this.#shared.replies.ensureRoom();
  }

  reserveLarge(): Promise<void> {
    return this.share.reserve(DISPATCH_LIMITS.largePageBytes);
  }

  signal(): AbortSignal {
    return disconnectSignal(this.response);
  }
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
