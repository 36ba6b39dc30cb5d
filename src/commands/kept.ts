// What must hold for earlier texts and the trash, and how a repair brings it about.
import { deletedComments, deletedNotes, noteVersions } from '../resources/kept.ts';

/** The ids of the earlier texts of each note, from the latest on. */
const LATEST_FIRST = `
  SELECT id, row_number() OVER (PARTITION BY note_id ORDER BY version DESC) AS place
  FROM note_versions`;

/** By table: a condition that no row may meet, and what a check says of one that does. */
const RULES = [
  [deletedComments, 'note_id NOT IN (SELECT id FROM deleted_notes)', 'is of no deleted note'],
  [
    noteVersions,
    'note_id NOT IN (SELECT id FROM notes UNION ALL SELECT id FROM deleted_notes)',
    'is of no note',
  ],
  [noteVersions, `id IN (SELECT id FROM (${LATEST_FIRST}) WHERE place > 100)`, 'is one too many'],
  [
    deletedNotes,
    `iif(json_valid(tag_ids), json_type(tag_ids) <> 'array' OR EXISTS (
       SELECT 1 FROM json_each(tag_ids) WHERE type <> 'integer'), TRUE)`,
    'has malformed tag_ids',
  ],
] as const;

/** Queries that return one row per fault. */
export const KEPT_QUERIES = RULES.map(
  ([{ table }, condition, fault]) =>
    `SELECT format('${table}: record %d ${fault}', id) FROM ${table} WHERE ${condition}`,
);

/** Statements that mend what the queries find: they delete rows, or tags that nobody can read. */
export const MENDING = RULES.map(([{ table }, condition]) =>
  table === deletedNotes.table
    ? `UPDATE ${table} SET tag_ids = '[]' WHERE ${condition}`
    : `DELETE FROM ${table} WHERE ${condition}`,
);
