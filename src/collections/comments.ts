// Comments: specification, sections 2 and 4.3. Each belongs to exactly one note and goes with it.
import type { Collection } from './collection.ts';
import { notes } from './notes.ts';

/** The comments at /notes/{note_id}/comments. */
export const comments: Collection = {
  label: 'Comment',
  path: '/notes/{note_id}/comments',
  idParameter: 'comment_id',
  shape: {
    name: 'comments',
    blocks: 'comment_blocks',
    columns: ['body'],
    parent: { table: notes.shape.name, column: 'note_id' },
  },
  parent: notes,
};
