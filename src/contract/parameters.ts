// Integers as paths and queries carry them: ASCII digits and nothing else counts.

/**
 * Parses the integer of a path segment: digits, with a minus sign or not. One beyond what a double holds exactly comes
 * back as 0, which names nothing either. Returns undefined for anything else.
 */
export function parsePathInteger(text: string): number | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : 0;
}

/**
 * Parses the integer of a query value: digits. A negative number is parsed as well, so that its range and not its
 * form is named as the fault, but "-0" is none. Returns undefined for anything else.
 */
export function parseQueryInteger(text: string): number | undefined {
  return /^(?:[0-9]+|-0*[1-9][0-9]*)$/.test(text) ? Number(text) : undefined;
}
