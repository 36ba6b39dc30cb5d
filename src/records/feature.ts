// The records of all resources: creating, reading, replacing, patching and deleting single ones.
import type { Core, Feature } from '../feature.ts';
import type { Bases } from '../http/paths.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { WritePart } from './parts.ts';
import { type ReadChosen, Records, recordRoutes, type Texts } from './route.ts';
import { Table } from './table.ts';

/** What a feature adds to records, too. */
export interface RecordFeature extends Feature {
  /** Returns its parts in the writes of a resource. */
  readonly inWrites?: (resource: Resource) => readonly WritePart[];
  readonly texts?: ReadonlyMap<Resource, Texts>;
  /** Only one feature gives it. */
  readonly readChosen?: ReadChosen;
}

/** The records, with what `features` add to them. */
export function records(core: Core, features: readonly RecordFeature[]) {
  const tables = new Map<Resource, Table>();
  for (const resource of RESOURCES) {
    const parts = features.flatMap(({ inWrites }) => inWrites?.(resource) ?? []);
    tables.set(resource, new Table(resource, core, parts));
  }
  const readChosen = features.find((each) => each.readChosen)?.readChosen;
  const texts = features.find((each) => each.texts)?.texts;
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
