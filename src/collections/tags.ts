// Tags: specification, sections 2 and 4.2.
import type { Collection } from './collection.ts';

/** The tags at /tags. Names need not be unique. */
export const tags: Collection = {
  label: 'Tag',
  path: '/tags',
  idParameter: 'tag_id',
  shape: { name: 'tags', blocks: 'tag_blocks', columns: ['name'] },
};
