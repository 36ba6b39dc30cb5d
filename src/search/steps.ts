// The steps that bring a search index up to date. A step has no effect unless the index is where
// it was read, so several processes may index at once.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BLOCK_BITS } from '../list-extension.ts';
import { typeOf } from '../relations.ts';
import type { Resource, SearchTables } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { Row, Source } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER } from '../storage/numbers.ts';
import { namedRows } from '../storage/parameter.ts';
import type { RowSet, Values, WriteKind } from '../storage/writer.ts';
import { indexedText } from './words.ts';

/** A resource whose records can be searched. */
export interface Searchable extends Resource {
  readonly search: SearchTables;
}

/** All of these. */
export const SEARCHABLE: readonly Searchable[] = RESOURCES.filter(
  (each): each is Searchable => each.search !== undefined,
);

/** Returns the names of the fields that are searched, in the order of the columns of the index. */
export function searchedFieldsOf({ search }: Searchable): readonly string[] {
  return Object.keys(search.weights);
}

/** The limits of a step; its first record may exceed `bytes`. */
export const STEP_LIMITS = { records: 256, bytes: 1_048_576 };

/** How long to analyse records before other events are handled, if one does not take longer. */
const SLICE_MS = 2;

/** What a record adds to the size of a step beside the bytes of its texts: it takes time. */
const RECORD_BYTES = 512;

/** How many records are measured; if there are more, they estimate the size of all. */
const SAMPLED_RECORDS = 1_000;

/** Which changes an index contains, as its table of the position stores it. */
interface IndexPosition {
  /** The number of the last change that it contains. */
  readonly number: number;
  /** While all records are being indexed: the id of the last one that the index contains. */
  readonly id: number | null;
}

/** How far an index is behind. */
export interface IndexState extends IndexPosition {
  readonly last: number;
  /** Whether the log has all changes since `number`. If not, all records must be indexed again. */
  readonly reaches: boolean;
}

/** A step that can be written, and the state of the index before it. */
export interface PreparedStep {
  readonly state: IndexState;
  /** Undefined if the index is up to date. */
  readonly step?: RowSet & { readonly to: IndexPosition };
  /** How much the step takes from the backlog: the bytes of its texts, and some for each record. */
  readonly size: number;
  /** Whether more would have followed without the limits. */
  readonly isFull: boolean;
}

/** Returns the SQL that tests whether a change in the log concerns the texts of a record. */
export const isOfTextsSql = (resource: Searchable) =>
  `type IN (${['created', 'updated', 'deleted'].map((event) => `'${typeOf(resource)}.${event}'`)})`;

/** The tables of both queries: the position `from`, the records that follow it, their sizes. */
function nextSql(resource: Searchable, maxRecords: number, from = 'number, id'): string {
  const { table, search } = resource;
  const size = searchedFieldsOf(resource).map((name) => `octet_length(${table}.${name})`);
  return `
    place AS MATERIALIZED (
      SELECT number, id, last, number = last OR (number < last AND oldest <= number + 1) AS reaches
      FROM (SELECT ${from}, ${LAST_NUMBER} AS last,
              coalesce((SELECT min(number) FROM ${CHANGES}), ${LAST_NUMBER} + 1) AS oldest
            FROM ${search.position})),
    due (position, id) AS MATERIALIZED (
      SELECT * FROM (SELECT number, id FROM ${CHANGES}
                     WHERE number > (SELECT iif(id IS NULL, number, NULL) FROM place)
                       AND ${isOfTextsSql(resource)}
                     ORDER BY number LIMIT ${maxRecords})
      UNION ALL
      SELECT * FROM (SELECT id, id FROM ${table}
                     WHERE id > (SELECT iif(reaches, id, 0) FROM place)
                     ORDER BY id LIMIT ${maxRecords})),
    measured AS (
      SELECT position, due.id, ${RECORD_BYTES} + coalesce(${size.join(' + ')}, 0) AS size
      FROM due LEFT JOIN ${table} ON ${table}.id = due.id)`;
}

/** Returns the SQL of the state with the backlog: about how much must be indexed. */
export function stateSql(resource: Searchable): string {
  return `
    WITH ${nextSql(resource, SAMPLED_RECORDS)}
    SELECT number, id, last, reaches, (
      SELECT coalesce(avg(size), 0) * CASE
        WHEN count(*) < ${SAMPLED_RECORDS} THEN count(*)
        WHEN reaches AND place.id IS NULL
          THEN count(*) * (last - number) / (max(position) - number)
        ELSE (SELECT sum(count) FROM ${resource.blocks}
              WHERE block >= iif(reaches, place.id, 0) >> ${BLOCK_BITS}) END
      FROM measured) AS backlog
    FROM place`;
}

