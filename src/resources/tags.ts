// A tag has a name. Names need not be unique.
import { type Resource, text } from './resource.ts';

export const tags: Resource = {
  label: 'Tag',
  path: '/tags',
  idParameter: 'tag_id',
  table: 'tags',
  blocks: 'tag_blocks',
  fields: { name: text },
  filters: ['name'],
};
