// How commands report the number of records in each table.
import { inDigits } from './progress.ts';
import type { Counts } from './walk.ts';

/** Returns the counts as text, as in "2 notes, 0 tags". */
export function inWords(counts: Counts): string {
  return counts.map(({ name, count }) => `${inDigits(count)} ${name}`).join(', ');
}
