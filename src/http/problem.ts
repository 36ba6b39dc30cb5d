// Everything that goes wrong is a Problem (RFC 9457): one table of their types, one error that carries one, and one
// function that turns it into an answer.
import { STATUS_CODES } from 'node:http';
import type { Reply } from './reply.ts';

/** The types of problems: the slug that ends the `type` URI, its status, and what its page says. Specification, section 7. */
export const problemTypes = {
  'bad-request': {
    status: 400,
    description: 'The request is malformed: its HTTP or its JSON cannot be read, or a list of work to do is empty.',
  },
  unauthorized: { status: 401, description: 'This path asks for a key, and none or a wrong one was sent.' },
  forbidden: {
    status: 403,
    description: 'A browser sent this write on behalf of another site, or to another host name.',
  },
  'not-found': { status: 404, description: 'There is nothing at this path, or no record with this id.' },
  'method-not-allowed': {
    status: 405,
    description: 'The path exists, but not for this method. The allow header lists the methods that it has.',
  },
  'request-timeout': { status: 408, description: 'The request did not arrive completely in time.' },
  'payload-too-large': {
    status: 413,
    description: 'The body is larger than this service accepts. Nothing of it was used, and the connection is closed.',
  },
  'unsupported-media-type': {
    status: 415,
    description:
      'The body is not declared as JSON. Send content-type: application/json in UTF-8, without a content-encoding. ' +
      'With curl: curl --json, or -H "content-type: application/json" beside --data.',
  },
  'expectation-failed': {
    status: 417,
    description: 'The only expectation that is understood is expect: 100-continue.',
  },
  'validation-failed': {
    status: 422,
    description:
      'The request can be read, but a path parameter, a query parameter or the body breaks a rule on types or ranges. ' +
      'The member errors has an entry for each rule that is violated.',
  },
  'too-many-requests': {
    status: 429,
    description:
      'This client has sent more requests than it may. The retry-after header says how many seconds to wait.',
  },
  'request-header-fields-too-large': {
    status: 431,
    description:
      'The request line and the headers together are larger than this service accepts, or there are too many headers.',
  },
  'internal-server-error': {
    status: 500,
    description: 'Something unexpected happened. The log of the service has the reason, under the id in x-request-id.',
  },
  'not-implemented': { status: 501, description: 'The request needs something that this service does not do.' },
  'service-unavailable': {
    status: 503,
    description:
      'The service cannot do this right now: the database is busy or gone, or too much work is waiting. Nothing was ' +
      'stored. The retry-after header says after how many seconds another try makes sense.',
  },
  'http-version-not-supported': { status: 505, description: 'The request is not HTTP/1.1 or HTTP/1.0.' },
} as const satisfies Record<string, { status: number; description: string }>;

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
