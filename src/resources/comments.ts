// A comment belongs to one note and is deleted with it.
import { notes } from './notes.ts';
import { type Resource, text } from './resource.ts';

export const comments: Resource = {
  label: 'Comment',
  path: '/notes/{note_id}/comments',
  idParameter: 'comment_id',
  table: 'comments',
  blocks: 'comment_blocks',
  fields: { body: text },
  owner: { resource: notes, column: 'note_id' },
};
