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
  // A short name with many mistakes is another name.
  const most = Math.min(2, Math.floor(typed.length / 3));
  const [found] = names
    .map((name) => ({ name, mistakes: countMistakes(typed, name.toLowerCase()) }))
    .filter(({ mistakes }) => mistakes <= most)
    .sort((one, other) => one.mistakes - other.mistakes);
  return found?.name;
}

/** Counts the characters to insert, delete, replace or swap (the Damerau-Levenshtein distance). */
function countMistakes(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 0; column < to.length; column += 1) {
      const replaced = (row[column] ?? 0) + (from[index] === to[column] ? 0 : 1);
      const isSwap = from[index] === to[column - 1] && from[index - 1] === to[column];
      const changed = isSwap ? Math.min(replaced, (before[column - 1] ?? 0) + 1) : replaced;
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row.at(-1) ?? 0;
}
