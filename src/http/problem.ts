// Problem details (RFC 9457): the table of types, the error class, and the reply to a problem.
import { STATUS_CODES } from 'node:http';
import { checkHeaders, type Reply } from './reply.ts';

/**
 * The problem types by slug, the last segment of their `type` URI: status, meaning and remedy. The
 * contract and the guide to problems repeat the meanings, word for word. Remedies have code between
 * backticks.
 */
export const problemTypes = {
  'bad-request': {
    status: 400,
    meaning:
      'The request is malformed: its HTTP, a header or its JSON cannot be parsed, or its list of ' +
      'tasks or items is empty.',
    remedy:
      'Correct what the detail names and send the request again. Unchanged, it will be refused ' +
      'again.',
  },
  unauthorized: {
    status: 401,
    meaning: 'This path requires a key, and the request has none or a wrong one.',
    remedy:
      'Send one of the keys of this service, as `authorization: Bearer KEY` or `x-api-key: KEY`.',
  },
  forbidden: {
    status: 403,
    meaning:
      'A browser sent a write on behalf of another site, or the host header is not a name of ' +
      'this service.',
    remedy:
      'Use the service under its own host name or from its own pages. The operator can ' +
      'allow the pages of other origins with `--cors-origin`, and a public host name with ' +
      '`--base-url`.',
  },
  'not-found': {
    status: 404,
    meaning: 'There is nothing at this path, or no record with this id.',
    remedy:
      'Check the path: a slash at its end makes it a different path. The record may have ' +
      'been deleted; the list shows the existing ones.',
  },
  'method-not-allowed': {
    status: 405,
    meaning: 'The path exists, but it does not support this method.',
    remedy: 'Use one of the methods in the `allow` header.',
  },
  'request-timeout': {
    status: 408,
    meaning: 'The request did not arrive completely in time. None of it was used.',
    remedy: 'Send it again, over a faster connection if possible.',
  },
  'cursor-expired': {
    status: 410,
    meaning:
      'The changes after this cursor are no longer all known: it is too old, or the database has ' +
      'been restored, imported or copied since.',
    remedy:
      'Read the current cursor with `GET /changes`, then all records, and follow the changes ' +
      'from that cursor.',
  },
  'precondition-failed': {
    status: 412,
    meaning:
      'The record or list is not in the state that `if-match` or `if-none-match` requires. ' +
      'Nothing was changed.',
    remedy:
      'Read the record again and decide whether the change is still right. The `etag` header ' +
      'of this answer is its current entity tag.',
  },
  'payload-too-large': {
    status: 413,
    meaning:
      'The body is larger than this service accepts. None of it was used, and the connection ' +
      'is closed.',
    remedy: 'Send a smaller body. The operator can raise the limit with `--body-limit`.',
  },
  'unsupported-media-type': {
    status: 415,
    meaning:
      'This operation does not accept the declared type or charset of the body, or the body has ' +
      'a content coding.',
    remedy:
      'Send `content-type: application/json` in UTF-8, without a `content-encoding`. With curl: ' +
      '`--json`, or `-H "content-type: application/json"` beside `--data`.',
  },
  'expectation-failed': {
    status: 417,
    meaning: 'The request has an expectation that this service does not support.',
    remedy: 'Remove the `expect` header. The only supported expectation is `100-continue`.',
  },
  'validation-failed': {
    status: 422,
    meaning:
      'The request is well-formed, but a path parameter, a query parameter or the body ' +
      'violates the contract.',
    remedy:
      'The member `errors` has an entry for each violated rule, up to 20: its location, the ' +
      'rule, and what it requires. Correct these and send the request again.',
  },
  'idempotency-key-reused': {
    status: 422,
    meaning: 'Another request with a different body has already used this idempotency key.',
    remedy:
      'Send a new key with each new request. Repeat a key only with the body that it was ' +
      'first sent with.',
  },
  'too-many-requests': {
    status: 429,
    meaning:
      'This client has sent more requests than its rate limit allows, or too many wrong keys.',
    remedy:
      'Wait for the number of seconds in the `retry-after` header. Then send more slowly, and ' +
      'only valid keys.',
  },
  'request-header-fields-too-large': {
    status: 431,
    meaning:
      'The request line and headers together are larger than this service accepts, or there ' +
      'are too many headers.',
    remedy: 'Send fewer or shorter headers. In a browser, delete the cookies of this site.',
  },
  'internal-server-error': {
    status: 500,
    meaning: 'Something unexpected happened. The request is not the cause.',
    remedy:
      'Report the id in `x-request-id` to the operator: the log of the service has the cause ' +
      'under this id.',
  },
  'not-implemented': {
    status: 501,
    meaning: 'The body has a transfer coding that this service does not support.',
    remedy: 'Send the body with a `content-length` or with `transfer-encoding: chunked`.',
  },
  'service-unavailable': {
    status: 503,
    meaning:
      'The service cannot handle this request now: the database is busy or unavailable, the ' +
      'disk is full, too much work is waiting, the search index is catching up, or the service ' +
      'is stopping. Nothing was stored, unless the detail says that it may have been.',
    remedy: 'Try again after the number of seconds in the `retry-after` header.',
  },
  'http-version-not-supported': {
    status: 505,
    meaning: 'The request is neither HTTP/1.1 nor HTTP/1.0.',
    remedy: 'Use HTTP/1.1.',
  },
} as const satisfies Record<string, { status: number; meaning: string; remedy: string }>;

