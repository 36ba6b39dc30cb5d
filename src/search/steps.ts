// The steps that bring a search index up to date. A step has no effect unless the index is where
// it was read, so several processes may index at once.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BLOCK_BITS } from '../list-extension.ts';
import { LOWEST } from '../pages.ts';
import { typeOf } from '../resources/relation.ts';
import type { Resource, SearchTables } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { Row, Source } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER } from '../storage/numbers.ts';
import { namedRows } from '../storage/parameter.ts';
import type { RowSet, Values, WriteKind } from '../storage/writer.ts';
import { indexedText } from './words.ts';

export interface Searchable extends Resource {
  readonly search: SearchTables;
}

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

/** Which changes an index contains, as its table of the position stores it. */
export interface IndexPosition {
  /** The number of the last change that it contains. */
  readonly number: number;
  /** While all records are being indexed: the id of the last one that the index contains. */
  readonly id: number | null;
}

interface Step extends RowSet {
  /** The stored position, and whether the log reaches back to it; that after the step. */
  readonly at: Pick<Row, 'number' | 'id' | 'reaches'>;
  readonly to: IndexPosition;
  /** The records that it indexes anew, or removes. */
  readonly ids: readonly number[];
  /** The bytes of its texts, and some for each record. */
  readonly size: number;
  /** Whether more would have followed without the limits. */
  readonly isFull: boolean;
  /** About the size of all that must be indexed, as if it were like what the step takes. */
  readonly backlog: number;
}

export interface PreparedStep {
  /** The number of the last change that there is. */
  readonly last: number;
  /** Undefined if the index is up to date. */
  readonly step?: Step;
}

/** Returns the SQL that tests whether a change in the log concerns the texts of a record. */
export const isOfTextsSql = (resource: Searchable) =>
  `type IN (${['created', 'updated', 'deleted'].map((event) => `'${typeOf(resource)}.${event}'`)})`;

/** Returns the query `place`: a position, and whether the log has all changes since. */
export function placeSql({ search: { position } }: Searchable, from = 'number, id'): string {
  return `
    place AS MATERIALIZED (
      SELECT number, id, last, number BETWEEN first AND last AS reaches
      FROM (SELECT ${from}, ${LAST_NUMBER} AS last,
              coalesce((SELECT min(number) - 1 FROM ${CHANGES}), ${LAST_NUMBER}) AS first
            FROM ${position}))`;
}

/** Returns one statement, so that the texts are not older than the changes. */
function workSql(resource: Searchable): string {
  const { table } = resource;
  const texts = searchedFieldsOf(resource).map((name) => `${table}.${name}`);
  const size = texts.map((text) => `octet_length(${text})`).join(' + ');
  const from = `
    coalesce(?1 ->> 0, number) AS number, iif(?1 ->> 0 IS NULL, id, ?1 ->> 1) AS id`;
  return `
    WITH ${placeSql(resource, from)},
    due (position, id) AS MATERIALIZED (
      SELECT * FROM (SELECT number, id FROM ${CHANGES}
                     WHERE number > (SELECT number FROM place WHERE reaches AND id IS NULL)
                       AND ${isOfTextsSql(resource)}
                     ORDER BY number LIMIT ${STEP_LIMITS.records})
      UNION ALL
      SELECT * FROM (SELECT id, id FROM ${table}
                     WHERE id > (SELECT iif(reaches, id, ${LOWEST}) FROM place)
                     ORDER BY id LIMIT ${STEP_LIMITS.records})),
    sized AS (
      SELECT position, due.id, ${RECORD_BYTES} + coalesce(${size}, 0) AS size
      FROM due LEFT JOIN ${table} ON ${table}.id = due.id),
    summed AS (SELECT *, sum(size) OVER (ORDER BY position) - size AS before FROM sized),
    taken AS (
      SELECT count(*) AS count, min(position) AS first, max(position) AS latest, sum(size) AS size,
        count(*) < (SELECT count(*) FROM due) OR count(*) = ${STEP_LIMITS.records} AS is_full,
        json_group_array(json_array(summed.id, json_array(${texts}))) AS records
      FROM summed LEFT JOIN ${table} ON ${table}.id = summed.id
      WHERE before < ${STEP_LIMITS.bytes})
    SELECT *, size * CASE
      WHEN NOT is_full THEN 1
      WHEN reaches AND id IS NULL THEN (last - first + 1.0) / (latest - first + 1)
      ELSE (SELECT total(count) FROM ${resource.blocks} WHERE block >= first >> ${BLOCK_BITS})
        / count END AS backlog
    FROM place, taken`;
}

