// Lets commands process whole databases: counts, pages in ascending order of id, and last ids.
import { keysOf, type Relation, rowColumnsOf } from '../resources/resource.ts';
import { RELATIONS, RESOURCES } from '../resources/resources.ts';
import { CHANGE_COLUMNS } from '../storage/changes/numbers.ts';
import { DatabaseUnusable, type Source, type Statement } from '../storage/database.ts';
import { SCHEMA_VERSION, storedSchema } from '../storage/schema/migrations.ts';
import { formatNumber } from './progress.ts';

/** The number of records in each table, in the order of {@link RELATIONS}. */
export type Counts = Readonly<Record<string, number>>;

/**
 * The last id that each table has assigned, and as `changes` the number of the last change; a table
 * that has assigned none is missing.
 */
export type LastIds = Readonly<Record<string, number>>;

/** The limits of a page; its last record may exceed `bytes`. */
export const PAGE = { records: 2_048, bytes: 1_048_576 };

/** The largest id that this program assigns, and so the end of the last page. */
export const MAX_ID = Number.MAX_SAFE_INTEGER;

/** The largest id that is imported. 2^52 - 1 ids up to {@link MAX_ID} remain for new records. */
export const MAX_IMPORTED_ID = 2 ** 52;

/**
 * Returns the SQL condition of a page. Its parameter is [the id before the page, its last id] in
 * JSON. The id of a link is that of its first record: all links of one record are on one page.
 */
export function isOnPage(relation: Relation): string {
  const [key] = keysOf(relation);
  return `${key} > (?1 ->> 0) AND ${key} <= (?1 ->> 1)`;
}

/** Returns the columns of a table, its keys first; `hasChanges` is as in {@link StoredContent}. */
export function allColumnsOf(relation: Relation, hasChanges = true): readonly string[] {
  const changes = hasChanges && !('ends' in relation) ? CHANGE_COLUMNS : [];
  return [...rowColumnsOf(relation), ...changes];
}

/** What a database holds. */
export interface StoredContent {
  readonly relations: readonly Relation[];
  /** Whether records have numbers and times. */
  readonly hasChanges: boolean;
}

/** Resolves with what the database holds; one that must be migrated may lack some of it. */
export async function storedContent({ read }: Source): Promise<StoredContent> {
  const { version, names } = await storedSchema(read);
  const hasChanges = true;
  // In the current version, a missing table is a fault that the caller will report.
  if (version === SCHEMA_VERSION) return { relations: RELATIONS, hasChanges };
  const isStored = ({ table, blocks }: Relation) => names.has(table) || names.has(blocks);
  return { relations: RELATIONS.filter(isStored), hasChanges };
}

/**
 * Counts the rows of each relation. Rejects with {@link DatabaseUnusable} if an id is beyond
 * {@link MAX_ID}, because JSON may not represent it exactly.
 */
export async function countsOf({ read }: Source, relations: readonly Relation[]): Promise<Counts> {
  const counts = await Promise.all(
    relations.map(async (relation) => {
      const { table } = relation;
      const last = `coalesce(max(${keysOf(relation)[0]}), 0)`;
      const [row] = await read({
        sql: `SELECT count(*) AS count, ${last} > ${MAX_ID} AS beyond FROM ${table}`,
      });
      if (row?.beyond === 1)
        throw new DatabaseUnusable(
          `${table} has an id beyond ${MAX_ID}, which this program never assigns`,
        );
      return [table, Number(row?.count)] as const;
    }),
  );
  return Object.fromEntries(counts);
}

/** Returns the number of records in all tables. */
export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Formats the counts, as in "1 note, 0 tags"; leaves out links if there are none. */
export function formatCounts(counts: Counts): string {
  return Object.entries(counts)
    .filter(([table, count]) => count > 0 || RESOURCES.some((each) => each.table === table))
    .map(([table, count]) => `${formatNumber(count)} ${nameOf(table, count)}`)
    .join(', ');
}

function nameOf(table: string, count: number): string {
  const plural = table.replace('_', ' ');
  return count === 1 ? plural.replace(/s$/, '') : plural;
}

/**
 * Resolves with the last id and the record count of the page that begins after the id `after`;
 * with {@link MAX_ID} and 0 if no records follow.
 */
export async function nextPage(
  { read }: Source,
  relation: Relation,
  after: number,
): Promise<{ last: number; count: number }> {
  const { table } = relation;
  const [key] = keysOf(relation);
  const size = rowColumnsOf(relation)
    .map((column) => `octet_length(${column})`)
    .join(' + ');
  const [row] = await read({
    sql: `
      SELECT last,
        (SELECT count(*) FROM ${table} WHERE ${key} > (?1 ->> 0) AND ${key} <= last) AS count
      FROM (SELECT max(id) AS last
            FROM (SELECT id, sum(size) OVER (ORDER BY id) - size AS before
                  FROM (SELECT ${key} AS id, ${size} AS size FROM ${table}
                        WHERE ${key} > (?1 ->> 0) ORDER BY ${key} LIMIT (?1 ->> 1)))
            WHERE before < (?1 ->> 2))`,
    parameter: JSON.stringify([after, PAGE.records, PAGE.bytes]),
  });
  return { last: Number(row?.last ?? MAX_ID), count: Number(row?.count) };
}

/**
 * Returns the SQL that inserts rows, given as a JSON array of the values of these columns. Records
 * without numbers get the next ones from a trigger.
 */
export function insertSql({ table }: Relation, columns: readonly string[]): string {
  const values = columns.map((_, index) => `value ->> ${index}`);
  return `
    INSERT INTO ${table} (${columns.join(', ')})
    SELECT ${values.join(', ')} FROM json_each(?1)`;
}

/** Resolves with the last ids, by table in alphabetical order. */
export async function lastIdsOf({ read }: Source): Promise<LastIds> {
  const found = await read({
    sql: 'SELECT name, seq FROM sqlite_sequence WHERE seq > 0 ORDER BY name',
  });
  return Object.fromEntries(found.map(({ name, seq }) => [String(name), Number(seq)]));
}

/** Returns the statements that set the last ids to `lastIds`. */
export function setLastIds(lastIds: LastIds): Statement[] {
  return [
    { sql: 'DELETE FROM sqlite_sequence' },
    {
      sql: 'INSERT INTO sqlite_sequence (name, seq) SELECT key, value FROM json_each(?1)',
      parameter: JSON.stringify(lastIds),
    },
  ];
}
