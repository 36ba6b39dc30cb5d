// Every change has a number, and every database a generation. Together they form the entity tag of
// a state: no two states of a record have the same tag, not even after a backup is restored.
import { randomBytes } from 'node:crypto';

/** The table that logs changes. Its AUTOINCREMENT key is the sequence of the numbers. */
export const CHANGES = 'changes';

/** The columns that every record has besides its fields. The times are in ms since 1970. */
export const CHANGE_COLUMNS = ['number', 'created_at', 'updated_at'] as const;

/** Returns the SQL of the last id that a table has assigned. */
export function lastIdSql(table: string): string {
  return `(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '${table}')`;
}

/** The SQL of the number of the last change. */
export const LAST_NUMBER = lastIdSql(CHANGES);

/** The SQL of the generation. */
export const GENERATION = '(SELECT generation FROM notes_server_generation)';

/** Returns the SQL of a tag for that of a number; with a point, it is the tag of a list. */
export function tagSql(number: string, separator: '-' | '.' = '-'): string {
  return `${GENERATION} || '${separator}' || ${number}`;
}

/** Returns the tag of a record. */
export function tagOf(generation: string, number: number): string {
  return `${generation}-${number}`;
}

/** Returns a generation: 8 lower-case hex digits. */
export function newGeneration(): string {
  return randomBytes(4).toString('hex');
}
