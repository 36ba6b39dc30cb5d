// The lists of all resources, and single records with other members than their own.
import type { Core, Feature } from '../feature.ts';
import { unavailable } from '../http/problem.ts';
import type { ReadChosen } from '../records/route.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { SearchIndexes } from '../search/search-index.ts';
import { ReadTooSlow } from '../storage/database.ts';
import { Pages } from './pages.ts';
import { listRoutes } from './route.ts';
import { SlowReads, WaitedTooLong } from './slow-reads.ts';

/** Shared instances: stack traces are too expensive for an overloaded service. */
const LATE = unavailable('Other searches have taken too long. Try again later.');
const TOO_SLOW = unavailable('The list takes too long to find. Ask for less, or try again later.');

/** The lists; a search waits until the index of its resource has caught up. */
export function lists({ database, memory, meters }: Core, indexes?: Pick<SearchIndexes, 'of'>) {
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
  const readChosen: ReadChosen = async (resource, key, choice) => {
    const page = await pages.get(resource)?.read({ limit: 1, ...key, ...choice });
    return page?.items ? { text: String(page.items), tag: page.tag } : undefined;
  };
  return {
    readChosen,
    routes: (bases) =>
      [...pages].flatMap(([resource, each]) =>
        listRoutes({ resource, pages: each, memory, bases }),
      ),
    toProblem(error) {
      if (error instanceof WaitedTooLong) return LATE;
      return error instanceof ReadTooSlow ? TOO_SLOW : undefined;
    },
  } satisfies Feature & { readChosen: ReadChosen };
}