/** The name of a problem type. */
export type ProblemSlug = keyof typeof problemTypes;

/** A violated rule. `pointer` is a JSON Pointer into the body, `code` as in the contract. */
export interface Violation {
  readonly field: string;
  readonly in: 'body' | 'query' | 'path';
  readonly pointer?: string;
  readonly code: string;
  readonly detail: string;
}

/** The optional parts of a problem. `headers` is flat: name, value, name, value. */
export interface ProblemExtras {
  readonly headers?: readonly string[];
  readonly errors?: readonly Violation[];
  /** Delays the answer, so that clients that retry at once do not keep the service busy. */
  readonly heldBack?: boolean;
  /** The internal cause. It is logged, never sent. */
  readonly cause?: unknown;
}

/** An error that is sent as the answer to a request, so its detail must not reveal internals. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly slug: ProblemSlug;
  readonly headers: readonly string[];
  readonly errors: readonly Violation[] | undefined;
  readonly heldBack: boolean;

  constructor(
    slug: ProblemSlug,
    detail: string,
    { headers = [], errors, heldBack = false, cause }: ProblemExtras = {},
  ) {
    super(detail, { cause });
    checkHeaders(headers);
    this.slug = slug;
    this.headers = headers;
    this.errors = errors;
    this.heldBack = heldBack;
  }
}

const PROBLEM_HEADERS = ['content-type', 'application/problem+json', 'cache-control', 'no-store'];

/** Returns a 503 for a request that may succeed after `retryAfterS` seconds. */
export function unavailable(
  detail: string,
  {
    retryAfterS = 1,
    ...extras
  }: Pick<ProblemExtras, 'cause' | 'heldBack'> & { readonly retryAfterS?: number } = {},
): Problem {
  return new Problem('service-unavailable', detail, {
    headers: ['retry-after', String(retryAfterS)],
    ...extras,
  });
}

/** Returns the `title` of a problem: the name of its status, such as "Not Found". */
export function problemTitle(slug: ProblemSlug): string {
  return STATUS_CODES[problemTypes[slug].status] ?? slug;
}

/** Returns the reply for a problem. Its `type` URI begins with `problemBase`. */
export function problemReply(problem: Problem, problemBase: string): Reply {
  const { status } = problemTypes[problem.slug];
  return {
    status,
    headers: [...PROBLEM_HEADERS, ...problem.headers],
    body: JSON.stringify({
      type: `${problemBase}/${problem.slug}`,
      title: problemTitle(problem.slug),
      status,
      detail: problem.message,
      errors: problem.errors,
    }),
  };
}
