// Parses the request target (RFC 9112, section 3.2). `new URL` would read `//evil/x` as a host.
import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

/** The decoded segments of the path (`/notes/7` has two), and the raw query without its `?`. */
export interface Target {
  readonly segments: readonly string[];
  readonly query: string;
  /** Whether the target is `*`, which stands for the whole server. */
  readonly isServer: boolean;
}

/**
 * Parses a target in origin form (`/notes?limit=5`) or absolute form (`http://host/notes`), or the
 * `*` of OPTIONS. Decodes each segment separately, so an encoded slash does not separate segments.
 * Throws bad-request for other forms, a user, a fragment, or percent-encoding that is not UTF-8.
 * Accepts all printable ASCII, because browsers and libraries send some of it raw, such as `|`.
 */
export function parseTarget({
  method,
  url: text = '',
}: Pick<IncomingMessage, 'method' | 'url'>): Target {
  if (method === 'OPTIONS' && text === '*') return { segments: [], query: '', isServer: true };
  const origin = text.startsWith('/') ? text : toOriginForm(text);
  if (text.includes('#')) throw new Problem('bad-request', mustEncode('A # in the request target'));
  if (origin === undefined) throw new Problem('bad-request', 'The request target is not a path.');
  const questionMark = origin.indexOf('?');
  const path = questionMark === -1 ? origin : origin.slice(0, questionMark);
  const query = questionMark === -1 ? '' : origin.slice(questionMark + 1);
  // URLSearchParams would replace what is not UTF-8, and would keep a % without digits.
  if (query.includes('%')) decode(query, 'query');
  const segments = path.slice(1).split('/');
  return {
    segments: path.includes('%') ? segments.map((each) => decode(each, 'path')) : segments,
    query,
    isServer: false,
  };
}

/** Returns the detail for a target that is not percent-encoded. */
export function mustEncode(what: string): string {
  return `${what} must be percent-encoded (with curl: --get --data-urlencode 'q=TEXT').`;
}

function toOriginForm(absolute: string): string | undefined {
  const rest = /^https?:\/\/[^/?#@]+(|[/?#].*)$/is.exec(absolute)?.[1];
  return rest === undefined || rest.startsWith('/') ? rest : `/${rest}`;
}

function decode(text: string, part: 'path' | 'query'): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    const detail = `The percent-encoding of the ${part} is not valid; a % itself is %25.`;
    throw new Problem('bad-request', detail, { cause });
  }
}
