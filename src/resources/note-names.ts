// The name of a note, which a client has chosen. It is deleted with the note.
import { notes } from './notes.ts';
import { type JoinTable, text } from './resource.ts';

/** The names of notes. */
export const noteNames: JoinTable = {
  label: 'Note name',
  table: 'note_names',
  fields: { name: text },
  references: [{ resource: notes, column: 'note_id' }],
};
