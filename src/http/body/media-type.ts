// Parses content-type (RFC 9110, section 8.3.1) and the lists of content negotiation (12.4.2).
import { MIMEType } from 'node:util';

/** The media type of JSON values, one in each line. */
export const JSON_LINES = 'application/x-ndjson';

/** Node would take seconds to parse some that are longer. */
const MAX_LENGTH = 256;

/** Parses a media type, and ignores malformed parameters; returns undefined for other texts. */
export function parseMediaType(text: string): MIMEType | undefined {
  try {
    return text.length > MAX_LENGTH ? undefined : new MIMEType(text);
  } catch {
    return undefined;
  }
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
