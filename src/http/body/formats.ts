// The formats of bodies: which media types a route accepts, and how the bytes become a value.
import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { Problem } from '../problem.ts';
import type { BodyFormat, BodyFormats } from '../route.ts';
import { decode, parseJson } from './json.ts';
import { placeAfter } from './json-fault.ts';

export const JSON_LINES = 'application/x-ndjson';

const SPACES: ReadonlySet<number | undefined> = new Set(Buffer.from(' \n\r\t'));
/** In characters: Node may take quadratic time to parse a media type. */
const MAX_TYPE_LENGTH = 1_024;

const HAS_CHARSET = /;\s*charset\s*(?:[=;]|$)/i;
const MERGE_PATCH = 'application/merge-patch+json';

/** Whether the format of a body, or a media type, is that of a text. */
export function isText(format: string): format is `text/${string}` {
  return format.startsWith('text/');
}

/** Says how to send a text, as another sentence; '' if none of the types is that of a text. */
function textHint(types: readonly string[]): string {
  const texts = types.filter(isText).join(' or ');
  const curl = "-H 'content-type: text/plain' --data-binary DATA";
  return texts && ` A text must be in UTF-8, with content-type: ${texts} (with curl: ${curl}).`;
}

/** Returns the format that the headers declare, JSON by default. Throws 415. */
export function formatOf({ headers }: IncomingMessage, accepted: BodyFormats): BodyFormat {
  const { 'content-type': type = 'application/json', 'content-encoding': coding } = headers;
  const { types } = accepted;
  const essence = types.includes(type) ? type : acceptedEssence(type, types);
  if (!essence) throw unsupported(describe(types), types);
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity')
    throw unsupported('The body must be sent without a content-encoding.', types);
  if (isText(essence)) return essence;
  return essence === JSON_LINES ? 'lines' : 'json';
}

/** Returns the media type that `type` names, if it is accepted and the charset is UTF-8. */
function acceptedEssence(type: string, types: readonly string[]): string | undefined {
  if (type.length > MAX_TYPE_LENGTH) return undefined;
  try {
    const { essence, params } = new MIMEType(type);
    // The parser leaves out what is malformed, such as a space before `=`.
    const charset = params.get('charset') ?? (HAS_CHARSET.test(type) ? '' : 'utf-8');
    const isOtherJson = /^application\/[^/]+\+json$/.test(essence) && !types.includes(MERGE_PATCH);
    const isAccepted = types.includes(essence) || isOtherJson;
    return isAccepted && /^utf-?8$/i.test(charset) ? essence : undefined;
  } catch {
    return undefined;
  }
}

function describe(types: readonly string[]): string {
  if (types.includes(MERGE_PATCH))
    return `A patch must be a JSON object in UTF-8: send content-type: ${types.join(' or ')}.`;
  const json =
    `The body must be JSON ${types.some(isText) ? 'or a text, ' : ''}in UTF-8: ` +
    'send content-type: application/json ' +
    '(with curl: --json DATA, or -H "content-type: application/json" beside --data).';
  const lines = ` Lines of JSON, one record in each, are ${JSON_LINES}.`;
  return json + textHint(types) + (types.includes(JSON_LINES) ? lines : '');
}

function unsupported(detail: string, types: readonly string[]): Problem {
  const accepted = types.join(', ');
  const headers = ['accept', accepted, 'accept-encoding', 'identity'];
  // RFC 5789, section 3.1.
  if (types.includes(MERGE_PATCH)) headers.push('accept-patch', accepted);
  return new Problem('unsupported-media-type', detail, { headers });
}

/** Parses a body that is JSON or a text. Throws 400. */
export function parseWhole(
  bytes: Buffer,
  format: BodyFormat,
  { headers }: IncomingMessage,
  accepted?: BodyFormats,
): unknown {
  // A byte order mark is no part of a text.
  if (isText(format)) return decode(bytes).replace(/^\ufeff/, '');
  const hint = headers['content-type'] === undefined && accepted ? textHint(accepted.types) : '';
  return parseJson(bytes, undefined, undefined, hint);
}

/** Parses the lines that are not blank, at most one more than `maxLines`. Rejects with 400. */
export async function parseLines(
  bytes: Buffer,
  { maxLines }: BodyFormats,
  sliceBytes: number,
  pause: () => Promise<void>,
): Promise<unknown[]> {
  const values: unknown[] = [];
  let sliceEnd = sliceBytes;
  let start = skipSpace(bytes, 0);
  while (start < bytes.length && values.length <= maxLines) {
    if (start >= sliceEnd) {
      sliceEnd = start + sliceBytes;
      await pause();
    }
    const found = bytes.indexOf('\n', start);
    const end = found === -1 ? bytes.length : found;
    const subject = `Record ${values.length} (counted from 0)`;
    const place = placeAfter(bytes.subarray(0, start));
    values.push(parseJson(bytes.subarray(start, end), subject, place));
    start = skipSpace(bytes, end);
  }
  return values;
}

/** Returns the position of the first byte from `start` on that is not JSON's white space. */
export function skipSpace(bytes: Buffer, start: number): number {
  let position = start;
  while (SPACES.has(bytes[position])) position += 1;
  return position;
}
