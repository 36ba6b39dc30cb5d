// The parameter that the statements of a write share, and how they read it: [ms since 1970, rows,
// ...extra] in JSON.
import { CHANGES } from './numbers.ts';

/** The SQL of the time of a write: its 13 digits. JSON functions would parse all rows. */
export const NOW = 'CAST(substr(?1, 2, 13) AS INTEGER)';

/** The statement that gives the changes of a transaction their time where triggers have none. */
export const SET_TIMES = {
  sql: `UPDATE ${CHANGES} INDEXED BY changes_without_time SET at = ${NOW} WHERE at IS NULL`,
};

/**
 * Returns a named query for the rows in a member of the parameter: a column for each value, and
 * `_position`. No field begins with an underscore.
 */
export function namedRows(name: string, columns: readonly string[], member = 1): string {
  const values = columns.map((_, index) => `value ->> ${index}`);
  return `${name} (_position, ${columns.join(', ')}) AS (
    SELECT key, ${values.join(', ')} FROM json_each(?1, '$[${member}]'))`;
}
