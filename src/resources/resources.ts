// All resources, from which routes, tables and commands derive.
import { comments } from './comments.ts';
import { notes } from './notes.ts';
import type { Resource } from './resource.ts';
import { tags } from './tags.ts';

/** All resources, owners before what they own. */
export const RESOURCES: readonly Resource[] = [notes, tags, comments];
