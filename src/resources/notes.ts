// A note has a title and a body.
import { type Resource, text } from './resource.ts';

export const notes: Resource = {
  label: 'Note',
  path: '/notes',
  idParameter: 'note_id',
  table: 'notes',
  blocks: 'note_blocks',
  numberBlocks: 'note_number_blocks',
  fields: { title: text, body: text },
  orders: { created: 'notes.created_at' },
  search: { table: 'note_words', position: 'note_words_position', weights: { title: 5, body: 1 } },
  names: 'note_names',
};
