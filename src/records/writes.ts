// The kinds of writes on records. A write checks its condition in its own statement. `npm run sql`
// prints the statements of the service.
import type { Problem } from '../http/problem.ts';
import type { WrittenIds } from '../http/reply.ts';
import { type Resource, rowColumnsOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { Row } from '../storage/database.ts';
import { CHANGE_COLUMNS, LAST_NUMBER, lastIdSql, tagSql } from '../storage/numbers.ts';
import { NOW, namedRows, SET_TIMES } from '../storage/parameter.ts';
import type { RowSet, WriteKind } from '../storage/writer.ts';
import { satisfiesSql } from './condition.ts';
import { ASSUMED_WITH_OWNED, bytesSql, bytesWithOwnedSql } from './rewritten.ts';
import { ID_COLUMN, ifReachable, ownerExistsSql, recordSql, recordText } from './text.ts';

/** A record as it is stored: its JSON text, and its entity tag without quotes. */
export interface Stored {
  readonly text: string;
  readonly tag: string;
}

/** What the parts of a write decide, and add to its answer. */
export interface Settled {
  readonly headers?: readonly string[];
  readonly createdIds?: WrittenIds;
  /** Whether an earlier request has created the records. */
  readonly isReplay?: boolean;
  /** Why nothing was written. */
  readonly refusal?: Problem;
}

/** The records of one creation, which have consecutive ids. */
export interface Created extends Settled {
  readonly id: number;
  readonly tag: string;
  readonly texts: readonly string[];
}

/** Returns the named query for the rows of creations, with more columns. */
export function createdRows({ fields }: Resource, more: readonly string[] = []): string {
  return namedRows('sent', ['_owner', '_key', '_fingerprint', ...Object.keys(fields), ...more]);
}

/** Returns the named query for the rows of changes. */
export function changedRows({ fields }: Resource): string {
  return namedRows('sent', ['_owner', '_id', '_condition', ...Object.keys(fields)]);
}

/** Returns the kinds of writes that take one statement. */
export function recordKinds(resource: Resource) {
  const { table } = resource;
  const creation: WriteKind<RowSet, Created | undefined> = {
    statements: { insert: insertion(resource) },
    outcomes(writes, { insert = [] }) {
      const created = insert.map(writtenIn);
      if (created.length > 1) created.sort((one, other) => one.id - other.id);
      const owners = resource.owner && new Set(created.map(({ rest }) => rest));
      let next = 0;
      return writes.map((write) => {
        const first = created[next];
        if (!first || owners?.has(String(write.rows[0]?.[0])) === false) return undefined;
        next += write.rows.length;
        return { id: first.id, tag: first.tag, texts: createdTexts(resource, first.id, write) };
      });
    },
    changes: (_, created) => (created ? [[table, created.id]] : []),
  };
  const change = (isPatch: boolean): WriteKind<RowSet, Stored | undefined> => ({
    statements: { update: updating(resource, isPatch) },
    outcomes(writes, { update = [] }) {
      const byId = new Map(update.map(writtenIn).map((written) => [written.id, written]));
      return writes.map(({ rows: [row = []] }) => {
        const found = byId.get(Number(row[1]));
        return found && { text: found.rest || recordText(resource, found.id, row), tag: found.tag };
      });
    },
    changes: ({ rows: [row] }, now) => (now ? [[table, Number(row?.[1]), now]] : []),
    rewrites: { idColumn: ID_COLUMN, bytes: bytesSql(resource) },
  });
  const owned = ownedBy(resource).map((each) => [each] as const);
  const removal: WriteKind<RowSet, boolean> = {
    statements: { remove: deletion(resource), setTimes: SET_TIMES },
    outcomes(writes, { remove = [] }) {
      const ids = new Set(remove.map(({ written }) => written));
      return writes.map(({ rows: [row] }) => ids.has(Number(row?.[1])));
    },
    changes: ({ rows: [row] }, isRemoved) =>
      isRemoved ? [[table, Number(row?.[1])], ...owned] : [],
    rewrites: {
      idColumn: ID_COLUMN,
      bytes: bytesWithOwnedSql(resource),
      assumedBytes: ownedBy(resource).length > 0 ? ASSUMED_WITH_OWNED : undefined,
    },
  };
  return { creation, replacement: change(false), patch: change(true), removal };
}

/** Returns the statement that reads columns, given as SQL by name, inside a write. */
export function readStatement(
  named: string,
  columns: Readonly<Record<string, string>>,
  from: string,
) {
  const sqls = Object.entries(columns);
  const values = sqls.map(([name, sql]) => `${sql} AS ${name}`);
  const members = sqls.map(([name, sql]) => `'${name}', ${sql}`);
  return {
    sql: `WITH ${named} SELECT ${values.join(', ')} ${from}`,
    rows: `(WITH ${named} SELECT json_group_array(json_object(${members.join(', ')})) ${from})`,
  };
}

/** The SQL of the number of a change: explicit, because RETURNING has no order. */
export const NUMBER = `(${LAST_NUMBER} + _position + 1)`;

/** Returns the SQL of the id of a new record. */
export function newIdSql({ table }: Resource): string {
  return `${lastIdSql(table)} + _position + 1`;
}

/** The SQL of the times of a record that is written. */
const TIMES = { created_at: NOW, updated_at: NOW };

/** Returns the query for the records that rows become; `from` is its FROM clause. */
export function newRecords(resource: Resource, from: string, times = TIMES): string {
  const { owner, fields } = resource;
  const ownerId = owner ? `_owner AS ${owner.column}, ` : '';
  return `
    SELECT ${newIdSql(resource)} AS id, ${ownerId}${Object.keys(fields).join(', ')},
      ${NUMBER} AS number, ${times.created_at} AS created_at, ${times.updated_at} AS updated_at
    ${from}`;
}

/** Returns the SQL that creates the records of a query. */
export function insertSql(resource: Resource, records: string): string {
  const columns = [...rowColumnsOf(resource), ...CHANGE_COLUMNS];
  return `INSERT INTO ${resource.table} (${columns.join(', ')}) ${records}`;
}

function insertion(resource: Resource) {
  const records = newRecords(resource, `FROM sent WHERE ${ownerExistsSql(resource, '_owner')}`);
  const written = writtenSql(resource.owner?.column);
  return reporting(resource, createdRows(resource), insertSql(resource, records), records, written);
}

/** Returns the statement that replaces values; as a patch, only those that are given. */
export function updating(
  resource: Resource,
  isPatch: boolean,
  named = changedRows(resource),
  where = 'TRUE',
) {
  const { table, owner, fields } = resource;
  const values: [name: string, sql: string][] = Object.keys(fields).map((name) => [
    name,
    isPatch ? `coalesce(sent.${name}, ${table}.${name})` : `sent.${name}`,
  ]);
  values.push(['number', NUMBER]);
  // The clock may have been corrected since the record was created.
  values.push(['updated_at', `max(coalesce(${table}.created_at, 0), ${NOW})`]);
  const target = `${isTarget(resource)} AND ${where}`;
  const kept = owner ? ['id', owner.column] : ['id'];
  const columns = [
    ...kept.map((name) => `${table}.${name}`),
    ...values.map(([name, sql]) => `${sql} AS ${name}`),
  ];
  return reporting(
    resource,
    named,
    `UPDATE ${table} SET ${values.map(([name, sql]) => `${name} = ${sql}`).join(', ')}
     FROM sent WHERE ${target}`,
    `SELECT ${columns.join(', ')} FROM sent CROSS JOIN ${table} ON ${target}`,
    writtenSql(isPatch ? recordSql(resource) : undefined),
  );
}

function deletion(resource: Resource) {
  const { table } = resource;
  const records = `SELECT ${table}.id FROM sent CROSS JOIN ${table} ON ${isTarget(resource)}`;
  const remove = `DELETE FROM ${table} WHERE id IN (${records})`;
  return reporting(resource, changedRows(resource), remove, records, 'id');
}

/** Returns the SQL that tests whether the current row names this record and admits its tag. */
export function isTarget(resource: Resource): string {
  const { table, owner } = resource;
  const isOwner = owner
    ? ` AND ${table}.${owner.column} = sent._owner${ifReachable(resource)}`
    : '';
  const isAdmitted = satisfiesSql('sent._condition', tagSql(`${table}.number`));
  return `${table}.id = sent._id${isOwner} AND ${isAdmitted}`;
}

/** Makes a write return `written`; `records` is the query of the records as they will be. */
function reporting(
  { table }: Resource,
  named: string,
  write: string,
  records: string,
  written: string,
) {
  return {
    sql: `WITH ${named} ${write} RETURNING ${written} AS written`,
    rows: readStatement(`${named}, new AS (${records})`, { written }, `FROM new AS ${table}`).rows,
  };
}

/** One text, because each column costs time; `rest` is an owner or the whole text. */
function writtenSql(rest = "''"): string {
  return `id || ' ' || ${tagSql('number')} || ' ' || ${rest}`;
}

function ownedBy(resource: Resource): string[] {
  const owned = RESOURCES.filter(({ owner }) => owner?.resource === resource);
  return owned.flatMap((each) => [each.table, ...ownedBy(each)]);
}

/** Returns the texts of the created records. */
export function createdTexts(resource: Resource, id: number, { rows }: RowSet): string[] {
  return rows.map((row, index) => recordText(resource, id + index, row));
}

/** Returns what the column `written` says. */
export function writtenIn({ written }: Row) {
  const text = String(written);
  const idEnd = text.indexOf(' ');
  const tagEnd = text.indexOf(' ', idEnd + 1);
  return {
    id: Number(text.slice(0, idEnd)),
    tag: text.slice(idEnd + 1, tagEnd),
    rest: text.slice(tagEnd + 1),
  };
}
