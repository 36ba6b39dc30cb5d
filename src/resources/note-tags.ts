// A tag on a note. It is deleted with the note or the tag.
import { notes } from './notes.ts';
import type { Link } from './resource.ts';
import { tags } from './tags.ts';

/** The tags on notes. */
export const noteTags: Link = {
  label: 'Note tag',
  path: '/notes/{note_id}/tags/{tag_id}',
  member: 'tag_ids',
  byName: { field: 'name', member: 'tags', filter: 'tag' },
  table: 'note_tags',
  blocks: 'note_tag_blocks',
  fields: {},
  events: ['note.tagged', 'note.untagged'],
  unlinkedFilter: 'untagged',
  countMember: 'notes_count',
  ends: [
    { resource: notes, column: 'note_id' },
    { resource: tags, column: 'tag_id' },
  ],
};
