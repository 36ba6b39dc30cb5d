// The operations on one link between two records, such as a tag on a note: add and remove.
import { endpoint, type Input } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import type { Link } from '../resources/resource.ts';
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
