// The records of all resources: creating, reading, replacing, patching and deleting single ones.
import type { Core, Feature } from '../feature.ts';
import type { Meters } from '../metrics/metrics.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { recordRoutes } from '../routes/records.ts';
import type { Pages } from '../storage/lists/pages.ts';
import { Table } from '../storage/records/table.ts';

/** The records; `pages` read those with other members than their own. */
export function records(
  { database, memory, write }: Core,
  meters?: Meters,
  pages?: ReadonlyMap<Resource, Pages>,
): Feature {
  const tables = new Map<Resource, Table>();
  for (const resource of RESOURCES)
    tables.set(resource, new Table(resource, database, write, { meter: meters?.read, memory }));
  return {
    routes: (bases) =>
      [...tables].flatMap(([resource, table]) => {
        const ownerTable = resource.owner && tables.get(resource.owner.resource);
        return recordRoutes({ resource, table, ownerTable, pages: pages?.get(resource), bases });
      }),
  };
}
