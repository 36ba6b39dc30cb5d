// The tags in the bodies of notes.
import { validationFailed } from '../contract/endpoint.ts';
import { BOUNDS } from '../contract/generated.js';
import { rowPointer, violationAt } from '../contract/violations.ts';
import type { Violation } from '../http/problem.ts';
import type { BodyFormat } from '../http/route.ts';
import type { AskedParts, WritePart } from '../records/parts.ts';
import type { Members } from '../resources/resource.ts';
import type { Row } from '../storage/database.ts';
import type { Values } from '../storage/writer.ts';

/** A tag of a row: the position of the row, and the id or name of the tag. */
export type RowTag = readonly [row: number, tag: number | string];

/** In bulk requests, this many tags count as one line. */
const TAGS_PER_LINE = 2;

/** Returns the tags that notes list, by id or name; undefined if there is no list. Throws 422. */
export const readTags: NonNullable<WritePart['read']> = ({ call: { format } }, bodies, newAt) => {
  const [first] = bodies;
  if (first?.add_tags || first?.remove_tags) return readSingleTags(first, format);
  const violations: Violation[] = [];
  let tags: RowTag[] | undefined;
  for (const [row, body] of bodies.entries()) {
    // Null counts as not given.
    const { tag_ids: ids, tags: names } = body as Readonly<Record<string, RowTag[1][] | null>>;
    // Some generated clients send empty lists for what was never set.
    const isUnset = newAt !== undefined && ids?.length === 0 && names?.length === 0;
    if (ids && names && !isUnset) {
      const detail = 'must not be combined with tag_ids; leave out one of the two';
      violations.push(violationAt(`${rowPointer(row, format)}/tags`, 'oneOf', detail));
    }
    const given = ids ?? names;
    if (!given) continue;
    tags ??= [];
    for (const tag of given) tags.push([row, tag]);
    if (tags.length <= BOUNDS.tags) continue;
    const detail = `must have fewer items: all lines may have ${BOUNDS.tags} tags together`;
    const path = `${rowPointer(row, format)}/${ids ? 'tag_ids' : 'tags'}`;
    violations.push(violationAt(path, 'maxItems', detail));
    break;
  }
  if (violations.length > 0) throw validationFailed(violations);
  // A new note has no tags to remove.
  const hasNone = newAt !== undefined && tags?.length === 0;
  if (!tags || hasNone) return undefined;
  return newAt === undefined ? askedForAll(tags, format) : askedTags(tags, format);
};

/** Returns what a change asks that names tags to add and to remove. Throws 422. */
function readSingleTags(body: Members, format: BodyFormat): AskedParts {
  // Null counts as not given.
  const { add_tags, remove_tags, tags, tag_ids } = body as Readonly<
    Record<string, string[] | null>
  >;
  const [added, removed] = [add_tags ?? [], remove_tags ?? []];
  const violations = removed.flatMap((name, index) =>
    added.includes(name)
      ? violationAt(`/remove_tags/${index}`, 'oneOf', 'must not be in add_tags, too')
      : [],
  );
  if (tags || tag_ids) {
    const detail = 'must not be combined with tags or tag_ids';
    violations.push(violationAt(add_tags ? '/add_tags' : '/remove_tags', 'oneOf', detail));
  }
  if (violations.length > 0) throw validationFailed(violations);
  return askedSingly(added, removed, format);
}

/** Returns what a change asks that adds and removes these tags. */
export function askedSingly(
  added: readonly string[],
  removed: readonly string[],
  format: BodyFormat,
): AskedParts {
  const tags = added.map((name): RowTag => [0, name]);
  const rows = removed.map((name) => [0, name]);
  return {
    ...(tags.length > 0 && askedTags(tags, format)),
    ...(rows.length > 0 && { removed: { lists: { removed_tags: rows } } }),
  };
}

/** Returns what a change asks that gives a note these tags alone. */
export function askedForAll(tags: readonly RowTag[], format: BodyFormat): AskedParts {
  return { ...askedTags(tags, format), replaces: { ofRequest: [1] } };
}

/** Returns what a request with these tags asks of the parts of {@link tagsOfNotes}. */
export function askedTags(tags: readonly RowTag[], format: BodyFormat): AskedParts {
  const byId: Values[] = [];
  const byName: Values[] = [];
  for (const [place, [row, tag]] of tags.entries())
    if (typeof tag === 'string') byName.push([row, tag]);
    else byId.push([row, tag, place]);
  const mode = byId.length === 0 ? 'names' : byName.length === 0 ? 'ids' : undefined;
  // One request could create a tag that has an id which another one has found to be unknown.
  const claims = [mode ? (['tags', mode] as const) : (['tags'] as const)];
  const ids = {
    claims,
    lists: { tags_by_id: byId },
    lines: byId.length / TAGS_PER_LINE,
    settle(unknown: Row | undefined) {
      if (!unknown) return {};
      const places: readonly number[] = JSON.parse(String(unknown.places));
      return { refusal: unknownTags(places, tags, format) };
    },
  };
  const names = {
    claims,
    lists: { tags_by_name: byName },
    lines: byName.length / TAGS_PER_LINE,
    settle(created: Row | undefined) {
      if (!created) return {};
      const [first, last] = [Number(created.first), Number(created.last)];
      return { createdIds: { tag_id: first === last ? first : ([first, last] as const) } };
    },
  };
  if (mode === 'names') return { tagNames: names };
  return mode === 'ids' ? { tagIds: ids } : { tagIds: ids, tagNames: names };
}

/** Returns the 422 for ids that are not those of tags, given their positions. */
function unknownTags(positions: readonly number[], tags: readonly RowTag[], format: BodyFormat) {
  // Searching for each would take long: there may be thousands.
  const firsts = new Map(tags.map(([row], position) => [row, position] as const).reverse());
  const violations = positions.map((position) => {
    const [row] = tags[position] ?? [0];
    const path = `${rowPointer(row, format)}/tag_ids/${position - (firsts.get(row) ?? 0)}`;
    return violationAt(path, 'exists', 'must be the id of a tag');
  });
  return validationFailed(violations);
}
