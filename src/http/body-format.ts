// The formats of bodies: which media types a route accepts, and how the bytes become a value.
import type { IncomingMessage } from 'node:http';
import { parseJson } from './json.ts';
import { parseMediaType } from './media-type.ts';
import { Problem } from './problem.ts';

/** A list of JSON values, one in each line. */
export const JSON_LINES = 'application/x-ndjson';

const JSON_TYPE = 'application/json';
const MERGE_PATCH = 'application/merge-patch+json';

/** The bodies that a route accepts. */
export interface BodyFormats {
  /** The media types. `application/json` includes `application/*+json`, except for patches. */
  readonly types: readonly string[];
  /** How many lines a body of {@link JSON_LINES} may have. */
  readonly maxLines: number;
}

/** The format of one body. */
export type BodyFormat = 'json' | 'lines';

/** Returns the value of the `accept-patch` header (RFC 5789, section 3.1) of a route for patches. */
export function acceptPatch({ types }: BodyFormats): string {
  return types.join(', ');
}

/**
 * Returns the format that the headers declare; JSON by default. Throws 415 if the route does not
 * accept it, if the charset is not UTF-8, or if the body has a content coding.
 */
export function formatOf({ headers }: IncomingMessage, accepted: BodyFormats): BodyFormat {
  const type = headers['content-type'];
  const format = type === undefined ? 'json' : declaredFormat(type, accepted);
  if (!format) throw unsupported(describe(accepted), accepted);
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity')
    throw unsupported('The body must be sent without a content-encoding.', accepted);
  return format;
}

function declaredFormat(type: string, { types }: BodyFormats): BodyFormat | undefined {
  const parsed = parseMediaType(type);
  if (!parsed || !/^utf-?8$/i.test(parsed.parameters.get('charset') ?? 'utf-8')) return undefined;
  const { essence } = parsed;
  if (essence === JSON_LINES) return types.includes(JSON_LINES) ? 'lines' : undefined;
  const isOtherJson = /^application\/[^/]+\+json$/.test(essence) && !types.includes(MERGE_PATCH);
  return types.includes(essence) || isOtherJson ? 'json' : undefined;
}

function describe({ types }: BodyFormats): string {
  return types.includes(MERGE_PATCH)
    ? 'A patch must be a JSON object in UTF-8: send content-type: application/merge-patch+json.'
    : 'The body must be JSON in UTF-8: send content-type: application/json ' +
        '(with curl: --json DATA, or -H "content-type: application/json" beside --data).';
}

function unsupported(detail: string, accepted: BodyFormats): Problem {
  const headers = ['accept', JSON_TYPE, 'accept-encoding', 'identity'];
  if (accepted.types.includes(MERGE_PATCH)) headers.push('accept-patch', acceptPatch(accepted));
  return new Problem('unsupported-media-type', detail, { headers });
}

/** Parses a body. Throws bad-request. */
export function parseBody(bytes: Buffer, format: BodyFormat, { maxLines }: BodyFormats): unknown {
  return format === 'json' ? parseJson(bytes) : parseLines(bytes, maxLines);
}

/**
 * Parses the lines that are not blank, at most one more than `maxLines`. Throws bad-request with
 * the number of the first line that is not JSON; the first line has the number 0.
 */
function parseLines(bytes: Buffer, maxLines: number): unknown[] {
  const values: unknown[] = [];
  let start = 0;
  while (start < bytes.length && values.length <= maxLines) {
    const found = bytes.indexOf('\n', start);
    const end = found === -1 ? bytes.length : found;
    if (!isBlank(bytes, start, end))
      values.push(parseJson(bytes.subarray(start, end), `Line ${values.length} (counted from 0)`));
    start = end + 1;
  }
  return values;
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index += 1) {
    const byte = bytes[index];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  }
  return true;
}
