// Notes: specification, sections 2 and 4.1.
import type { Collection } from './collection.ts';

/** The notes at /notes. */
export const notes: Collection = {
  label: 'Note',
  path: '/notes',
  idParameter: 'note_id',
  shape: { name: 'notes', blocks: 'note_blocks', columns: ['title', 'body'] },
};
