// The list of what the service stores. Routes, tables, check, export, import and copy derive from
// it. Links between two resources, such as tags on notes, will be declared in this file.
import { comments } from './comments.ts';
import { notes } from './notes.ts';
import type { Resource } from './resource.ts';
import { tags } from './tags.ts';

/** All resources, owners before what they own. */
export const RESOURCES: readonly Resource[] = [notes, tags, comments];
