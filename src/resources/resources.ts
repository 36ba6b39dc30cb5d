// All that the service stores, from which routes, tables and commands derive.
import { comments } from './comments.ts';
import { deletedComments, deletedNotes, noteVersions } from './kept.ts';
import { noteNames } from './note-names.ts';
import { noteTags } from './note-tags.ts';
import { notes } from './notes.ts';
import type { Relation, Resource } from './resource.ts';
import { tags } from './tags.ts';

/** All resources, owners before what they own. */
export const RESOURCES: readonly Resource[] = [notes, tags, comments];

/** All that commands export, in this order. */
export const RELATIONS: readonly Relation[] = [
  ...[...RESOURCES, noteTags, noteNames],
  ...[noteVersions, deletedNotes, deletedComments],
];

/** The plural names of all resources, for use in a sentence: "notes, tags and comments". */
export const RESOURCE_NAMES = RESOURCES.map(({ path }) => path.replace(/.*\//, ''))
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' and ');
