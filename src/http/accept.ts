// The weighted lists of content negotiation (RFC 9110, section 12.4.2): `text/html, application/json;q=0.5`.

/** Returns what an accept field names, in lower case, with its weight: 1 unless `q` says less, 0 for "not at all". */
export function weights(field: string | readonly string[] | undefined): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const item of String(field ?? '')
    .toLowerCase()
    .split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (name !== '') found.set(name, Number.isNaN(weight) ? 0 : weight);
  }
  return found;
}
