// The links between records, such as the tags on a note: each at its path, and in bodies.
import { endpoint, type Input, validationFailed } from '../contract/endpoint.ts';
import { MAX_BULK_TAGS } from '../contract/generated.js';
import type { BodyFormat } from '../http/body/formats.ts';
import { type Ids, notFound } from '../http/paths.ts';
import { Problem, type Violation } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import type { Link, Members } from '../resources/resource.ts';
import type { NewLink } from '../storage/batches/writer.ts';
import type { MissingEnds } from '../storage/records/compound-writes.ts';
import type { Links } from '../storage/records/links.ts';

/** Returns the routes of `link`. */
export function linkRoutes(link: Link, links: Links): Route[] {
  return [
    endpoint<Ids>('PUT', link.path, (input) => perform('add', input)),
    endpoint<Ids>('DELETE', link.path, (input) => perform('remove', input)),
  ];

  async function perform(
    method: 'add' | 'remove',
    { parameters, headers, call }: Input<Ids, unknown>,
  ): Promise<Reply> {
    const [one, other] = [link.ends[0].resource, link.ends[1].resource];
    const key = [parameters[one.idParameter] ?? 0, parameters[other.idParameter] ?? 0] as const;
    // A link has no entity tag to match. But a missing record takes precedence (RFC 9110, 13.2.1).
    const isRefused = headers['if-match'] !== undefined;
    const before = await links[isRefused ? 'read' : method](key);
    const [first, second] = call.pathValues;
    if (!before.hasEnds[0]) throw notFound(one.label, first);
    if (!before.hasEnds[1]) throw notFound(other.label, second);
    const name = other.label.toLowerCase();
    if (method === 'remove' && !before.isLinked)
      throw new Problem('not-found', `${one.label} ${first} has no ${name} ${second}.`);
    if (isRefused) {
      const label = `A ${name} on a ${one.label.toLowerCase()}`;
      throw new Problem('precondition-failed', `${label} has no entity tag to match.`);
    }
    return { status: 204 };
  }
}

/** A list of ids or names in a body; null counts as not given. */
type EndList = readonly (number | string)[] | null | undefined;

/** Returns the links that bodies list, by id or name; undefined if none has them. Throws 422. */
export function linksIn(
  link: Link | undefined,
  bodies: readonly Members[],
  format: BodyFormat,
  areNew = false,
): readonly NewLink[] | undefined {
  if (!link) return undefined;
  const { member, byName } = link;
  const violations: Violation[] = [];
  let links: NewLink[] | undefined;
  for (const [row, body] of bodies.entries()) {
    const [ids, names] = [body[member], body[byName.member]] as readonly EndList[];
    // Some generated clients send empty lists for what was never set.
    const isUnset = areNew && ids?.length === 0 && names?.length === 0;
    if (ids && names && !isUnset) {
      const detail = `must not be combined with ${member}; leave out one of the two`;
      violations.push(violationAt(row, [byName.member], format, 'oneOf', detail));
    }
    const ends = ids ?? names;
    if (!ends) continue;
    links ??= [];
    for (const end of ends) links.push([row, end]);
    if (links.length <= MAX_BULK_TAGS) continue;
    const detail = `must have fewer items: all lines may have ${MAX_BULK_TAGS} tags together`;
    violations.push(violationAt(row, [ids ? member : byName.member], format, 'maxItems', detail));
    break;
  }
  if (violations.length > 0) throw validationFailed(violations);
  return links;
}

/** Returns the 422 for links whose ids no record has. */
export function unknownLinks(
  { member, ends }: Link,
  links: readonly NewLink[],
  { missing }: MissingEnds,
  format: BodyFormat,
): Problem {
  // Searching for each would take long: there may be thousands.
  const firsts = new Map(links.map(([row], position) => [row, position] as const).reverse());
  const detail = `must be the id of a ${ends[1].resource.label.toLowerCase()}`;
  const violations = missing.map((position) => {
    const [row] = links[position] ?? [0];
    const index = position - (firsts.get(row) ?? 0);
    return violationAt(row, [member, index], format, 'exists', detail);
  });
  return validationFailed(violations);
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
