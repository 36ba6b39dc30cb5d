// The records of all resources: creating, reading, replacing, patching and deleting single ones.
import type { Core, Feature } from '../feature.ts';
import type { Route } from '../http/route.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { WritePart } from './parts.ts';
import { type ReadChosen, Records, recordRoutes, type Texts } from './route.ts';
import { Table } from './table.ts';

/** Returns the handlers of a resource. */
export type HandlersOf = (resource: Resource) => Records;

/** What a feature adds to records, too. */
export interface RecordFeature extends Feature {
  /** Returns its parts in the writes of a resource. */
  readonly inWrites?: (resource: Resource) => readonly WritePart[];
  /** Returns its routes that perform operations on records. */
  readonly recordRoutes?: (handlersOf: HandlersOf) => readonly Route[];
  readonly texts?: ReadonlyMap<Resource, Texts>;
  /** Only one feature gives it. */
  readonly readChosen?: ReadChosen;
}

/** The records, with what `features` add to them. */
export function records(core: Core, features: readonly RecordFeature[]): Feature {
  const tables = new Map<Resource, Table>();
  for (const resource of RESOURCES) {
    const parts = features.flatMap(({ inWrites }) => inWrites?.(resource) ?? []);
    tables.set(resource, new Table(resource, core, parts));
  }
  const readChosen = features.find((each) => each.readChosen)?.readChosen;
  const texts = features.find((each) => each.texts)?.texts;
  const tableOf = (resource: Resource) => tables.get(resource) as Table;
  return {
    routes(bases) {
      const handlersOf: HandlersOf = (resource) => {
        const ownerTable = resource.owner && tableOf(resource.owner.resource);
        const given = { readChosen, bases, ...texts?.get(resource) };
        return new Records({ resource, table: tableOf(resource), ownerTable, ...given });
      };
      const own = RESOURCES.flatMap((resource) => recordRoutes(handlersOf(resource)));
      return [...own, ...features.flatMap((each) => each.recordRoutes?.(handlersOf) ?? [])];
    },
  };
}
