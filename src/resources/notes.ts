// A note has a title and a body.
import { type Resource, text } from './resource.ts';

/** The notes at /notes. */
export const notes: Resource = {
  label: 'Note',
  path: '/notes',
  idParameter: 'note_id',
  table: 'notes',
  blocks: 'note_blocks',
  numberBlocks: 'note_number_blocks',
  fields: { title: text, body: text },
  included: {
    tag_ids: `
      json((SELECT json_group_array(tag_id) FROM (
        SELECT tag_id FROM note_tags WHERE note_id = notes.id ORDER BY tag_id)))`,
    // A shared name is listed once, so that the list can be sent back.
    tags: `
      json((SELECT json_group_array(name) FROM (
        SELECT tags.name AS name FROM note_tags CROSS JOIN tags ON tags.id = tag_id
        WHERE note_id = notes.id GROUP BY name ORDER BY min(tag_id))))`,
  },
  search: { table: 'note_words', position: 'note_words_position', weights: { title: 5, body: 1 } },
};
