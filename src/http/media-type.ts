// Media types as requests carry them (RFC 9110, section 8.3.1): case-insensitive, with parameters.

/** A parsed media type: `type/subtype` and the parameters' names in lower case, values unquoted. */
export interface MediaType {
  readonly essence: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const ESSENCE = new RegExp(`^[ \\t]*(${TOKEN}/${TOKEN})[ \\t]*`);
const PARAMETER = new RegExp(`;[ \\t]*(?:(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)"))?[ \\t]*`, 'y');

/** Returns the parsed media type, or undefined if `text` is none. */
export function parseMediaType(text: string): MediaType | undefined {
  const essence = ESSENCE.exec(text);
  if (!essence?.[1]) return undefined;
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = essence[0].length;
  while (PARAMETER.lastIndex < text.length) {
    const match = PARAMETER.exec(text);
    if (!match) return undefined;
    const [, name, token, quoted] = match;
    if (name) parameters.set(name.toLowerCase(), token ?? quoted?.replace(/\\(.)/g, '$1') ?? '');
  }
  return { essence: essence[1].toLowerCase(), parameters };
}

/** Whether a body of this content-type is JSON in UTF-8: `application/json` or `application/*+json`. */
export function isJson(contentType: string): boolean {
  const parsed = parseMediaType(contentType);
  if (!parsed) return false;
  const charset = parsed.parameters.get('charset')?.toLowerCase() ?? 'utf-8';
  return /^application\/(?:json|[^/]+\+json)$/.test(parsed.essence) && (charset === 'utf-8' || charset === 'utf8');
}
