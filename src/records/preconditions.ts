// Conditional requests for records and lists (RFC 9110, section 13).
import type { RequestHeaders } from '../contract/endpoint.ts';
import { type EntityTag, matchesStrongly, matchesWeakly } from '../http/body/entity-tags.ts';
import { Problem } from '../http/problem.ts';
import { type Condition, isNoneOf, isOneOf, NEVER } from './condition.ts';

/** The form of the tags of this service; no other tag can match. */
export const TAG = /^[0-9a-f]{8}[-.]\d{1,16}(?:\.ndjson)?$/;

/** How the tag of a text ends, after that of its record. */
const TEXT_END = /\.(?:md|txt)$/;

/** What proxies append to the tag of an answer that they compress. */
const COMPRESSED = /[-;](?:gzip|br|zstd|deflate)$/;

const SPOILT =
  'A proxy that compresses answers has changed the entity tag in if-match. Send the tag without ' +
  'W/ and without a suffix such as -gzip, or configure the proxy as /docs/guides/safe-writes says.';

const CHANGED =
  'The record or list is not in the state that if-match or if-none-match requires. Read it ' +
  'again, apply your change to it, and send the new etag in if-match.';

/** Returns the headers of an answer with a record or a list, given its entity tag. */
export function stateHeaders(tag: string): readonly string[] {
  return ['etag', `"${tag}"`, 'cache-control', 'private, no-cache'];
}

/** Returns the condition under which a write is carried out. */
export function writeCondition({
  'if-match': match = '*',
  'if-none-match': noneMatch = [],
}: RequestHeaders): Condition {
  if (noneMatch === '*') return NEVER;
  const excluded = textsOf(noneMatch);
  if (match === '*') return excluded.length > 0 ? isNoneOf(excluded) : null;
  const allowed = textsOf(match.filter(({ isWeak }) => !isWeak));
  return isOneOf(allowed.filter((text) => !excluded.includes(text)));
}

/** Returns a 304 if the client knows the state, else undefined. Throws 412. Both have `vary`. */
export function checkRead(headers: RequestHeaders, tag: string, ...vary: string[]) {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match && !matchesStrongly(match, tag)) throw preconditionFailed(tag, headers, ...vary);
  const isKnown = noneMatch && matchesWeakly(noneMatch, tag);
  return isKnown ? { status: 304, headers: [...stateHeaders(tag), ...vary] } : undefined;
}

/** Returns the 412 for a record or list with this entity tag. */
export function preconditionFailed(tag: string, headers: RequestHeaders, ...vary: string[]) {
  const { 'if-match': match } = headers;
  const isSpoilt = ({ text, isWeak }: EntityTag) => isWeak || COMPRESSED.test(text);
  const detail =
    Array.isArray(match) && !matchesStrongly(match, tag) && match.some(isSpoilt) ? SPOILT : CHANGED;
  return new Problem('precondition-failed', detail, { headers: ['etag', `"${tag}"`, ...vary] });
}

function textsOf(tags: readonly EntityTag[]): string[] {
  return tags.map(({ text }) => text.replace(TEXT_END, '')).filter((text) => TAG.test(text));
}
