// The records of all resources: creating, reading, replacing, patching and deleting single ones.
import type { Core, Feature } from '../feature.ts';
import type { Bases } from '../http/paths.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { WritePart } from './creation.ts';
import { type ReadChosen, Records, recordRoutes, type Texts } from './route.ts';
import { Table } from './table.ts';

/** The records; without the others, only with their own members, and only in JSON. */
export function records(
  { database, memory, write, meters }: Core,
  partsOf: readonly ((resource: Resource) => WritePart | undefined)[],
  readChosen?: ReadChosen,
  texts?: ReadonlyMap<Resource, Texts>,
) {
  const tables = new Map<Resource, Table>();
  for (const resource of RESOURCES) {
    const parts = partsOf.flatMap((partOf) => partOf(resource) ?? []);
    tables.set(resource, new Table(resource, database, write, memory, meters?.read, parts));
  }
  const handlersOf = (resource: Resource, bases: Bases): Records => {
    const tableOf = (each: Resource) => tables.get(each) as Table;
    const ownerTable = resource.owner && tableOf(resource.owner.resource);
    const given = { readChosen, bases, ...texts?.get(resource) };
    return new Records({ resource, table: tableOf(resource), ownerTable, ...given });
  };
  return {
    routes: (bases) => RESOURCES.flatMap((resource) => recordRoutes(handlersOf(resource, bases))),
    handlersOf,
  } satisfies Feature & { handlersOf: unknown };
}
