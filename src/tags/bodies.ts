// The tags in the bodies of notes.
import { validationFailed } from '../contract/endpoint.ts';
import { BOUNDS } from '../contract/generated.js';
import { rowPointer, violationAt } from '../contract/violations.ts';
import type { Violation } from '../http/problem.ts';
import type { BodyFormat } from '../http/route.ts';
import type { Given, WritePart } from '../records/creation.ts';
import { valuesOf } from '../resources/resource.ts';
import { tags as resource } from '../resources/tags.ts';

/** A tag of a row: the position of the row, and the id or name of the tag. */
export type RowTag = readonly [row: number, tag: number | string];

/** In bulk requests, this many tags count as one line. */
const TAGS_PER_LINE = 2;

/** Returns the tags that notes list, by id or name; undefined if there is no list. Throws 422. */
export const readTags: WritePart['read'] = ({ call: { format } }, bodies, newAt) => {
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
  return tags && tagsGiven(tags, format);
};

/** Returns what a request gives to its write by these tags. */
export function tagsGiven(tags: readonly RowTag[], format: BodyFormat): Given {
  const names = new Set(tags.map(([, tag]) => tag).filter((tag) => typeof tag === 'string'));
  return {
    extra: [tags, [...names].map((name) => valuesOf(resource, { name }))],
    lines: tags.length / TAGS_PER_LINE,
    settle({ unknown, new_tags, last_tag }) {
      const positions: readonly number[] = JSON.parse(String(unknown));
      if (positions.length > 0) return { refusal: unknownTags(positions, tags, format) };
      const [first, last] = [Number(last_tag) + 1, Number(last_tag) + Number(new_tags)];
      if (last < first) return {};
      return { createdIds: { tag_id: first === last ? first : [first, last] } };
    },
  };
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
