// The links between records, such as the tags on a note: each at its path, and in bodies.
import { endpoint, type Input, validationFailed } from '../contract/endpoint.ts';
import { Problem, type Violation } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import type { Link } from '../resources/resource.ts';
import type { NewLink } from '../storage/batches/writer.ts';
import type { MissingEnds } from '../storage/records/compound-writes.ts';
import type { Links } from '../storage/records/links.ts';
import { type Ids, notFound } from './paths.ts';

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

/** Returns the 422 for links that name no record; `isBulk` tells whether pointers name lines. */
export function unknownLinks(
  { member, ends }: Link,
  links: readonly NewLink[],
  { missing }: MissingEnds,
  isBulk: boolean,
): Problem {
  // Searching for each would take seconds: there may be 50,000.
  const firsts = new Map(links.map(([row], position) => [row, position] as const).reverse());
  const violations = missing.map((position): Violation => {
    const [row] = links[position] ?? [0];
    const index = position - (firsts.get(row) ?? 0);
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
