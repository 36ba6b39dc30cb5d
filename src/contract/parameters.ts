// Parses the integers of paths and queries, which consist of ASCII digits only.

/**
 * Parses digits with an optional minus sign; returns undefined for other text. An integer that a
 * double cannot hold exactly becomes 0, which is not an id either.
 */
export function parsePathInteger(text: string): number | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : 0;
}

/**
 * Parses digits; returns undefined for other text. Accepts negative numbers other than "-0", so
 * that the violation concerns their range, not their form.
 */
export function parseQueryInteger(text: string): number | undefined {
  return /^(?:[0-9]+|-0*[1-9][0-9]*)$/.test(text) ? Number(text) : undefined;
}
