// The lists of all resources, and single records with other members than their own.
import type { Core, Feature } from '../feature.ts';
import { unavailable } from '../http/problem.ts';
import type { Meters } from '../metrics/metrics.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { listRoutes } from '../routes/lists.ts';
import { ReadTooSlow } from '../storage/database.ts';
import type { SearchIndexes } from '../storage/index/search-index.ts';
import { Pages } from '../storage/lists/pages.ts';
import { SlowReads, WaitedTooLong } from '../storage/lists/slow-reads.ts';

/** Shared instances: stack traces are too expensive for an overloaded service. */
const LATE = unavailable('Other searches have taken too long. Try again later.');
const TOO_SLOW = unavailable('The list takes too long to find. Ask for less, or try again later.');

/** The lists; the pages of each resource are of use to others. */
export function lists(
  { database, memory }: Core,
  meters?: Meters,
  indexes?: Pick<SearchIndexes, 'of'>,
) {
  // All lists share it, so that slow reads have one limit.
  const slow = new SlowReads(meters?.page, database.patienceMs);
  const pages = new Map<Resource, Pages>();
  for (const resource of RESOURCES) {
    const index = indexes?.of(resource);
    pages.set(
      resource,
      new Pages(resource, database, { meter: meters?.page, index, memory, slow }),
    );
  }
  return {
    pages,
    routes: (bases) =>
      [...pages].flatMap(([resource, each]) =>
        listRoutes({ resource, pages: each, memory, bases }),
      ),
    toProblem(error) {
      if (error instanceof WaitedTooLong) return LATE;
      return error instanceof ReadTooSlow ? TOO_SLOW : undefined;
    },
  } satisfies Feature & { pages: ReadonlyMap<Resource, Pages> };
}
