// The kinds of writes on records. A write checks its condition in its own statement.
import { type Resource, rowColumnsOf } from '../../resources/resource.ts';
import { RESOURCES } from '../../resources/resources.ts';
import type { RowSet, WriteKind } from '../batches/writer.ts';
import type { Row } from '../database.ts';
import { LAST_NUMBER, lastIdSql, tagSql } from '../numbers.ts';
import { NOW, SET_TIMES } from './answered-keys.ts';
import { satisfiesSql } from './condition.ts';
import { FIRST_FIELD, ownerExistsSql, recordSql, recordText } from './text.ts';

/** A record as it is stored: its JSON text, and its entity tag without quotes. */
export interface Stored {
  readonly text: string;
  readonly tag: string;
}

/** The ids of the tags that a write has created by name; of several, the first and the last. */
export interface NewTags {
  readonly newTags?: { readonly tag_id: number | readonly [first: number, last: number] };
}

/** A record after a change. */
export interface Changed extends Stored, NewTags {}

/** The records of one creation, which have consecutive ids. */
export interface Created extends NewTags {
  readonly id: number;
  readonly tag: string;
  readonly texts: readonly string[];
  /** Whether an earlier request with the same key has created them. */
  readonly isReplay?: boolean;
  readonly isReuse?: boolean;
}

/** The SQL of the rows of all writes. */
export const ROWS = `json_each(?1, '$[1]') AS sent`;

/** The SQL of the position of the current row. */
export const POSITION = 'sent.key';

/** The SQL of a member of the current row. */
export const member = (index: number) => `sent.value ->> ${index}`;

/** The SQL of the first member of a row; `text.ts` lists the others. */
export const OWNER = member(0);
const ID = member(1);
const CONDITION = `(${member(2)})`;

/** Returns the kinds of writes that take one statement. */
export function recordKinds(resource: Resource) {
  const { table } = resource;
  const creation: WriteKind<RowSet, Created | undefined> = {
    statements: [creationStatement(resource)],
    outcomes(writes, rows) {
      const created = rows.map(writtenIn);
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
    statements: [changeStatement(resource, isPatch)],
    outcomes(writes, rows) {
      const byId = writtenById(rows);
      return writes.map(({ rows: [row = []] }) => {
        const found = byId.get(Number(row[1]));
        return found && { text: found.rest || recordText(resource, found.id, row), tag: found.tag };
      });
    },
    changes: ({ rows: [row] }, now) => (now ? [[table, Number(row?.[1]), now]] : []),
  });
  const owned = ownedBy(resource).map((each) => [each] as const);
  const removal: WriteKind<RowSet, boolean> = {
    statements: [removalStatement(resource), SET_TIMES],
    outcomes(writes, rows) {
      const byId = writtenById(rows);
      return writes.map(({ rows: [row] }) => byId.has(Number(row?.[1])));
    },
    changes: ({ rows: [row] }, isRemoved) =>
      isRemoved ? [[table, Number(row?.[1])], ...owned] : [],
  };
  return { creation, replacement: change(false), patch: change(true), removal };
}

/** Returns the statement that reads columns, given as SQL by name, inside a write. */
export function readStatement(columns: Readonly<Record<string, string>>, from: string) {
  const sqls = Object.entries(columns);
  const members = sqls.map(([name, sql]) => `'${name}', ${sql}`);
  return {
    sql: `SELECT ${sqls.map(([name, sql]) => `${sql} AS ${name}`).join(', ')} ${from}`,
    rows: `(SELECT json_group_array(json_object(${members.join(', ')})) ${from})`,
  };
}

/** Returns the SQL of the values that a write assigns: explicit, because RETURNING has no order. */
export function newRecord({ table }: Resource) {
  const number = `(${LAST_NUMBER} + ${POSITION} + 1)`;
  return { id: `(${lastIdSql(table)} + ${POSITION} + 1)`, number, tag: tagSql(number) };
}

