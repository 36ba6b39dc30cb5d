// Reads records from a database as JSON lines, and adds records with their ids to a database.
import { randomUUID } from 'node:crypto';
import {
  columnsOf,
  type FieldValue,
  keysOf,
  type Relation,
  referencesOf,
  typeOf,
} from '../resources/resource.ts';
import { CHANGES, renewGeneration, timeSql } from '../storage/changes/numbers.ts';
import type { Database, Source, Statement } from '../storage/database.ts';
import { membersSql } from '../storage/records/text.ts';
import { markImport, removeMark, unfinishedBase } from '../storage/schema/unfinished.ts';
import {
  allColumnsOf,
  insertSql,
  isOnPage,
  type LastIds,
  lastIdsOf,
  MAX_ID,
  nextPage,
  setLastIds,
} from './walk.ts';

/** The SQL of the members that an export adds to each record. */
const CHANGE_MEMBERS = [
  `'number', number`,
  ...['created_at', 'updated_at'].map((column) => `'${column}', ${timeSql(column)}`),
];

/** The values of a row, in the order of its columns; null is an unknown time. */
export type RecordValues = readonly [id: number, ...values: (FieldValue | null)[]];

/** A record cannot be added. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
  /** Its position among the given records. */
  readonly index: number;

  constructor(message: string, index: number) {
    super(message);
    this.index = index;
  }
}

/**
 * Reads a table page by page: one line of JSON for each record, with its type as the first member.
 * `hasChanges` tells whether records have numbers and times.
 */
export async function* recordLines(
  source: Source,
  relation: Relation,
  hasChanges = true,
): AsyncGenerator<{ readonly lines: string; readonly count: number }> {
  const line = lineSql(relation, hasChanges);
  let after = 0;
  while (after < MAX_ID) {
    const { last, count } = await nextPage(source, relation, after);
    const [row] = await source.read({
      sql: `
        SELECT group_concat(${line}, char(10) ORDER BY ${keysOf(relation)}) AS lines
        FROM ${relation.table} WHERE ${isOnPage(relation)}`,
      parameter: JSON.stringify([after, last]),
    });
    if (count > 0) yield { lines: `${row?.lines}\n`, count };
    after = last;
  }
}

function lineSql(relation: Relation, hasChanges: boolean): string {
  const changes = hasChanges && !('ends' in relation) ? CHANGE_MEMBERS : [];
  const members = [...membersSql(relation), ...changes];
  return `json_object('type', '${typeOf(relation)}', ${members.join(', ')})`;
}

/** An import. Nobody else may write to the database. Rejects if another import is unfinished. */
export interface Import {
  /**
   * Adds the records that are missing, in one transaction; resolves with how many. Adds none, and
   * rejects with {@link RecordRefused}, if an id is taken or another record is missing that the
   * record belongs to.
   */
  add(relation: Relation, records: readonly RecordValues[]): Promise<number>;
  /** Makes sure that nothing up to `lastIds` is assigned again, and ends the import. */
  finish(lastIds: LastIds): Promise<void>;
}

/**
 * Returns the import of the export with this fingerprint into `target`. From its first addition
 * until it is finished, no service starts on `target`. The base, which is the last number of
 * `target` before that, is added to the numbers of the records.
 */
export function importInto(target: Database, fingerprint: number): Import {
  return {
    async add(relation, records) {
      const base = await unfinishedBase(target, fingerprint);
      const { same, orphan } = await compare(target, relation, records);
      if (orphan) throw orphan;
      const added = records.length - same;
      if (added === 0) return 0;
      const newBase = base ?? (await lastIdsOf(target))[CHANGES] ?? 0;
      const mark = base === undefined ? markImport(fingerprint, newBase) : [];
      await target.transact(randomUUID(), [...mark, insertion(relation, records, newBase)]);
      return added;
    },

    async finish(stated) {
      const base = await unfinishedBase(target, fingerprint);
      const given = await lastIdsOf(target);
      const lastIds: LastIds = { ...stated, [CHANGES]: (base ?? 0) + (stated[CHANGES] ?? 0) };
      const tables = Object.keys({ ...given, ...lastIds });
      const last = tables.map((table) => [table, Math.max(given[table] ?? 0, lastIds[table] ?? 0)]);
      const statements = [...setLastIds(Object.fromEntries(last)), removeMark('import')];
      if (base !== undefined) statements.push(...renewGeneration());
      await target.transact(randomUUID(), statements);
    },
  };
}

function insertion(relation: Relation, records: readonly RecordValues[], base: number): Statement {
  const columns = allColumnsOf(relation);
  const numberIndex = columns.indexOf('number');
  const rows = records.map((values) =>
    values.map((value, index) => (index === numberIndex ? Number(value) + base : value)),
  );
  const isFound = keysOf(relation).map((key, index) => `${key} = json_each.value ->> ${index}`);
  return {
    sql: `${insertSql(relation, columns)}
      WHERE NOT EXISTS (SELECT 1 FROM ${relation.table} WHERE ${isFound.join(' AND ')})`,
    parameter: JSON.stringify(rows),
  };
}

/** How records compare with those in a database. */
interface Comparison {
  /** How many records exist with the same values. */
  readonly same: number;
  /** The first record that refers to a missing one. */
  readonly orphan: RecordRefused | undefined;
}

/**
 * Compares the keys and fields of records with those of `target`, and changes nothing. Rejects with
 * {@link RecordRefused} if an id belongs to another record.
 */
export async function compare(
  target: Source,
  relation: Relation,
  records: readonly RecordValues[],
): Promise<Comparison> {
  const parameter = JSON.stringify(records);
  const [found] = await target.read({ sql: comparisonSql(relation), parameter });
  const taken = found?.taken;
  if (taken != null) {
    const index = Number(taken);
    const message = `another ${typeOf(relation)} already has the id ${records[index]?.[0]}`;
    throw new RecordRefused(message, index);
  }
  const [orphan] = referencesOf(relation).flatMap(({ resource, column }) => {
    const index = found?.[orphanName(column)];
    const message = `${column} refers to a ${typeOf(resource)} that does not exist`;
    return index == null ? [] : [new RecordRefused(message, Number(index))];
  });
  return { same: Number(found?.same), orphan };
}

function comparisonSql(relation: Relation): string {
  const columns = allColumnsOf(relation);
  const given = (column: string) => `given.value ->> ${columns.indexOf(column)}`;
  const same = columnsOf(relation).map((column) => `found.${column} IS ${given(column)}`);
  const isFound = keysOf(relation).map((key) => `found.${key} = ${given(key)}`);
  const orphans = referencesOf(relation).map(
    ({ resource, column }) => `,
      (SELECT min(key) FROM json_each(?1) AS given
       WHERE NOT EXISTS (SELECT 1 FROM ${resource.table} WHERE id = ${given(column)}))
      AS ${orphanName(column)}`,
  );
  // CROSS JOIN fixes the order of the tables: a lookup for each record, not a scan of the table.
  return `
    SELECT count(*) AS same, min(iif(${same.join(' AND ')}, NULL, given.key)) AS taken
      ${orphans.join('')}
    FROM json_each(?1) AS given CROSS JOIN ${relation.table} AS found ON ${isFound.join(' AND ')}`;
}

/** Returns the name of the result that is the position of the first record without `column`. */
function orphanName(column: string): string {
  return `without_${column}`;
}
