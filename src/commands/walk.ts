// Lets commands process whole databases: counts, pages in ascending order of id, and last ids.
import { columnsOf, type Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { DatabaseUnusable, type Source, type Statement } from '../storage/database.ts';
import { SCHEMA_VERSION, storedSchema } from '../storage/migrations.ts';
import { formatNumber } from './progress.ts';

/** The number of records in each table, in the order of the resources. */
export type Counts = Readonly<Record<string, number>>;

/** The last id that each table has assigned; a table that has assigned none is missing. */
export type LastIds = Readonly<Record<string, number>>;

/** The limits of a page; its last record may exceed `bytes`. */
export const PAGE = { records: 2_048, bytes: 1_048_576 };

/** The largest id that this program assigns, and so the end of the last page. */
export const MAX_ID = Number.MAX_SAFE_INTEGER;

/** The largest id that is imported. 2^52 - 1 ids up to {@link MAX_ID} remain for new records. */
export const MAX_IMPORTED_ID = 2 ** 52;

/** The SQL condition of a page. Its parameter is [the id before the page, its last id] in JSON. */
export const IS_ON_PAGE = 'id > (?1 ->> 0) AND id <= (?1 ->> 1)';

/** Resolves with the resources that the database has; one that must be migrated may lack some. */
export async function storedResources({ read }: Source): Promise<readonly Resource[]> {
  const { version, names } = await storedSchema(read);
  // In the current version, a missing table is a fault that the caller will report.
  if (version === SCHEMA_VERSION) return RESOURCES;
  return RESOURCES.filter(({ table, blocks }) => names.has(table) || names.has(blocks));
}

/**
 * Counts the records of each resource. Rejects with {@link DatabaseUnusable} if an id is beyond
 * {@link MAX_ID}, because JSON may not represent it exactly.
 */
export async function countsOf({ read }: Source, resources: readonly Resource[]): Promise<Counts> {
  const counts = await Promise.all(
    resources.map(async ({ table }) => {
      const [row] = await read({
        sql: `SELECT count(*) AS count, coalesce(max(id), 0) > ${MAX_ID} AS beyond FROM ${table}`,
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

/** Formats the counts, as in "1 note, 0 tags". */
export function formatCounts(counts: Counts): string {
  return Object.entries(counts)
    .map(
      ([table, count]) => `${formatNumber(count)} ${count === 1 ? table.replace(/s$/, '') : table}`,
    )
    .join(', ');
}

/**
 * Resolves with the last id and the record count of the page that begins after the id `after`;
 * with {@link MAX_ID} and 0 if no records follow.
 */
export async function nextPage(
  { read }: Source,
  resource: Resource,
  after: number,
): Promise<{ last: number; count: number }> {
  const size = columnsOf(resource)
    .map((column) => `octet_length(${column})`)
    .join(' + ');
  const [row] = await read({
    sql: `
      SELECT max(id) AS last, count(*) AS count
      FROM (SELECT id, sum(size) OVER (ORDER BY id) - size AS before
            FROM (SELECT id, ${size} AS size FROM ${resource.table}
                  WHERE id > (?1 ->> 0) ORDER BY id LIMIT (?1 ->> 1)))
      WHERE before < (?1 ->> 2)`,
    parameter: JSON.stringify([after, PAGE.records, PAGE.bytes]),
  });
  return { last: Number(row?.last ?? MAX_ID), count: Number(row?.count) };
}

/** Returns the SQL that inserts records, given as a JSON array of [id, ...columns]. */
export function insertSql(resource: Resource): string {
  const columns = ['id', ...columnsOf(resource)];
  return `
    INSERT INTO ${resource.table} (${columns.join(', ')})
    SELECT ${columns.map((_, index) => `value ->> ${index}`).join(', ')} FROM json_each(?1)`;
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
