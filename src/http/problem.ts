// Everything that goes wrong is a Problem (RFC 9457): one table of their types, one error that carries one, and one
// function that turns it into an answer.
import { STATUS_CODES } from 'node:http';
import type { Reply } from './reply.ts';

/**
 * The types of problems: the slug that ends the `type` URI, its status, what it means, and what one can do.
 * Specification, section 7.
 */
export const problemTypes = {
  'bad-request': {
    status: 400,
    meaning: 'The request is malformed: its HTTP or its JSON cannot be read, or a list of work to do is empty.',
    remedy: 'Read the detail, mend the request and send it again. As it is, it will be refused again.',
  },
  unauthorized: {
    status: 401,
    meaning: 'This path asks for a key, and none or a wrong one was sent.',
    remedy: 'Send a key that the service was given, as authorization: Bearer KEY or as x-api-key: KEY.',
  },
  forbidden: {
    status: 403,
    meaning: 'A browser sent this write on behalf of another site, or to another host name.',
    remedy:
      'Use the service by its own name, or from its own pages. Who runs it can let in the pages of other origins with ' +
      '--cors-origin, and its public name with --base-url.',
  },
  'not-found': {
    status: 404,
    meaning: 'There is nothing at this path, or no record with this id.',
    remedy:
      'Look at the path: one slash too many at its end makes it another one. A record may have been deleted; the list ' +
      'shows those that are there.',
  },
  'method-not-allowed': {
    status: 405,
    meaning: 'The path exists, but not for this method.',
    remedy: 'Use one of the methods that the allow header lists.',
  },
  'request-timeout': {
    status: 408,
    meaning: 'The request did not arrive completely in time. Nothing of it was used.',
    remedy: 'Send it again, over a quicker connection if there is one.',
  },
  'payload-too-large': {
    status: 413,
    meaning: 'The body is larger than this service accepts. Nothing of it was used, and the connection is closed.',
    remedy: 'Send less at one time. Who runs the service can allow more with --body-limit.',
  },
  'unsupported-media-type': {
    status: 415,
    meaning: 'The body is not declared as JSON.',
    remedy:
      'Send content-type: application/json in UTF-8, without a content-encoding. ' +
      'With curl: curl --json, or -H "content-type: application/json" beside --data.',
  },
  'expectation-failed': {
    status: 417,
    meaning: 'The request expects something that this service does not know.',
    remedy: 'Leave the expect header away: the only expectation that is understood is expect: 100-continue.',
  },
  'validation-failed': {
    status: 422,
    meaning:
      'The request can be read, but a path parameter, a query parameter or the body breaks a rule on types or ranges.',
    remedy:
      'The member errors has an entry for each rule that is violated: where it is, which rule, and what it asks for. ' +
      'Mend these and send the request again.',
  },
  'too-many-requests': {
    status: 429,
    meaning: 'This client has sent more requests than it may.',
    remedy: 'Wait as many seconds as the retry-after header says, and then send more slowly.',
  },
  'request-header-fields-too-large': {
    status: 431,
    meaning:
      'The request line and the headers together are larger than this service accepts, or there are too many headers.',
    remedy: 'Send fewer or shorter headers; in a browser, delete the cookies of this site.',
  },
  'internal-server-error': {
    status: 500,
    meaning: 'Something unexpected happened, and it is not the fault of the request.',
    remedy:
      'Tell whoever runs the service, with the id in x-request-id: the log of the service has the reason under it.',
  },
  'not-implemented': {
    status: 501,
    meaning: 'The request needs something that this service does not do.',
    remedy: 'Send the body with a content-length, or with the transfer coding chunked and no other.',
  },
  'service-unavailable': {
    status: 503,
    meaning:
      'The service cannot do this right now: the database is busy or gone, or too much work is waiting. Nothing was ' +
      'stored, unless the detail says that it may have been.',
    remedy: 'The retry-after header says after how many seconds another try makes sense.',
  },
  'http-version-not-supported': {
    status: 505,
    meaning: 'The request is not HTTP/1.1 or HTTP/1.0.',
    remedy: 'Let the client speak HTTP/1.1.',
  },
} as const satisfies Record<string, { status: number; meaning: string; remedy: string }>;

/** The last segment of a problem's `type` URI. */
export type ProblemSlug = keyof typeof problemTypes;

/** One violated rule of a 422: where it is (`pointer` for bodies only) and which JSON Schema keyword it breaks. */
export interface Violation {
  readonly field: string;
  readonly in: 'body' | 'query' | 'path';
  readonly pointer?: string;
  readonly code: string;
  readonly detail: string;
}

/** What a problem may carry beside its detail. `headers` is flat: name, value, name, value. */
export interface ProblemExtras {
  readonly headers?: readonly string[];
  readonly errors?: readonly Violation[];
  /**
   * Whether the answer is to be held back for a while: who is refused because there is too much to do, and asks again at
   * once, would take more of the service's time with refusals than others with answers.
   */
  readonly heldBack?: boolean;
  /** What went wrong inside; it goes to the log and never to the client. */
  readonly cause?: unknown;
}

/** Throw it anywhere in the handling of a request, and it becomes the answer. `detail` is sent: nothing of the inside. */
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
    this.slug = slug;
    this.headers = headers;
    this.errors = errors;
    this.heldBack = heldBack;
  }
}

/** Seconds after which a client that got a 503 is asked to try again. */
const RETRY_AFTER_S = 1;

/** The problem of a service that cannot do this now and may soon. */
export function unavailable(detail: string, extras?: Pick<ProblemExtras, 'cause' | 'heldBack'>): Problem {
  return new Problem('service-unavailable', detail, { headers: ['retry-after', String(RETRY_AFTER_S)], ...extras });
}

/** The name of a problem's status, as in "Not Found": its `title`. */
export function problemTitle(slug: ProblemSlug): string {
  return STATUS_CODES[problemTypes[slug].status] ?? slug;
}

/** The one writer of errors: the answer for `problem`, its type below `problemBase` (RFC 9457, section 3.1). */
export function problemReply(problem: Problem, problemBase: string): Reply {
  const { status } = problemTypes[problem.slug];
  return {
    status,
    headers: ['content-type', 'application/problem+json', 'cache-control', 'no-store', ...problem.headers],
    body: JSON.stringify({
      type: `${problemBase}/${problem.slug}`,
      title: problemTitle(problem.slug),
      status,
      detail: problem.message,
      errors: problem.errors,
    }),
  };
}
