// All resources, from which routes, tables and commands derive.
import { basename } from 'node:path';
import { comments } from './comments.ts';
import { notes } from './notes.ts';
import type { Resource } from './resource.ts';
import { tags } from './tags.ts';

/** All resources, owners before what they own. */
export const RESOURCES: readonly Resource[] = [notes, tags, comments];

/** The plural names of all resources, for use in a sentence: "notes, tags and comments". */
export const RESOURCE_NAMES = new Intl.ListFormat('en-GB').format(
  RESOURCES.map(({ path }) => basename(path)),
);
