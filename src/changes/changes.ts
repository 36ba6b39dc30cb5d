// The log of changes, as clients follow it: what has changed after a cursor.
import type { Selection, Selects } from '../feature.ts';
import { ifReachable, membersSql, ownMembers } from '../records/text.ts';
import { typeOf } from '../resources/relation.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { MAX_LARGE_PAGE_BYTES, type Row, type Source } from '../storage/database.ts';
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
  /** The types of the changes; all, if there are none. */
  readonly types?: readonly string[];
  /** What records have, by `fields` and `include`, and which are meant. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** The changes after a cursor, in order. */
export interface Changes {
  readonly items: readonly Readonly<Record<'id' | 'type' | 'text', string>>[];
  readonly next: Cursor;
  readonly hasMore: boolean;
}

export const KEPT_CHANGES = 1_000_000;

/** How many changes a read looks at, of which it may select some: others wait for it. */
export const MAX_LOOKED_AT = 2_048;

/** How many changes a read looks at for the first one at a time. Tests change it. */
export const PLACE_LIMITS = { lookedAt: 65_536 };

/** How many bytes of records a read returns at most, unless a single record exceeds them. */
export const MAX_RECORD_BYTES = 262_144;

/** The number before the first change that is kept. */
const FIRST_KEPT = `max(first, ${LAST_NUMBER} - ${KEPT_CHANGES})`;

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

/** A search for the first change at a time or later, in ms since 1970. */
export interface PlaceRequest {
  readonly ms: number;
  /** The number of the last change that was looked at, if there was one. */
  readonly after?: number;
}

/** The cursor before that change; the number to go on from, if it was not found yet. */
export type Place = { readonly cursor: Cursor } | { readonly after: number };

/** Resolves with a place; undefined if the log no longer has all changes since that time. */
export async function findPlace(
  source: Source,
  { ms, after = -1 }: PlaceRequest,
): Promise<Place | undefined> {
  const { lookedAt } = PLACE_LIMITS;
  const sql = `
    WITH log AS (
      SELECT generation, ${LAST_NUMBER} AS last, ${FIRST_KEPT} AS before
      FROM notes_server_generation),
    looked AS (
      SELECT number, at FROM ${CHANGES}
      WHERE number > max(?1 ->> '$[1]', (SELECT before FROM log)) ORDER BY number LIMIT ${lookedAt})
    SELECT generation, coalesce(
        (SELECT number - 1 FROM looked WHERE at >= ?1 ->> '$[0]' ORDER BY number LIMIT 1),
        (SELECT iif(count(*) < ${lookedAt}, last, NULL) FROM looked)) AS last,
      (SELECT max(number) FROM looked) AS looked_at,
      ?1 ->> '$[1]' >= before OR before = 0 OR ?1 ->> '$[0]' > (
        SELECT at FROM ${CHANGES} WHERE number > before AND at IS NOT NULL
        ORDER BY number LIMIT 1) AS is_logged
    FROM log`;
  const [row] = await source.read({ sql, parameter: JSON.stringify([ms, after]) });
  if (row?.is_logged !== 1) return undefined;
  return row.last === null ? { after: Number(row.looked_at) } : { cursor: cursorOf(row) };
}

/** Resolves with the changes after a cursor; undefined if the log no longer has all of them. */
export async function readChanges(
  source: Source,
  { after, limit, withRecords, types = [], parameters = {} }: ChangesRequest,
  selects: Selects = ownSelection,
): Promise<Changes | undefined> {
  const selections = RESOURCES.map((resource) => selects(resource, parameters));
  const values = selections.map((each) => each.values);
  const parameter = JSON.stringify([after.generation, after.number, limit, types, values]);
  const isSelected = isSelectedSql(selections, types);
  const sql = changesSql(selections, withRecords, isSelected);
  const [row] = await source.read({ sql, parameter, maxBytes: MAX_LARGE_PAGE_BYTES });
  if (row?.is_logged !== 1) return undefined;
  const last = cursorOf(row);
  const lines = row.lines === null ? [] : String(row.lines).split('\n');
  const items = lines.map((text) => {
    const [, id = '', type = ''] = LINE.exec(text) ?? [];
    return { id, type, text };
  });
  const lastId = items.at(-1)?.id;
  const areAll = items.length === Number(row.found) && items.length < limit;
  const end = isSelected && areAll ? { ...last, number: Number(row.looked_at) } : undefined;
  const next = end ?? (lastId === undefined ? last : parseCursor(lastId));
  return { items, next, hasMore: next.number < last.number };
}

