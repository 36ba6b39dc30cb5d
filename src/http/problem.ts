// The errors that end a request without the answer of its handler, and their replies (RFC 9457).
import { STATUS_CODES } from 'node:http';
import type { Reply } from './reply.ts';

/** The status of each problem type by slug, the end of its `type`. The contract has the texts. */
export const PROBLEM_STATUS = {
  'bad-request': 400,
  unauthorized: 401,
  forbidden: 403,
  'insufficient-access': 403,
  'not-found': 404,
  'method-not-allowed': 405,
  'request-timeout': 408,
  'cursor-expired': 410,
  'precondition-failed': 412,
  'payload-too-large': 413,
  'unsupported-media-type': 415,
  'expectation-failed': 417,
  'validation-failed': 422,
  'idempotency-key-reused': 422,
  'too-many-requests': 429,
  'request-header-fields-too-large': 431,
  'internal-server-error': 500,
  'not-implemented': 501,
  'service-unavailable': 503,
  'http-version-not-supported': 505,
} as const;

export type ProblemSlug = keyof typeof PROBLEM_STATUS;

/** A violated rule. `pointer` is a JSON Pointer into the body, `code` as in the contract. */
export interface Violation {
  readonly field: string;
  readonly in: 'body' | 'query' | 'path';
  readonly pointer?: string;
  readonly code: string;
  readonly detail: string;
}

/** The optional parts of a problem. `headers` is flat: name, value, name, value. */
interface ProblemExtras {
  readonly headers?: readonly string[];
  readonly errors?: readonly Violation[];
  /** Delays the answer, so that clients that retry at once do not keep the service busy. */
  readonly heldBack?: boolean;
  readonly cause?: unknown;
}

/** An error that is sent as the answer to a request, so its detail must not reveal internals. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly slug: ProblemSlug;
  readonly status: number;
  readonly extras: ProblemExtras;

  constructor(slug: ProblemSlug, detail: string, extras: ProblemExtras = {}) {
    super(detail, { cause: extras.cause });
    this.slug = slug;
    this.status = PROBLEM_STATUS[slug];
    this.extras = extras;
  }
}

/** The client disconnected before its request was complete or answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
  override readonly message = 'the client disconnected before the answer';
}

const PROBLEM_HEADERS = ['content-type', 'application/problem+json', 'cache-control', 'no-store'];

/** Returns a 503 with the time after which the request may succeed. */
export function unavailable(detail: string, extras: ProblemExtras = {}, retryAfterS = 1): Problem {
  const headers = ['retry-after', String(retryAfterS)];
  return new Problem('service-unavailable', detail, { ...extras, headers });
}

/** Returns the reply for a problem. Its `type` URI begins with `problemBase`. */
export function problemReply(problem: Problem, problemBase: string): Reply {
  const { slug, status, message: detail, extras } = problem;
  const { headers = [], errors } = extras;
  const type = `${problemBase}/${slug}`;
  const title = STATUS_CODES[status];
  return {
    status,
    headers: [...PROBLEM_HEADERS, ...headers],
    body: JSON.stringify({ type, title, status, detail, errors }),
  };
}
