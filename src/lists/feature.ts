// The lists of all resources, and single records with other members than their own.
import type { Core, Feature, Selects } from '../feature.ts';
import { unavailable } from '../http/problem.ts';
import type { RecordFeature } from '../records/feature.ts';
import type { ReadChosen } from '../records/route.ts';
import { RESOURCES } from '../resources/resources.ts';
import { ReadTooSlow } from '../storage/database.ts';
import { Pages } from './pages.ts';
import { filterValues, membersIn, partsOf } from './parts.ts';
import { listRoutes } from './route.ts';
import { SlowReads } from './slow-reads.ts';

/** A shared instance: stack traces are too expensive for an overloaded service. */
const TOO_SLOW = unavailable('The list takes too long to find. Ask for less, or try again later.');

/** Returns the queue of slow reads. All lists share it, so that they have one limit. */
export function createSlowReads({ database, meters }: Core): SlowReads {
  return new SlowReads(meters?.page, database.patienceMs);
}

/** The lists, with what other features add to them. */
export function lists(
  { database, memory, meters }: Core,
  features: readonly Feature[],
  slow: SlowReads,
): RecordFeature {
  const extensions = features.flatMap(({ inLists = [] }) => inLists);
  const all = RESOURCES.map((resource) => {
    const parts = partsOf(resource, extensions);
    return new Pages(parts, database, memory, meters?.page, slow);
  });
  const selects: Selects = (resource, { fields = [], include = [], ...parameters }) => {
    const parts = all.find((pages) => pages.parts.resource === resource)?.parts;
    if (!parts) throw new Error(`${resource.label} has no list`);
    const values = filterValues(parts.filters, parameters);
    return {
      members: membersIn(parts, { fields, include }),
      values,
      conditions: (id, valueOf) =>
        Object.keys(values).flatMap(
          (name) => parts.filters[name]?.condition?.(id, valueOf(name)) ?? [],
        ),
    };
  };
  const readChosen: ReadChosen = async (resource, key, choice) => {
    const pages = all.find(({ parts }) => parts.resource === resource);
    const page = await pages?.read({ limit: 1, ...key, ...choice });
    return page?.items ? { text: String(page.items), tag: page.tag } : undefined;
  };
  return {
    readChosen,
    selects,
    routes: (bases) => all.flatMap((pages) => listRoutes({ pages, memory, bases })),
    toProblem: (error) => (error instanceof ReadTooSlow ? TOO_SLOW : undefined),
  };
}
