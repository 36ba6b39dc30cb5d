// Parses the integers in paths and queries: ASCII digits, perhaps after a minus sign.

/**
 * Parses digits with an optional minus sign; returns undefined for other text. Returns 0, which is
 * no id, for an integer beyond 2^53 - 1 in magnitude, because rounding could yield another id.
 */
export function parsePathInteger(text: string): number | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : 0;
}

/**
 * Parses digits with an optional minus sign; returns undefined for other text and for "-0".
 * Negative numbers are parsed so that the violation concerns their range, not their form.
 */
export function parseQueryInteger(text: string): number | undefined {
  return /^(?:[0-9]+|-0*[1-9][0-9]*)$/.test(text) ? Number(text) : undefined;
}