/** Returns a function that resolves with the step from a position, by default the stored one. */
export function createStepReader(resource: Searchable, { read }: Source) {
  const sql = workSql(resource);
  return async (from?: IndexPosition): Promise<PreparedStep> => {
    const parameter = JSON.stringify(from ? [from.number, from.id] : []);
    const [row] = await read({ sql, parameter });
    if (!row) throw new Error('the search index has no position');
    const { number, id, reaches, records } = row;
    const last = Number(row.last);
    if (number === last && id === null) return { last };
    // The log may name a record several times.
    const texts = new Map<number, (string | null)[]>(JSON.parse(String(records)));
    const to = positionAfter(row);
    const [size, backlog] = [Number(row.size), Number(row.backlog)];
    const isFull = row.is_full === 1;
    const rows = await analyse(texts);
    const at = { number, id, reaches } as Step['at'];
    const ids = [...texts.keys()];
    return { last, step: { rows, claims: [[0]], at, to, ids, size, isFull, backlog } };
  };
}

function positionAfter({ number, id, last, reaches, latest, is_full }: Row): IndexPosition {
  if (reaches && id === null) return { number: Number(is_full ? latest : last), id };
  return { number: Number(reaches ? number : last), id: is_full ? Number(latest) : null };
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

/** Returns the kind of steps; rows are [id, ...words]. */
export function createStepKind(resource: Searchable): WriteKind<Step, boolean> {
  const { table, position } = resource.search;
  const columns = searchedFieldsOf(resource);
  const isAt = `number = ?1 ->> '$.at.number' AND id IS ?1 ->> '$.at.id'`;
  const ifAt = `EXISTS (SELECT 1 FROM ${position} WHERE ${isAt})`;
  const empty = `
    INSERT INTO ${table} (${table})
    SELECT 'delete-all' FROM ${position} WHERE ${isAt} AND NOT ?1 ->> '$.at.reaches'`;
  const remove = `
    DELETE FROM ${table} WHERE rowid IN (SELECT value FROM json_each(?1, '$.ids')) AND ${ifAt}`;
  const insert = `
    INSERT INTO ${table} (rowid, ${columns.join(', ')})
    SELECT _id, ${columns.join(', ')} FROM sent WHERE ${columns[0]} IS NOT NULL AND ${ifAt}`;
  const move = `
    UPDATE ${position} SET number = ?1 ->> '$.to.number', id = ?1 ->> '$.to.id'
    WHERE ${isAt}`;
  const steps = {
    empty: { write: empty, ignoresRows: true },
    remove: { write: remove, ignoresRows: true },
    insert: { named: namedRows('sent', ['_id', ...columns]), write: insert },
    move: {
      write: move,
      ...{ returns: { number: 'number' }, from: `FROM ${position} WHERE ${isAt}` },
      ignoresRows: true,
    },
  };
  return {
    steps: () => steps,
    // All writes have the same claim, so that each has steps of its own.
    lists: ([step]) => ({ at: step?.at, to: step?.to, ids: step?.ids, sent: step?.rows }),
    outcomes: (_, { move: rows = [] }) => [rows.length === 1],
    changes: (_, hasMoved) => (hasMoved ? [[table]] : []),
  };
}
