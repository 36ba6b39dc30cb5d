// All that the service stores, from which routes, tables and commands derive.
import { comments } from './comments.ts';
import { noteTags } from './note-tags.ts';
import { notes } from './notes.ts';
import type { Link, Reference, Relation, Resource, Searchable } from './resource.ts';
import { tags } from './tags.ts';

/** All resources, owners before what they own. */
export const RESOURCES: readonly Resource[] = [notes, tags, comments];

/** Those whose records can be searched. */
export const SEARCHABLE: readonly Searchable[] = RESOURCES.filter(
  (each): each is Searchable => each.search !== undefined,
);

/** All links between them. */
export const LINKS: readonly Link[] = [noteTags];

/** All that commands export, in this order. */
export const RELATIONS: readonly Relation[] = [...RESOURCES, ...LINKS];

/** A link as seen from a resource at one of its ends. */
export interface ResourceLink {
  readonly link: Link;
  readonly own: Reference;
  readonly other: Reference;
  /** The first end is the one whose bodies set the links. */
  readonly isFirst: boolean;
}

/** Returns the link of a resource, which has at most one. */
export function linkOf(resource: Resource): ResourceLink | undefined {
  for (const link of LINKS) {
    const [first, second] = link.ends;
    if (first.resource === resource) return { link, own: first, other: second, isFirst: true };
    if (second.resource === resource) return { link, own: second, other: first, isFirst: false };
  }
  return undefined;
}

/** Returns the link that bodies of the resource set, if there is one. */
export function ownLinkOf(resource: Resource): Link | undefined {
  return LINKS.find(({ ends: [first] }) => first.resource === resource);
}

/** The plural names of all resources, for use in a sentence: "notes, tags and comments". */
export const RESOURCE_NAMES = RESOURCES.map(({ path }) => path.replace(/.*\//, ''))
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' and ');
