// A tag on a note. It is deleted with the note or the tag.
import { notes } from './notes.ts';
import type { JoinTable } from './resource.ts';
import { tags } from './tags.ts';

/** The tags on notes. */
export const noteTags: JoinTable = {
  label: 'Note tag',
  table: 'note_tags',
  blocks: 'note_tag_blocks',
  fields: {},
  references: [
    { resource: notes, column: 'note_id' },
    { resource: tags, column: 'tag_id' },
  ],
};
