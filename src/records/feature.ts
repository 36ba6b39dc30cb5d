// The records of all resources: creating, reading, replacing, patching and deleting single ones.
import type { Core, Feature } from '../feature.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { WritePart } from './creation.ts';
import { type ReadChosen, recordRoutes, type Texts } from './route.ts';
import { Table } from './table.ts';
import { givenTimes } from './times.ts';

/** The records; without the others, only with their own members, and only in JSON. */
export function records(
  { database, memory, write, meters }: Core,
  partsOf: readonly ((resource: Resource) => WritePart | undefined)[],
  readChosen?: ReadChosen,
  texts?: ReadonlyMap<Resource, Texts>,
): Feature {
  const tables = new Map<Resource, Table>();
  for (const resource of RESOURCES) {
    const parts = [...partsOf.flatMap((partOf) => partOf(resource) ?? []), givenTimes];
    tables.set(resource, new Table(resource, database, write, memory, meters?.read, parts));
  }
  return {
    routes: (bases) =>
      [...tables].flatMap(([resource, table]) => {
        const ownerTable = resource.owner && tables.get(resource.owner.resource);
        const given = { readChosen, bases, ...texts?.get(resource) };
        return recordRoutes({ resource, table, ownerTable, ...given });
      }),
  };
}
