// What must hold for earlier texts and the trash, and how a repair brings it about.
import type { Relation } from '../relations.ts';

/** What each row of a table must belong to, and the query of these notes. */
const OWNERS: Readonly<Record<string, readonly [label: string, notes: string]>> = {
  deleted_comments: ['deleted note', 'SELECT id FROM deleted_notes'],
  note_versions: ['note', 'SELECT id FROM notes UNION SELECT id FROM deleted_notes'],
};

/** Returns queries that return one row per fault. */
export function queriesForKept({ table }: Relation): string[] {
  const [label, owners] = OWNERS[table] ?? [];
  const line = `format('${table}: record %d is of no ${label}', id)`;
  return owners ? [`SELECT ${line} FROM ${table} WHERE note_id NOT IN (${owners})`] : [];
}

/** Returns statements that delete what the queries find. */
export function mendKept({ table }: Relation): string[] {
  const [, owners] = OWNERS[table] ?? [];
  return owners ? [`DELETE FROM ${table} WHERE note_id NOT IN (${owners})`] : [];
}
