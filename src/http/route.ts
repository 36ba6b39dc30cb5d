// What a server and its parts agree on: routes, what their handlers see, and guards.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Problem } from './problem.ts';
import type { Reply } from './reply.ts';

export interface BodyFormats {
  /** The media types. `application/json` includes `application/*+json`, except for patches. */
  readonly types: readonly string[];
  readonly maxLines: number;
}

/** The format of one body; of a text, its media type. */
export type BodyFormat = 'json' | 'lines' | `text/${string}`;

/** A request as a handler sees it. It is parsed, but not validated. */
export interface Call {
  readonly headers: IncomingHttpHeaders;
  /** The values of the path parameters, percent-decoded, in the order of the template. */
  readonly pathValues: readonly string[];
  readonly query: string;
  /** HEAD for the handler of GET. */
  readonly method: string | undefined;
  readonly format: BodyFormat;
  readonly bytes: Buffer;
  /** The JSON value of the body, of its lines as an array, or a text; undefined without a body. */
  readonly body: unknown;
  readonly key: ClientKey | undefined;
  /** Identifies the client by its key, or else by its network. */
  clientId(): string;
  /** Counts further requests against the client's rate limit; rejects with too-many-requests. */
  charge(requests: number): Promise<void>;
  /** Throws ClientGone if the client has disconnected, and a 503 if large replies find no room. */
  ensureSendable(): void;
  /** Returns the 503 for a reply of about `bytes` if it is large and finds no room. */
  refusalFor(bytes: number): Problem | undefined;
  /** Takes the memory of the largest reply as soon as it is free; rejects as `ensureSendable`. */
  reserveLarge(): Promise<void>;
  /** Returns a signal that aborts with ClientGone if the client disconnects before the reply. */
  signal(): AbortSignal;
  /** Returns a signal that also aborts if the client closes its sending side: it may be gone. */
  inputSignal(): AbortSignal;
}

/** The handler of one method and path. `handle` may throw a Problem. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly template: string;
  /** Whether the parameter at its end takes all segments that follow, with their slashes. */
  readonly takesRest?: boolean;
  /** Undefined if the route ignores bodies. */
  readonly accepts?: BodyFormats | undefined;
  readonly handle: (call: Call) => Reply | Promise<Reply>;
  /** Answers a problem of this route, at `/` of no route; undefined for the usual answer. */
  readonly refuse?: (problem: Problem, call: Call) => Reply | undefined;
}

/** What a server knows of the key of a client. Members are null where nothing is declared. */
export interface ClientKey {
  /** Its SHA-256 in base64, which identifies it without revealing it. */
  readonly digest: string;
  readonly name: string | null;
  /** What the log calls it: its name, or else the first 8 hexadecimal digits of its SHA-256. */
  readonly label: string;
  readonly access: 'read' | 'write';
  readonly expiresMs: number | null;
  /** In UTC, to the second. A day is shown by its last second, and ends a second later. */
  readonly expiresAt: string | null;
  /** Whether it has expired, or has been removed or changed. */
  readonly isOver: boolean;
}

/** What a guard decides. `headers` (flat: name, value, name, value) go with any answer. */
export interface Admission {
  readonly headers: readonly string[];
  readonly key?: ClientKey | undefined;
  readonly refusal?: Problem;
  /** Counts further requests; the result replaces this admission. Undefined if nothing counts. */
  readonly charge?: ((requests: number) => Promise<Admission>) | undefined;
  readonly reply?: Reply;
}

/** Decides about a request with these path segments. May throw a Problem. */
export type Guard = (
  message: IncomingMessage,
  segments: readonly string[],
) => Admission | Promise<Admission>;

/** An error of the parser of Node, and the input in which it is. */
interface ParserFault extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Returns whether it mends the input of a socket, and then gives another socket to `accept`. */
export type Mend = (
  fault: ParserFault,
  socket: Duplex,
  accept: (mended: Socket) => void,
) => boolean;
