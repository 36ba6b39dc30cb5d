// The parameter that the steps of a write share, and how they read it: {"now": ms since 1970, ...}
// in JSON, where other members are lists of rows.
import { CHANGES } from './numbers.ts';

/** The SQL of the time of a write: its 13 digits. JSON functions would parse all rows. */
export const NOW = 'CAST(substr(?1, 8, 13) AS INTEGER)';

/** The step that gives the changes of a transaction their time where triggers have none. */
export const SET_TIMES = {
  write: `UPDATE ${CHANGES} INDEXED BY changes_without_time SET at = ${NOW} WHERE at IS NULL`,
};

/**
 * Returns a named query for the rows in the member of the parameter with its name: a column for
 * each value, and `_position`. No field begins with an underscore. Unlike `json_each`, `jsonb_each`
 * makes no text of each row, which `->>` would parse again.
 */
export function namedRows(name: string, columns: readonly string[]): string {
  const values = columns.map((_, index) => `value ->> ${index}`);
  return `${name} (_position, ${columns.join(', ')}) AS (
    SELECT key, ${values.join(', ')} FROM jsonb_each(?1, '$.${name}'))`;
}

/** Returns named queries whose lists have their rows only if `condition`, as SQL, holds. */
export function rowsIf(named: string, condition: string): string {
  return named.replaceAll(/jsonb_each\(\?1, '\$\.\w+'\)/g, `$& WHERE ${condition}`);
}

/** Returns the parameter of a write at a time, in ms since 1970, with these lists. */
export function parameterOf(now: number, lists: Lists): string {
  return JSON.stringify({ now, ...lists });
}

/** The other members of a parameter. */
export type Lists = Readonly<Record<string, unknown>>;
