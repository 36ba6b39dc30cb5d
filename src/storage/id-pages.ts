// All records of a table in pages, by rising id, for whatever goes through whole tables; and what goes with them: how many
// there are, and which ids were given last.
import { DatabaseUnusable, type Statement } from './database.ts';
import type { TableShape } from './shape.ts';
import type { Source } from './unfinished.ts';

/** How many records of each table there are, in the order of the tables. */
export type Counts = readonly { readonly name: string; readonly count: number }[];

/** The last id given in each table that has given any, by its name. */
export type LastIds = Readonly<Record<string, number>>;

/** How much a page may hold; a larger record has one of its own. */
export const PAGE = { records: 2_048, bytes: 1_048_576 };

/** Beyond every id. */
export const END = Number.MAX_SAFE_INTEGER;

/** The largest id that is taken from elsewhere: as many are left to be given, each a number that JSON can carry. */
export const LARGEST_IMPORTED_ID = 2 ** 52;

/** The SQL condition of a page, whose parameter is the JSON array of the id before it and its last one. */
export const IS_ON_PAGE = 'id > (?1 ->> 0) AND id <= (?1 ->> 1)';

/** Counts the records of each table. Rejects with {@link DatabaseUnusable} where an id is none that JSON can carry. */
export async function countsOf({ read }: Source, tables: readonly TableShape[]): Promise<Counts> {
  return Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await read({
        sql: `SELECT count(*) AS count, coalesce(max(id), 0) > ${END} AS beyond FROM ${name}`,
      });
      if (row?.beyond === 1)
        throw new DatabaseUnusable(`${name} has an id beyond ${END}, which is none of this program`);
      return { name, count: Number(row?.count) };
    }),
  );
}

/** Returns how many records there are in all tables together. */
export function totalOf(counts: Counts): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

/** Resolves with the last id of the page that begins after `after`, and how many records it has; beyond every id if it is the last. */
export async function nextPage(
  { read }: Source,
  { name, columns }: TableShape,
  after: number,
): Promise<{ last: number; count: number }> {
  const size = columns.map((column) => `octet_length(${column})`).join(' + ');
  const [row] = await read({
    sql: `
      SELECT max(id) AS last, count(*) AS count
      FROM (SELECT id, sum(size) OVER (ORDER BY id) - size AS before
            FROM (SELECT id, ${size} AS size FROM ${name} WHERE id > (?1 ->> 0) ORDER BY id LIMIT (?1 ->> 1)))
      WHERE before < (?1 ->> 2)`,
    parameter: JSON.stringify([after, PAGE.records, PAGE.bytes]),
  });
  return { last: Number(row?.last ?? END), count: Number(row?.count) };
}

/** Resolves with the last ids that were given, the tables in the order of their names. */
export async function lastIdsOf({ read }: Source): Promise<LastIds> {
  const found = await read({ sql: 'SELECT name, seq FROM sqlite_sequence WHERE seq > 0 ORDER BY name' });
  return Object.fromEntries(found.map(({ name, seq }) => [String(name), Number(seq)]));
}

/** Returns what makes `lastIds` those that were given last, and no others. */
export function giveLastIds(lastIds: LastIds): Statement[] {
  return [
    { sql: 'DELETE FROM sqlite_sequence' },
    {
      sql: 'INSERT INTO sqlite_sequence (name, seq) SELECT key, value FROM json_each(?1)',
      parameter: JSON.stringify(lastIds),
    },
  ];
}
