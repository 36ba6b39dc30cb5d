// What a server and its parts agree on: routes, guards, and how a request ended.
import type { IncomingMessage } from 'node:http';
import type { BodyFormats } from './body/formats.ts';
import type { Admission, Exchange } from './exchange.ts';
import type { Reply } from './reply.ts';

/** A request as a handler sees it. */
export type Call = Omit<
  Exchange,
  'createdIds' | 'enter' | 'error' | 'message' | 'reason' | 'response' | 'sentBytes' | 'share'
>;

/** The handler of one method and path. `handle` may throw a Problem. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly template: string;
  /** Undefined if the route ignores bodies. */
  readonly accepts?: BodyFormats | undefined;
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}

/** Decides about a request with these path segments. May throw a Problem. */
export type Guard = (
  message: IncomingMessage,
  segments: readonly string[],
) => Admission | Promise<Admission>;

/** How a request ended, for the log and the metrics. */
export interface Outcome {
  readonly exchange: Exchange;
  /** Undefined if the client has disconnected. */
  readonly status: number | undefined;
  readonly milliseconds: number;
  readonly stream?: 'opened' | 'ended';
}
