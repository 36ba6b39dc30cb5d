// Reads records from a database as JSON lines, and adds records with their ids to a database.
import { randomUUID } from 'node:crypto';
import { columnsOf, type FieldValue, type Resource, typeOf } from '../resources/resource.ts';
import type { Database } from '../storage/database.ts';
import { recordSql } from '../storage/record-text.ts';
import { markFinished, markImport, refuseOtherImport, type Source } from '../storage/unfinished.ts';
import { END, giveLastIds, IS_ON_PAGE, type LastIds, lastIdsOf, nextPage } from './walk.ts';

/** A record: its id, the id of its owner, if any, and its values in the order of the fields. */
export type RecordValues = readonly [id: number, ...values: FieldValue[]];

/**
 * The result of adding records: how many were added, or the id of the first record that cannot be,
 * because its id is taken or its owner is missing.
 */
export type Addition =
  | { readonly added: number }
  | { readonly taken: number }
  | { readonly orphan: number };

/** How records compare with those in a database. */
export interface Comparison {
  /** How many are there already, with the same values. */
  readonly same: number;
  /** The least id that belongs to another record. */
  readonly taken: number | undefined;
  /** The least id of a record whose owner is missing. */
  readonly orphan: number | undefined;
}

/** The position of the id, and of the owner's id, in {@link RecordValues}. */
const ID = 'value ->> 0';
const OWNER_ID = 'value ->> 1';

/**
 * Reads a table page by page: one line of JSON for each record, with its type as the first member.
 */
export async function* recordLines(
  source: Source,
  resource: Resource,
): AsyncGenerator<{ readonly lines: string; readonly count: number }> {
  const record = recordSql(resource, typeOf(resource));
  let after = 0;
  while (after < END) {
    const { last, count } = await nextPage(source, resource, after);
    const [row] = await source.read({
      sql: `SELECT group_concat(${record}, char(10) ORDER BY id) AS lines FROM ${resource.table} WHERE ${IS_ON_PAGE}`,
      parameter: JSON.stringify([after, last]),
    });
    if (count > 0) yield { lines: `${row?.lines}\n`, count };
    after = last;
  }
}

/**
 * An import into a database that nobody else may write to. Both calls reject if another import is
 * unfinished there.
 */
export interface Import {
  /** Adds the records that are missing, in one transaction; none if one of them cannot be added. */
  add(resource: Resource, records: readonly RecordValues[]): Promise<Addition>;
  /** Makes sure that no id up to `lastIds` is given again, and ends the import. */
  finish(lastIds: LastIds): Promise<void>;
}

/**
 * Returns the import of the export with this fingerprint into `target`. From its first addition
 * until it is finished, no service starts on `target`.
 */
export function importInto(target: Database, fingerprint: number): Import {
  return {
    async add(resource, records) {
      await refuseOtherImport(target, fingerprint);
      const { same, taken, orphan } = await compare(target, resource, records);
      if (taken !== undefined) return { taken };
      if (orphan !== undefined) return { orphan };
      const added = records.length - same;
      const insert = { sql: insertSql(resource), parameter: JSON.stringify(records) };
      if (added > 0) await target.transact(randomUUID(), [...markImport(fingerprint), insert]);
      return { added };
    },

    async finish(lastIds) {
      await refuseOtherImport(target, fingerprint);
      const given = await lastIdsOf(target);
      const tables = new Set([...Object.keys(given), ...Object.keys(lastIds)]);
      const last = [...tables].map(
        (table) => [table, Math.max(given[table] ?? 0, lastIds[table] ?? 0)] as const,
      );
      await target.transact(randomUUID(), [
        ...giveLastIds(Object.fromEntries(last)),
        markFinished('import'),
      ]);
    },
  };
}

/** Compares records with those of `target`, and changes nothing. */
export async function compare(
  target: Source,
  resource: Resource,
  records: readonly RecordValues[],
): Promise<Comparison> {
  const [found] = await target.read({
    sql: comparisonSql(resource),
    parameter: JSON.stringify(records),
  });
  const idOf = (value: unknown) => (value == null ? undefined : Number(value));
  return { same: Number(found?.same), taken: idOf(found?.taken), orphan: idOf(found?.orphan) };
}

function comparisonSql(resource: Resource): string {
  const { table, owner } = resource;
  const same = columnsOf(resource).map(
    (column, index) => `found.${column} IS value ->> ${index + 1}`,
  );
  const isOrphan =
    owner && `NOT EXISTS (SELECT 1 FROM ${owner.resource.table} WHERE id = ${OWNER_ID})`;
  const orphan = isOrphan ? `(SELECT min(${ID}) FROM json_each(?1) WHERE ${isOrphan})` : 'NULL';
  // CROSS JOIN keeps the order of the tables: a lookup for each record instead of a scan of the
  // whole table.
  return `
    SELECT count(*) AS same, min(iif(${same.join(' AND ')}, NULL, found.id)) AS taken, ${orphan} AS orphan
    FROM json_each(?1) CROSS JOIN ${table} AS found ON found.id = ${ID}`;
}

function insertSql(resource: Resource): string {
  const stored = ['id', ...columnsOf(resource)];
  return `
    INSERT INTO ${resource.table} (${stored.join(', ')})
    SELECT ${stored.map((_, index) => `value ->> ${index}`).join(', ')} FROM json_each(?1)
    WHERE NOT EXISTS (SELECT 1 FROM ${resource.table} WHERE id = ${ID})`;
}