/** Returns one statement, so that the texts are not older than the changes. */
function workSql(resource: Searchable): string {
  const { table } = resource;
  const texts = searchedFieldsOf(resource).map((name) => `${table}.${name}`);
  const from = `
    coalesce(?1 ->> 0, number) AS number, iif(?1 ->> 0 IS NULL, id, ?1 ->> 1) AS id`;
  return `
    WITH ${nextSql(resource, STEP_LIMITS.records, from)},
    sized AS (
      SELECT position, id, size, sum(size) OVER (ORDER BY position) - size AS before FROM measured)
    SELECT place.*, taken.*, (SELECT count(*) FROM due) AS due
    FROM place, (
      SELECT count(*) AS taken, max(position) AS taken_to, sum(size) AS size,
        json_group_array(json_array(sized.id, json_array(${texts}))) AS records
      FROM sized LEFT JOIN ${table} ON ${table}.id = sized.id
      WHERE before < ${STEP_LIMITS.bytes}) AS taken`;
}

/** Returns the state in a row of either query. */
export function stateOf({ number, id = null, last, reaches }: Row): IndexState {
  return {
    number: Number(number),
    id: id === null ? null : Number(id),
    last: Number(last),
    reaches: reaches === 1,
  };
}

/** Whether nothing is left to index. */
export function isCurrent({ number, id, last }: IndexState): boolean {
  return number === last && id === null;
}

/** Returns a function that resolves with the step from a position, by default the stored one. */
export function createStepReader(resource: Searchable, { read }: Source) {
  const sql = workSql(resource);
  return async (from?: IndexPosition): Promise<PreparedStep> => {
    const parameter = JSON.stringify(from ? [from.number, from.id] : []);
    const [row] = await read({ sql, parameter });
    if (!row) throw new Error('the search index has no position');
    const state = stateOf(row);
    if (isCurrent(state)) return { state, size: 0, isFull: false };
    const isFull = Number(row.taken) < Number(row.due) || row.due === STEP_LIMITS.records;
    // The log may name a record several times.
    const records = new Map<number, (string | null)[]>(JSON.parse(String(row.records)));
    const to = positionAfter(Number(row.taken_to), state, isFull);
    const step = { rows: await analyse(records), to, extra: [[state, to], [...records.keys()]] };
    return { state, step, size: Number(row.size), isFull };
  };
}

/** Returns the position after a step; that to id 0 empties the index first. */
function positionAfter(
  taken: number,
  { number, id, last, reaches }: IndexState,
  isFull: boolean,
): IndexPosition {
  if (!reaches) return { number: last, id: 0 };
  if (id !== null) return { number, id: isFull ? taken : null };
  return { number: isFull ? taken : last, id };
}

/** Finds the words of texts; other events are handled between records. */
async function analyse(records: ReadonlyMap<number, (string | null)[]>): Promise<Values[]> {
  let sliceStarted = performance.now();
  const rows: Values[] = [];
  for (const [id, texts] of records) {
    rows.push([id, ...texts.map((text) => text && indexedText(text))]);
    if (performance.now() - sliceStarted < SLICE_MS) continue;
    await nextTurn();
    sliceStarted = performance.now();
  }
  return rows;
}

/** Returns the kind of steps: rows are [id, ...words], beside both positions and all ids. */
export function createStepKind(resource: Searchable): WriteKind<RowSet, boolean> {
  const { table, position } = resource.search;
  const columns = searchedFieldsOf(resource);
  const isAt = `number = ?1 ->> '$[2][0].number' AND id IS ?1 ->> '$[2][0].id'`;
  const ifAt = `EXISTS (SELECT 1 FROM ${position} WHERE ${isAt})`;
  const empty = `
    INSERT INTO ${table} (${table})
    SELECT 'delete-all' FROM ${position} WHERE ${isAt} AND ?1 ->> '$[2][1].id' = 0`;
  const remove = `
    DELETE FROM ${table} WHERE rowid IN (SELECT value FROM json_each(?1, '$[3]')) AND ${ifAt}`;
  const insert = `
    WITH ${namedRows('sent', ['_id', ...columns])}
    INSERT INTO ${table} (rowid, ${columns.join(', ')})
    SELECT _id, ${columns.join(', ')} FROM sent WHERE ${columns[0]} IS NOT NULL AND ${ifAt}`;
  const move = `
    UPDATE ${position} SET number = ?1 ->> '$[2][1].number', id = ?1 ->> '$[2][1].id'
    WHERE ${isAt} RETURNING number`;
  const moved = `(
    SELECT json_group_array(json_object('number', number)) FROM ${position} WHERE ${isAt})`;
  return {
    statements: {
      empty: { sql: empty, ignoresRows: true },
      remove: { sql: remove, ignoresRows: true },
      insert: { sql: insert },
      move: { sql: move, ignoresRows: true, rows: moved },
    },
    // All writes have the same key, so there is one in each statement.
    outcomes: (_, { move: rows = [] }) => [rows.length === 1],
    changes: (_, hasMoved) => (hasMoved ? [[table]] : []),
  };
}
