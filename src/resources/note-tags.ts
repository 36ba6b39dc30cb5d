// A tag on a note. It is deleted with the note or the tag.
import { notes } from './notes.ts';
import type { JoinTable, Resource } from './resource.ts';
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

/** Returns whose records have lists of the given ones: tags those of notes, notes those of tags. */
export function counterpartOf(resource: Resource): Resource | undefined {
  if (resource === notes) return tags;
  return resource === tags ? notes : undefined;
}
