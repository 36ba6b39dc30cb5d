// The moves of a model: operations on resources, and the requests that they send, which are valid.
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { tags } from '../../src/resources/tags.ts';
import { listPath, samplesOf } from './collections.ts';
import type { RequestParts } from './http.ts';
import type { Wanted } from './model-tags.ts';

/** The texts of a body, by the position of their field; undefined: left out. */
export type Texts = readonly (string | undefined)[];

/** An operation on a resource, with ids and parameters as texts of the URL. */
export interface Move {
  readonly resource: Resource;
  /** `repeat` sends an earlier creation with a key again, or creates if there is none. */
  readonly operation: keyof typeof METHODS;
  /** The id of the owner, or of the record at the other end of a link. */
  readonly ownerId: string;
  readonly id: string;
  readonly texts: Texts;
  readonly moreTexts: readonly Texts[];
  readonly match: Wanted | undefined;
  readonly noneMatch: Wanted | undefined;
  /** A creation has a new key, or one of an earlier creation at the same path. */
  readonly key: 'new' | 'used' | undefined;
  /** Selects an earlier creation; each bit leaves a field out of a patch. */
  readonly which: number;
  readonly linkIds: readonly number[] | undefined;
}

/** A JSON object. */
export type Body = Readonly<Record<string, unknown>>;

/** How many violations an answer lists. */
export const MAX_ERRORS = 20;

/** The method of each operation. */
export const METHODS = {
  list: 'GET',
  create: 'POST',
  createAll: 'POST',
  repeat: 'POST',
  read: 'GET',
  replace: 'PUT',
  patch: 'PATCH',
  remove: 'DELETE',
  link: 'PUT',
  unlink: 'DELETE',
};

/** The moves on one link. */
export const LINK_MOVES = new Set<string>(['link', 'unlink']);

/** The moves on a collection. */
export const COLLECTION_MOVES = new Set<string>(['list', 'create', 'createAll', 'repeat']);

/** Returns the resource of the record in the path before that of the resource, if there is one. */
export function ownerOf({ resource, operation }: Move): Resource | undefined {
  return LINK_MOVES.has(operation) ? tags : resource.owner?.resource;
}

/** Returns the members of a body that are fields. */
export function fieldsIn({ tag_ids: _, ...fields }: Body): Body {
  return fields;
}

/** Returns the target of a move. */
export function pathOf({ resource, operation, ownerId, id }: Move): string {
  if (LINK_MOVES.has(operation)) return `/notes/${id}/tags/${ownerId}`;
  const list = listPath(resource, ownerId);
  return COLLECTION_MOVES.has(operation) ? list : `${list}/${id}`;
}

/** Returns the body of a request. */
export function partsOf(move: Move): RequestParts {
  const bodies = bodiesOf(move);
  if (move.operation !== 'createAll') return bodies.length > 0 ? { json: bodies[0] } : {};
  const body = bodies.map((each) => JSON.stringify(each)).join('\n');
  return { body, headers: { 'content-type': 'application/x-ndjson' } };
}

/** Returns the JSON values that a move sends. */
export function bodiesOf({ resource, operation, texts, moreTexts, which, linkIds }: Move): Body[] {
  const tagMember = linkIds && resource === notes ? { tag_ids: linkIds } : {};
  const samples = operation === 'patch' ? {} : samplesOf(resource);
  const withTexts = (values: Texts): Body => {
    const members = Object.entries(resource.fields).map(
      ([name, { type }], index) => [name, type === 'text' ? values[index] : undefined] as const,
    );
    const sent = members.filter(([, text]) => text !== undefined);
    return { ...samples, ...Object.fromEntries(sent), ...tagMember };
  };
  switch (operation) {
    case 'create':
    case 'repeat':
    case 'replace':
      return [withTexts(texts)];
    case 'createAll':
      return [texts, ...moreTexts].map(withTexts);
    case 'patch':
      return [withTexts(texts.map((text, index) => ((which >> index) & 1 ? undefined : text)))];
    default:
      return [];
  }
}
