// The tags in the bodies of notes.
import { validationFailed } from '../contract/endpoint.ts';
import { MAX_BULK_TAGS } from '../contract/generated.js';
import type { BodyFormat } from '../http/body/formats.ts';
import type { Violation } from '../http/problem.ts';
import { notes } from '../resources/notes.ts';
import type { Members, Resource } from '../resources/resource.ts';
import type { RowTag } from '../storage/writer.ts';
import type { UnknownTags } from './tagged-notes.ts';

/** A list of ids or names in a body; null counts as not given. */
type TagList = readonly (number | string)[] | null | undefined;

/** Returns the tags that notes list, by id or name; undefined if there is no list. Throws 422. */
export function tagsIn(
  resource: Resource,
  bodies: readonly Members[],
  format: BodyFormat,
  areNew = false,
): readonly RowTag[] | undefined {
  if (resource !== notes) return undefined;
  const violations: Violation[] = [];
  let tags: RowTag[] | undefined;
  for (const [row, body] of bodies.entries()) {
    const [ids, names] = [body.tag_ids, body.tags] as readonly TagList[];
    // Some generated clients send empty lists for what was never set.
    const isUnset = areNew && ids?.length === 0 && names?.length === 0;
    if (ids && names && !isUnset) {
      const detail = 'must not be combined with tag_ids; leave out one of the two';
      violations.push(violationAt(row, ['tags'], format, 'oneOf', detail));
    }
    const given = ids ?? names;
    if (!given) continue;
    tags ??= [];
    for (const tag of given) tags.push([row, tag]);
    if (tags.length <= MAX_BULK_TAGS) continue;
    const detail = `must have fewer items: all lines may have ${MAX_BULK_TAGS} tags together`;
    violations.push(violationAt(row, [ids ? 'tag_ids' : 'tags'], format, 'maxItems', detail));
    break;
  }
  if (violations.length > 0) throw validationFailed(violations);
  return tags;
}

/** Returns the outcome of a write. Throws 422 if the ids of some of its tags are unknown. */
export function checkTags<Outcome extends object>(
  outcome: Outcome | UnknownTags | undefined,
  tags: readonly RowTag[] = [],
  format: BodyFormat,
): Outcome | undefined {
  if (!outcome || !('unknown' in outcome)) return outcome as Outcome | undefined;
  // Searching for each would take long: there may be thousands.
  const firsts = new Map(tags.map(([row], position) => [row, position] as const).reverse());
  const violations = outcome.unknown.map((position) => {
    const [row] = tags[position] ?? [0];
    const index = position - (firsts.get(row) ?? 0);
    return violationAt(row, ['tag_ids', index], format, 'exists', 'must be the id of a tag');
  });
  throw validationFailed(violations);
}

/** Returns a violation in a body; that of a line names its row. */
function violationAt(
  row: number,
  steps: readonly (string | number)[],
  format: BodyFormat,
  code: string,
  detail: string,
): Violation {
  const path = [...(format === 'lines' ? [row] : []), ...steps];
  return { field: path.join('.'), in: 'body', pointer: ['#', ...path].join('/'), code, detail };
}