/** Returns the SQL that creates the rows that satisfy `where`; `rows` is their FROM clause. */
export function insertSql(resource: Resource, where: string, rows = ROWS): string {
  const { table, owner, fields } = resource;
  const values = Object.keys(fields).map((_, index) => member(FIRST_FIELD + index));
  if (owner) values.unshift(OWNER);
  const { id, number } = newRecord(resource);
  return `
    INSERT INTO ${table} (${rowColumnsOf(resource).join(', ')}, number, created_at, updated_at)
    SELECT ${id}, ${values.join(', ')}, ${number}, ${NOW}, ${NOW} FROM ${rows} WHERE ${where}`;
}

function creationStatement(resource: Resource) {
  const { owner } = resource;
  const where = ownerExistsSql(resource, OWNER);
  const { id, tag } = newRecord(resource);
  return {
    sql: `${insertSql(resource, where)}
      RETURNING ${writtenSql('id', tagSql('number'), owner?.column ?? '0')} AS written`,
    rows: readStatement(
      { written: writtenSql(id, tag, owner ? `(${OWNER})` : '0') },
      `FROM ${ROWS} WHERE ${where}`,
    ).rows,
  };
}

/** Returns the statement that replaces values; as a patch, only those that are given. */
export function changeStatement(resource: Resource, isPatch: boolean, where = 'TRUE') {
  const { table, fields } = resource;
  const target = `${isTarget(resource)} AND ${where}`;
  const newValues = new Map(
    Object.keys(fields).map((column, index) => {
      const value = member(FIRST_FIELD + index);
      return [column, isPatch ? `coalesce(${value}, ${table}.${column})` : value];
    }),
  );
  const set = [...newValues].map(([column, value]) => `${column} = ${value}`);
  const { number, tag } = newRecord(resource);
  const columnSql = (column: string) => newValues.get(column) ?? `${table}.${column}`;
  // The clock may have been corrected since the record was created.
  const updatedAt = `max(coalesce(${table}.created_at, 0), ${NOW})`;
  const [written, foretold] = isPatch ? [recordSql(resource), recordSql(resource, columnSql)] : [];
  return {
    sql: `
      UPDATE ${table} SET ${set.join(', ')}, number = ${number}, updated_at = ${updatedAt}
      FROM ${ROWS} WHERE ${target}
      RETURNING ${writtenSql(`${table}.id`, tagSql(`${table}.number`), written)} AS written`,
    rows: readStatement(
      { written: writtenSql(`${table}.id`, tag, foretold) },
      `FROM ${ROWS} CROSS JOIN ${table} ON ${target}`,
    ).rows,
  };
}

function removalStatement(resource: Resource) {
  const { table } = resource;
  const targets = `FROM ${ROWS} CROSS JOIN ${table} ON ${isTarget(resource)}`;
  return {
    sql: `
      DELETE FROM ${table} WHERE id IN (SELECT ${table}.id ${targets})
      RETURNING ${writtenSql('id')} AS written`,
    rows: readStatement({ written: writtenSql(`${table}.id`) }, targets).rows,
  };
}

/** Returns the SQL that tests whether the current row names this record and admits its tag. */
export function isTarget({ table, owner }: Resource): string {
  const isOwner = owner ? ` AND ${table}.${owner.column} = ${OWNER}` : '';
  return `${table}.id = ${ID}${isOwner} AND ${satisfiesSql(CONDITION, tagSql(`${table}.number`))}`;
}

function ownedBy(resource: Resource): string[] {
  const owned = RESOURCES.filter(({ owner }) => owner?.resource === resource);
  return owned.flatMap((each) => [each.table, ...ownedBy(each)]);
}

/** Returns the texts of the created records. */
export function createdTexts(resource: Resource, id: number, { rows }: RowSet): string[] {
  return rows.map((row, index) => recordText(resource, id + index, row));
}

/** As one text, as the package is slow for each value; `rest` is an owner or the whole text. */
function writtenSql(id: string, tag = "''", rest = "''"): string {
  return `${id} || ' ' || ${tag} || ' ' || ${rest}`;
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

function writtenById(rows: readonly Row[]) {
  return new Map(rows.map(writtenIn).map((written) => [written.id, written]));
}
