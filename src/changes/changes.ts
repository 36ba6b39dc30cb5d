// The log of changes, as clients follow it: what has changed after a cursor.
import { ifReachable, membersSql, ownMembers } from '../records/text.ts';
import { typeOf } from '../resources/relation.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { Row, Source } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER } from '../storage/numbers.ts';
import { timeSql } from '../time.ts';

/** A place in the log. */
export interface Cursor {
  readonly generation: string;
  readonly number: number;
}

export interface ChangesRequest {
  readonly after: Cursor;
  readonly limit: number;
  readonly withRecords: boolean;
  /** The only fields that the records have, where they have them; if it is empty, all. */
  readonly fields?: readonly string[];
}

/** The changes after a cursor, in order. */
export interface Changes {
  readonly items: readonly Readonly<Record<'id' | 'type' | 'text', string>>[];
  readonly next: Cursor;
  readonly hasMore: boolean;
}

export const KEPT_CHANGES = 1_000_000;

/** How many bytes of records a read returns at most, unless a single record exceeds them. */
export const MAX_RECORD_BYTES = 262_144;

const LINE = /^\{"id":"([^"]+)","type":"([^"]+)"/;

/** Returns a text such as "5f2c9a01-1042". */
export function cursorText({ generation, number }: Cursor): string {
  return `${generation}-${number}`;
}

/** Parses a text that the contract has validated. */
export function parseCursor(text: string): Cursor {
  const [generation = '', number] = text.split('-');
  return { generation, number: Number(number) };
}

/** Resolves with the cursor after the last change. */
export async function lastCursor(source: Source): Promise<Cursor> {
  const sql = `SELECT generation, ${LAST_NUMBER} AS last FROM notes_server_generation`;
  const [row] = await source.read({ sql });
  return cursorOf(row);
}

/** Resolves with the changes after a cursor; undefined if the log no longer has all of them. */
export async function readChanges(
  source: Source,
  { after, limit, withRecords, fields = [] }: ChangesRequest,
): Promise<Changes | undefined> {
  const parameter = JSON.stringify([after.generation, after.number, limit]);
  const [row] = await source.read({ sql: changesSql(withRecords, fields), parameter });
  if (row?.is_logged !== 1) return undefined;
  const last = cursorOf(row);
  const lines = row.lines === null ? [] : String(row.lines).split('\n');
  const items = lines.map((text) => {
    const [, id = '', type = ''] = LINE.exec(text) ?? [];
    return { id, type, text };
  });
  const lastId = items.at(-1)?.id;
  const next = lastId === undefined ? last : parseCursor(lastId);
  return { items, next, hasMore: next.number < last.number };
}

function cursorOf(row: Row | undefined): Cursor {
  return { generation: String(row?.generation), number: Number(row?.last) };
}

/** Returns the SQL of what `valueSql` returns for the resource that a change is about. */
function byResourceSql(valueSql: (resource: Resource) => string): string {
  const cases = RESOURCES.map((each) => `WHEN '${typeOf(each)}' THEN ${valueSql(each)}`);
  return `CASE substr(type, 1, instr(type, '.') - 1) ${cases.join(' ')} END`;
}

function ofRecordSql(valueSql: (resource: Resource) => string): string {
  return byResourceSql(
    (resource) => `
      (SELECT ${valueSql(resource)} FROM ${resource.table}
       WHERE ${resource.table}.id = due.id${ifReachable(resource)})`,
  );
}

/** Returns the SQL of the members with the ids of the records that a change is about. */
function idMembersSql({ owner, idParameter }: Resource): string {
  const own = `',"${idParameter}":' || id`;
  // What has no owner has another id only if it was tagged or untagged.
  return owner
    ? `',"${owner.resource.idParameter}":' || other_id || ${own}`
    : `${own} || coalesce(',"tag_id":' || other_id, '')`;
}

/** Returns the SQL of a page of the log, which ends early if its records become too large. */
function changesSql(withRecords: boolean, fields: readonly string[]): string {
  const membersOf = (resource: Resource) => ownMembers(resource, fields);
  const sizeSql = ofRecordSql((resource) => {
    const texts = membersOf(resource).filter(({ name }) => resource.fields[name]?.type === 'text');
    return ['0', ...texts.map(({ name }) => `octet_length(${name})`)].join(' + ');
  });
  const recordSql = (resource: Resource) => `json_object(${membersSql(membersOf(resource))})`;
  const record = withRecords
    ? ` || ',"record":' || coalesce(${ofRecordSql(recordSql)}, 'null')`
    : '';
  const sized = `
    SELECT *, sum(size) OVER (ORDER BY number) - size AS before
    FROM (SELECT *, coalesce(${sizeSql}, 0) AS size FROM due)`;
  const taken = withRecords ? `(${sized}) AS due WHERE before < ${MAX_RECORD_BYTES}` : 'due';
  return `
    WITH place AS MATERIALIZED (
      SELECT generation, ${LAST_NUMBER} AS last,
        generation = ?1 ->> '$[0]' AND ?1 ->> '$[1]' BETWEEN
          max(first, ${LAST_NUMBER} - ${KEPT_CHANGES}) AND ${LAST_NUMBER} AS is_logged
      FROM notes_server_generation),
    due AS MATERIALIZED (
      SELECT number, type, id, other_id, at FROM ${CHANGES}
      WHERE number > (SELECT iif(is_logged, ?1 ->> '$[1]', NULL) FROM place)
      ORDER BY number LIMIT ?1 ->> '$[2]')
    SELECT place.*, (
      SELECT group_concat(
        '{"id":"' || place.generation || '-' || number || '","type":"' || type ||
          '","at":' || coalesce('"' || ${timeSql('at')} || '"', 'null') ||
          ${byResourceSql(idMembersSql)}${record} || '}',
        char(10) ORDER BY number)
      FROM ${taken}) AS lines
    FROM place`;
}
