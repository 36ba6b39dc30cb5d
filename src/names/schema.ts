// The part of names in the schema.
import { notes } from '../resources/notes.ts';
import type { JoinTable, SchemaPart } from '../resources/relation.ts';
import { text } from '../resources/resource.ts';

/** The names of notes, which clients have chosen. A row is deleted with the note. */
export const noteNames: JoinTable = {
  label: 'Note name',
  table: 'note_names',
  fields: { name: text },
  references: [{ resource: notes, column: 'note_id' }],
};

/** The table of names. */
export const namesOfNotes: SchemaPart = {
  relations: [noteNames],
  sql: `
CREATE TABLE note_names (
  -- The names that clients have given to notes.
  note_id INTEGER PRIMARY KEY REFERENCES notes (id) ON DELETE CASCADE,
  name TEXT NOT NULL UNIQUE,
  -- Identifies the write that gave the name, so that its other statements can leave it out.
  claim TEXT NOT NULL DEFAULT ''
) STRICT;
`,
};
