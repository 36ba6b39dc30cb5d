// Reads records from a database as JSON lines, and adds records with their ids to a database.
import { randomUUID } from 'node:crypto';
import { columnsOf, type FieldValue, type Resource, typeOf } from '../resources/resource.ts';
import type { Database, Source } from '../storage/database.ts';
import { recordSql } from '../storage/record-text.ts';
import { markImport, refuseOtherImport, removeMark } from '../storage/unfinished.ts';
import {
  IS_ON_PAGE,
  insertSql,
  type LastIds,
  lastIdsOf,
  MAX_ID,
  nextPage,
  setLastIds,
} from './walk.ts';

/** A record: its id, the id of its owner, if any, and its values in the order of the fields. */
export type RecordValues = readonly [id: number, ...values: FieldValue[]];

/** The record with this id cannot be added. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
  readonly id: number;

  constructor(message: string, id: number) {
    super(message);
    this.id = id;
  }
}

/** How records compare with those in a database. */
interface Comparison {
  /** How many records exist with the same values. */
  readonly same: number;
  /** The least id of a record whose owner is missing. */
  readonly orphan: number | undefined;
}

/** The SQL of the id, and of the owner's id, in {@link RecordValues}. */
const ID = 'value ->> 0';
const OWNER_ID = 'value ->> 1';

/**
 * Reads a table page by page: one line of JSON for each record, with its type as the first member.
 */
export async function* recordLines(
  source: Source,
  resource: Resource,
): AsyncGenerator<{ readonly lines: string; readonly count: number }> {
  const record = recordSql(resource, undefined, typeOf(resource));
  let after = 0;
  while (after < MAX_ID) {
    const { last, count } = await nextPage(source, resource, after);
    const [row] = await source.read({
      sql: `
        SELECT group_concat(${record}, char(10) ORDER BY id) AS lines
        FROM ${resource.table} WHERE ${IS_ON_PAGE}`,
      parameter: JSON.stringify([after, last]),
    });
    if (count > 0) yield { lines: `${row?.lines}\n`, count };
    after = last;
  }
}

/** An import. Nobody else may write to the database. Rejects if another import is unfinished. */
export interface Import {
  /**
   * Adds the records that are missing, in one transaction; resolves with how many. Adds none, and
   * rejects with {@link RecordRefused}, if an id is taken or an owner is missing.
   */
  add(resource: Resource, records: readonly RecordValues[]): Promise<number>;
  /** Makes sure that no id up to `lastIds` is assigned again, and ends the import. */
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
      const { same, orphan } = await compare(target, resource, records);
      const { table, owner } = resource;
      if (owner && orphan !== undefined) {
        const message = `${owner.column} refers to a ${typeOf(owner.resource)} that does not exist`;
        throw new RecordRefused(message, orphan);
      }
      const sql = `${insertSql(resource)}
        WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE id = ${ID})`;
      const insert = { sql, parameter: JSON.stringify(records) };
      const added = records.length - same;
      if (added > 0) await target.transact(randomUUID(), [...markImport(fingerprint), insert]);
      return added;
    },

    async finish(lastIds) {
      await refuseOtherImport(target, fingerprint);
      const given = await lastIdsOf(target);
      const tables = Object.keys({ ...given, ...lastIds });
      const last = tables.map((table) => [table, Math.max(given[table] ?? 0, lastIds[table] ?? 0)]);
      const statements = [...setLastIds(Object.fromEntries(last)), removeMark('import')];
      await target.transact(randomUUID(), statements);
    },
  };
}

/**
 * Compares records with those of `target`, and changes nothing. Rejects with {@link RecordRefused}
 * if an id belongs to another record.
 */
export async function compare(
  target: Source,
  resource: Resource,
  records: readonly RecordValues[],
): Promise<Comparison> {
  const parameter = JSON.stringify(records);
  const [found] = await target.read({ sql: comparisonSql(resource), parameter });
  const idOf = (value: unknown) => (value == null ? undefined : Number(value));
  const taken = idOf(found?.taken);
  if (taken !== undefined)
    throw new RecordRefused(`another ${typeOf(resource)} already has the id ${taken}`, taken);
  return { same: Number(found?.same), orphan: idOf(found?.orphan) };
}

function comparisonSql(resource: Resource): string {
  const { table, owner } = resource;
  const same = columnsOf(resource).map(
    (column, index) => `found.${column} IS value ->> ${index + 1}`,
  );
  const isOrphan =
    owner && `NOT EXISTS (SELECT 1 FROM ${owner.resource.table} WHERE id = ${OWNER_ID})`;
  const orphan = isOrphan ? `(SELECT min(${ID}) FROM json_each(?1) WHERE ${isOrphan})` : 'NULL';
  // CROSS JOIN fixes the order of the tables: a lookup for each record, not a scan of the table.
  return `
    SELECT count(*) AS same, min(iif(${same.join(' AND ')}, NULL, found.id)) AS taken,
      ${orphan} AS orphan
    FROM json_each(?1) CROSS JOIN ${table} AS found ON found.id = ${ID}`;
}
