// The request target (RFC 9112, section 3.2) taken apart by hand: `new URL` would let `//evil/x` choose the host.
import { Problem } from './problem.ts';

/** A request target: the decoded segments of its path (`/notes/7` has two) and its query without the question mark. */
export interface Target {
  readonly segments: readonly string[];
  readonly query: string;
}

/**
 * Takes apart an origin-form (`/notes?limit=5`) or absolute-form (`http://host/notes`) target. Segments are
 * percent-decoded one by one, so an encoded slash does not part them. Throws bad-request for anything else, for a user
 * or a fragment, and where the percent-encoding is none of UTF-8.
 */
export function parseTarget(text: string): Target {
  const origin = text.startsWith('/') ? text : originForm(text);
  if (origin === undefined || text.includes('#')) throw new Problem('bad-request', 'The request target is not a path.');
  const questionMark = origin.indexOf('?');
  const path = questionMark === -1 ? origin : origin.slice(0, questionMark);
  const segments = path.split('/').slice(1);
  return {
    segments: path.includes('%') ? segments.map(decodeSegment) : segments,
    query: questionMark === -1 ? '' : origin.slice(questionMark + 1),
  };
}

function originForm(absolute: string): string | undefined {
  const rest = /^https?:\/\/[^/?#@]+(|[/?#].*)$/is.exec(absolute)?.[1];
  return rest === undefined || rest.startsWith('/') ? rest : `/${rest}`;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new Problem('bad-request', 'The percent-encoding of the path is not valid.', { cause });
  }
}
