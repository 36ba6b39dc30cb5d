// Suggests the name that somebody who mistyped one probably meant.

/**
 * Returns `; did you mean NAME?` with the most similar of `names` after `prefix`, or an empty text.
 * A name with a word that begins with `typed` is similar, unless it is over four times as long.
 */
export function suggestion(typed: string, names: readonly string[], prefix = ''): string {
  const lower = typed.toLowerCase();
  const isBeginning = (name: string) => wordsOf(name).includes(wordsOf(lower));
  const extended = names.filter((name) => name.length <= 4 * lower.length && isBeginning(name));
  const [shortest] = extended.sort((one, other) => one.length - other.length);
  const found = shortest ?? nearest(lower, names);
  return found === undefined ? '' : `; did you mean ${prefix}${found}?`;
}

function wordsOf(name: string): string {
  return `-${name.toLowerCase().replaceAll('_', '-')}`;
}

function nearest(typed: string, names: readonly string[]): string | undefined {
  // A short name with many differences is another name.
  const most = Math.min(2, typed.length >> 1);
  const [found] = names
    .map((name) => ({ name, length: differenceOf(typed, name.toLowerCase()) }))
    .filter(({ length }) => length <= most)
    .sort((one, other) => one.length - other.length);
  return found?.name;
}

/** Returns the length of what two names have between their common beginning and common end. */
function differenceOf(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return Math.max(one.length, other.length) - start - end;
}
