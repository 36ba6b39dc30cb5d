// What must hold for earlier texts and the trash, and how a repair brings it about.
import type { Relation } from '../relations.ts';

/** A table, a condition that none of its rows may meet, and what a check says of one that does. */
const RULES = [
  ['deleted_comments', 'note_id NOT IN (SELECT id FROM deleted_notes)', 'is of no deleted note'],
  [
    'note_versions',
    'note_id NOT IN (SELECT id FROM notes UNION SELECT id FROM deleted_notes)',
    'is of no note',
  ],
  [
    'note_versions',
    `id IN (SELECT id FROM (
       SELECT id, row_number() OVER (PARTITION BY note_id ORDER BY version DESC) AS place
       FROM note_versions) WHERE place > 100)`,
    'is one too many',
  ],
] as const;

const rulesOf = ({ table }: Relation) => RULES.filter(([name]) => name === table);

/** Returns queries that return one row per fault. */
export function queriesForKept(relation: Relation): string[] {
  return rulesOf(relation).map(
    ([table, condition, fault]) =>
      `SELECT format('${table}: record %d ${fault}', id) FROM ${table} WHERE ${condition}`,
  );
}

/** Returns statements that delete what the queries find. */
export function mendKept(relation: Relation): string[] {
  return rulesOf(relation).map(([table, condition]) => `DELETE FROM ${table} WHERE ${condition}`);
}
