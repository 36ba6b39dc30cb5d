// The types that the steps of handling a request share.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { BodyFormat, BodyFormats } from './body/formats.ts';
import type { Problem } from './problem.ts';
import type { Reply } from './reply.ts';

/** A request as a handler sees it: strictly parsed, but not validated. */
export interface Call {
  /** The values of the path parameters, percent-decoded, in the order of the template. */
  readonly pathValues: readonly string[];
  /** The query without its question mark, as it was sent. */
  readonly query: string;
  /** The JSON value of the body, or of its lines as an array; undefined where none is taken. */
  readonly body: unknown;
  readonly format: BodyFormat;
  /** The body as it was sent; empty where the route takes none. */
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** As in {@link Admission}. */
  readonly client: string | undefined;
  /** Identifies the client, by its key or else by its network. */
  clientId(): string;
  /** Counts further requests against the client's rate limit; rejects with too-many-requests. */
  charge(requests: number): Promise<void>;
  /**
   * Throws if a large reply could not be sent now: ClientGone if the client has disconnected, and
   * service-unavailable if there is no memory for it.
   */
  ensureSendable(): void;
  /**
   * Resolves when there is memory to make the largest reply, which counts as taken from then on.
   * Rejects as `ensureSendable` does.
   */
  reserveLarge(): Promise<void>;
  /** Returns a signal that aborts with ClientGone if the client disconnects before the reply. */
  signal(): AbortSignal;
}

/** The handler of one method and path. `handle` may throw a {@link Problem}. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly template: string;
  /** Undefined if the route ignores bodies. */
  readonly accepts?: BodyFormats | undefined;
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}

/** The parts of a request that tell who sent it. */
export interface Sender {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** What a guard decides. `headers` (flat: name, value, name, value) go with any answer. */
export interface Admission {
  readonly headers: readonly string[];
  /** Identifies the client's key without revealing it; undefined as `key`. */
  readonly client?: string | undefined;
  /** The number of the client's key; undefined if none is required or accepted. */
  readonly key?: number | undefined;
  /** The problem that refuses the request. */
  readonly refusal?: Problem;
  /** Counts further requests; the result replaces this admission. Undefined if nothing counts. */
  readonly charge?: ((requests: number) => Promise<Admission>) | undefined;
  /** The reply to a request that needs no route. */
  readonly reply?: Reply;
}

/** Decides about a request with these path segments. May throw a {@link Problem}. */
export type Guard = (
  message: IncomingMessage,
  segments: readonly string[],
) => Admission | Promise<Admission>;

/** How a request ended, for the log and the metrics. */
export interface Outcome {
  readonly requestId: string;
  readonly method: string;
  /** As in {@link Admission}. */
  readonly key: number | undefined;
  /** The template of the path; undefined if no route matched. */
  readonly template: string | undefined;
  /** Undefined if the client had disconnected before the answer. */
  readonly status: number | undefined;
  readonly milliseconds: number;
  /** Whether a stream has begun or ended; undefined for any other reply. */
  readonly stream?: 'opened' | 'ended';
  /** The internal cause of a 5xx, or of the end of a stream. */
  readonly error: unknown;
  /** The detail that was sent, for 401, 403, 429 and a 5xx without an internal cause. */
  readonly reason: string | undefined;
}

/** Handles one well-formed request. The answer carries `requestId`. */
export type RequestListener = (
  message: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  awaitsContinue: boolean,
) => void;
