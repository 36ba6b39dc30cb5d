// Parses content-type (RFC 9110, section 8.3.1) and the lists of content negotiation (12.4.2).

/** The media type of JSON values, one in each line. */
export const JSON_LINES = 'application/x-ndjson';

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const ESSENCE = new RegExp(`^[ \\t]*(${TOKEN}/${TOKEN})[ \\t]*`);
const PARAMETER = new RegExp(
  `;[ \\t]*(?:(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)"))?[ \\t]*`,
  'y',
);

/** Parses a media type; essence and names become lower case. Returns undefined for other texts. */
export function parseMediaType(text: string) {
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

/** Parses `accept` or `accept-encoding`; returns the weights by the names in lower case. */
export function parseWeights(field: string | string[] | undefined): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  const items = String(field ?? '').split(',');
  for (const item of items) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? 1);
    if (name !== '') weights.set(name, Number.isNaN(weight) ? 0 : weight);
  }
  return weights;
}