/** Selects all records with their own members. */
export const ownSelection: Selects = (resource, { fields }) => ({
  members: ownMembers(resource, fields),
  values: {},
  conditions: () => [],
});

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

/** Returns the SQL of whether a change is selected; '' if all are. */
function isSelectedSql(selections: readonly Selection[], types: readonly string[]): string {
  const isFiltered = selections.some(({ values }) => Object.keys(values).length > 0);
  const conditionOf = (resource: Resource) => {
    const index = RESOURCES.indexOf(resource);
    const valueAt =
      (name: string) =>
      (path = '') =>
        `?1 ->> '$[4][${index}].${name}${path}'`;
    // A filter of one resource selects none of the others.
    return selections[index]?.conditions('looked.id', valueAt).join(' AND ') || 'FALSE';
  };
  return [
    ...(types.length > 0 ? [`type IN (SELECT value FROM json_each(?1, '$[3]'))`] : []),
    ...(isFiltered ? [byResourceSql(conditionOf)] : []),
  ].join(' AND ');
}

/** Returns the SQL of a page of the log, which ends early if its records become too large. */
function changesSql(
  selections: readonly Selection[],
  withRecords: boolean,
  isSelected: string,
): string {
  const membersOf = (resource: Resource) => selections[RESOURCES.indexOf(resource)]?.members ?? [];
  const recordSql = (resource: Resource) => `json_object(${membersSql(membersOf(resource))})`;
  const record = withRecords ? ` || ',"record":' || coalesce(record, 'null')` : '';
  const limit = `?1 ->> '$[2]'`;
  const logged = (most: string) => `
      SELECT number, type, id, other_id, at FROM ${CHANGES}
      WHERE number > (SELECT iif(is_logged, ?1 ->> '$[1]', NULL) FROM place)
      ORDER BY number LIMIT ${most}`;
  const due = isSelected
    ? `looked AS MATERIALIZED (${logged(`${MAX_LOOKED_AT}`)}),
       due AS MATERIALIZED (
         SELECT * FROM looked WHERE ${isSelected} ORDER BY number LIMIT ${limit})`
    : `due AS MATERIALIZED (${logged(limit)})`;
  // One by one, because records can be large: none is made after the last one that is taken.
  const taken = `,
    placed AS MATERIALIZED (SELECT *, row_number() OVER (ORDER BY number) AS place FROM due),
    taken AS (
      SELECT 0 AS place, 0 AS before, NULL AS record
      UNION ALL
      SELECT due.place, before + coalesce(octet_length(record), 0), ${ofRecordSql(recordSql)}
      FROM taken CROSS JOIN placed AS due ON due.place = taken.place + 1
      WHERE before + coalesce(octet_length(record), 0) < ${MAX_RECORD_BYTES})`;
  const lookedAt = `
      (SELECT iif(count(*) < ${MAX_LOOKED_AT}, last, max(number)) FROM looked) AS looked_at,
      (SELECT count(*) FROM due) AS found,`;
  return `
    WITH place AS MATERIALIZED (
      SELECT generation, ${LAST_NUMBER} AS last,
        generation = ?1 ->> '$[0]' AND
          ?1 ->> '$[1]' BETWEEN ${FIRST_KEPT} AND ${LAST_NUMBER} AS is_logged
      FROM notes_server_generation),
    ${due}${withRecords ? taken : ''}
    SELECT place.*, ${isSelected && lookedAt} (
      SELECT group_concat(
        '{"id":"' || place.generation || '-' || number || '","type":"' || type ||
          '","at":' || coalesce('"' || ${timeSql('at')} || '"', 'null') ||
          ${byResourceSql(idMembersSql)}${record} || '}',
        char(10) ORDER BY number)
      FROM ${withRecords ? 'taken JOIN placed USING (place)' : 'due'}) AS lines
    FROM place`;
}
