// A tag has a name. Names need not be unique.
import { type Resource, text } from './resource.ts';

/** The tags at /tags. */
export const tags: Resource = {
  label: 'Tag',
  path: '/tags',
  idParameter: 'tag_id',
  table: 'tags',
  blocks: 'tag_blocks',
  fields: { name: text },
  filters: ['name'],
  included: {
    notes_count: `
      (SELECT coalesce(sum(count), 0) FROM note_tag_blocks WHERE tag_id = tags.id)`,
  },
};
