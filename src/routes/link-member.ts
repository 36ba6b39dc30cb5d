// The member of a body that sets the links of a record, such as `tag_ids` of a note.
import { validationFailed } from '../contract/endpoint.ts';
import type { Problem, Violation } from '../http/problem.ts';
import type { Link } from '../resources/resource.ts';
import type { NewLink } from '../storage/batches/writer.ts';
import type { MissingEnds } from '../storage/records/compound-writes.ts';

type Members = Readonly<Record<string, unknown>>;

/** Returns the links that the bodies list; undefined if none has the member. */
export function linksIn(
  link: Link | undefined,
  bodies: readonly Members[],
): readonly NewLink[] | undefined {
  if (!link) return undefined;
  let links: NewLink[] | undefined;
  for (const [row, body] of bodies.entries()) {
    const ids = body[link.member] as readonly number[] | undefined;
    if (!ids) continue;
    links ??= [];
    for (const id of ids) links.push([row, id]);
  }
  return links;
}

/** Returns the 422 for links that name no record; `isBulk` tells whether pointers name lines. */
export function unknownLinks(
  { member, ends }: Link,
  links: readonly NewLink[],
  { missing }: MissingEnds,
  isBulk: boolean,
): Problem {
  const violations = missing.map((position): Violation => {
    const [row] = links[position] ?? [0];
    const index = position - links.findIndex(([each]) => each === row);
    const path = [...(isBulk ? [row] : []), member, index];
    return {
      field: path.join('.'),
      in: 'body',
      pointer: ['#', ...path].join('/'),
      code: 'exists',
      detail: `must be the id of a ${ends[1].resource.label.toLowerCase()}`,
    };
  });
  return validationFailed(violations);
}
