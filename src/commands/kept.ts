// What must hold for earlier texts and the trash, and how a repair brings it about.
import type { Relation } from '../relations.ts';

/** The condition that a row of a table is of no note. */
const STRAYS: Readonly<Record<string, string>> = {
  deleted_comments: 'note_id NOT IN (SELECT id FROM deleted_notes)',
  note_versions: 'note_id NOT IN (SELECT id FROM notes UNION SELECT id FROM deleted_notes)',
};

/** Returns queries that return one row per fault. */
export function queriesForKept({ table }: Relation): string[] {
  const line = `format('${table}: record %d is of no note', id)`;
  return table in STRAYS ? [`SELECT ${line} FROM ${table} WHERE ${STRAYS[table]}`] : [];
}

/** Returns statements that delete what the queries find. */
export function mendKept({ table }: Relation): string[] {
  return table in STRAYS ? [`DELETE FROM ${table} WHERE ${STRAYS[table]}`] : [];
}
