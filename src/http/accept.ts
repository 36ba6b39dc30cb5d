// The lists of content negotiation (RFC 9110, section 12.4.2).

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

/**
 * Returns the one of `types` that `accept` prefers: of equal weights, the first name counts. It is
 * undefined if JSON is preferred, for which all other names and ranges stand.
 */
export function preferredType(
  accept: string | undefined,
  types: readonly string[],
): string | undefined {
  if (accept === undefined || accept === '*/*') return undefined;
  const weights = parseWeights(accept);
  let preferred = '';
  for (const [name, weight] of weights)
    if (weight > (weights.get(preferred) ?? 0)) preferred = name;
  // Spring's RestTemplate sends these three when it expects any text, JSON included.
  const isUnmeant =
    preferred === 'text/plain' &&
    [preferred, 'application/json', '*/*'].every((name) => weights.get(name) === 1);
  return types.includes(preferred) && !isUnmeant ? preferred : undefined;
}
