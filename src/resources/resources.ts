// The list of what the service stores, from which routes, tables, check, export, import and copy
// derive.
import { comments } from './comments.ts';
import { notes } from './notes.ts';
import type { Resource } from './resource.ts';
import { tags } from './tags.ts';

/** All resources, owners before what they own. */
export const RESOURCES: readonly Resource[] = [notes, tags, comments];

// Links between two resources, such as tags on notes, belong here as a second list: each with its
// two resources and the table that joins them. The commands will derive from it as well.

/** The plural names of all resources, for use in a sentence: "notes, tags and comments". */
export const RESOURCE_NAMES = RESOURCES.map(({ path }) => path.replace(/.*\//, ''))
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' and ');
