// What changes and deletions of notes have replaced: earlier texts of notes, and the trash.
import { comments } from './comments.ts';
import { notes } from './notes.ts';
import { type KeptTable, text } from './resource.ts';

/** The earlier texts of notes, also of those in the trash. */
export const noteVersions: KeptTable = {
  label: 'Note version',
  table: 'note_versions',
  columns: { note_id: 'id', version: 'id', updated_at: 'time', replaced_at: 'time' },
  fields: { title: text, body: text },
  of: notes,
};

const CHANGE = { number: 'id', created_at: 'time', updated_at: 'time' } as const;

/** The notes in the trash. */
export const deletedNotes: KeptTable = {
  label: 'Deleted note',
  table: 'deleted_notes',
  columns: { position: 'id', deleted_at: 'time', name: 'name', tag_ids: 'ids', ...CHANGE },
  fields: notes.fields,
  of: notes,
};

/** Their comments. */
export const deletedComments: KeptTable = {
  label: 'Deleted comment',
  table: 'deleted_comments',
  columns: { note_id: 'id', ...CHANGE },
  fields: comments.fields,
  of: comments,
};
