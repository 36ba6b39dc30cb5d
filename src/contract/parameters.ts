// Parses the integers of paths and queries. Only ASCII digits count, unlike in `Number`.

/**
 * Parses the integer of a path segment: digits with an optional minus sign. An integer that a
 * double cannot hold exactly becomes 0, which is no id either. Returns undefined for any other
 * text.
 */
export function parsePathInteger(text: string): number | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : 0;
}

/**
 * Parses the integer of a query value: digits. A negative number is accepted too, so that its range
 * is reported and not its form, but "-0" is not. Returns undefined for any other text.
 */
export function parseQueryInteger(text: string): number | undefined {
  return /^(?:[0-9]+|-0*[1-9][0-9]*)$/.test(text) ? Number(text) : undefined;
}
