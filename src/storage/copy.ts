// What one database holds goes into another: page by page, by rising id. A page that is there already is left as it is, so a
// copy that broke off goes on where it was, and a second pass that finds nothing to write proves that both hold the same.
import { randomUUID } from 'node:crypto';
import { type Database, DatabaseUnusable, type Statement } from './database.ts';
import { storedColumns, type TableShape } from './shape.ts';

/** A database that is read and not changed. */
export type Source = Pick<Database, 'read'>;

/** Is told after each page how many records of how many have been copied, or compared. */
export type OnProgress = (phase: 'copy' | 'check', done: number, total: number) => void;

/** How many records of each table there are, in the order of the tables. */
export type Counts = readonly { readonly name: string; readonly count: number }[];

/** How much a page may hold; a larger record has one of its own. */
const PAGE = { records: 2_048, bytes: 1_048_576 };

/** Beyond every id. */
const END = Number.MAX_SAFE_INTEGER;

const UNFINISHED = 'notes_server_copy';

/** SQL that tells whether a copy into the database was begun and has not been finished. */
export const HALF_COPIED = `SELECT count(*) > 0 FROM sqlite_schema WHERE name = '${UNFINISHED}'`;

/** Whether a copy into the database was begun and has not been finished. */
export async function isHalfCopied({ read }: Source): Promise<boolean> {
  const [row] = await read({ sql: `SELECT (${HALF_COPIED}) AS half` });
  return row?.half === 1;
}

/**
 * Copies the tables, parents before their children, and the last ids that were given. Resolves with what both hold when they
 * have been found equal. Rejects with {@link DatabaseUnusable} if the target held other records already, which stay as they
 * are, or if one of them changed meanwhile. Nobody else may write to either.
 */
export async function copyDatabase(
  source: Source,
  target: Database,
  tables: readonly TableShape[],
  onProgress: OnProgress,
): Promise<Counts> {
  const counts = await countsOf(source, tables);
  if (!(await isHalfCopied(target))) {
    if (await isUsed(target)) {
      // Whoever asks again after all was done hears that it was.
      const isOther = (await lastIdsOf(source)) !== (await lastIdsOf(target)) || (await differs('check'));
      if (isOther) throw new DatabaseUnusable('it holds other records already');
      return counts;
    }
    await target.transact(randomUUID(), [{ sql: `CREATE TABLE ${UNFINISHED} (begun INTEGER) STRICT` }]);
  }
  await differs('copy');
  const lastIds = await lastIdsOf(source);
  if (await differs('check')) throw new DatabaseUnusable('somebody wrote to one of the two meanwhile: run it again');
  await target.transact(randomUUID(), [
    { sql: 'DELETE FROM sqlite_sequence' },
    {
      sql: 'INSERT INTO sqlite_sequence (name, seq) SELECT value ->> 0, value ->> 1 FROM json_each(?1)',
      parameter: lastIds,
    },
    { sql: `DROP TABLE ${UNFINISHED}` },
  ]);
  return counts;

  /** Goes through both: writes what differs if it is to `copy`, and else resolves with whether something does. */
  async function differs(phase: 'copy' | 'check'): Promise<boolean> {
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    let done = 0;
    onProgress(phase, done, total);
    for (const table of tables) {
      const pages = statementsOf(table);
      let after = 0;
      while (after < END) {
        const { last, count } = await pages.next(source, after);
        const [wanted, found] = await Promise.all([source, target].map((each) => pages.records(each, after, last)));
        if (wanted !== found) {
          if (phase === 'check') return true;
          await target.transact(randomUUID(), pages.replace(after, last, wanted ?? '[]', found === '[]'));
        }
        done += count;
        onProgress(phase, done, total);
        after = last;
      }
    }
    return false;
  }
}

/** Counts the records of each table. Rejects with {@link DatabaseUnusable} where an id is none that JSON can carry. */
async function countsOf({ read }: Source, tables: readonly TableShape[]): Promise<Counts> {
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

/** Whether the database has ever given an id. */
async function isUsed({ read }: Source): Promise<boolean> {
  return (await read({ sql: 'SELECT 1 AS used FROM sqlite_sequence WHERE seq > 0' })).length > 0;
}

/** The last id given in each table, as JSON. */
async function lastIdsOf({ read }: Source): Promise<string> {
  const sql = 'SELECT json_group_array(json_array(name, seq) ORDER BY name) AS ids FROM sqlite_sequence WHERE seq > 0';
  return String((await read({ sql }))[0]?.ids);
}

/** The pages of a table, each the records with ids after one and up to another. */
function statementsOf(table: TableShape) {
  const { name, columns } = table;
  const stored = ['id', ...storedColumns(table)];
  const size = columns.map((column) => `octet_length(${column})`).join(' + ');
  const isOnPage = 'id > (?1 ->> 0) AND id <= (?1 ->> 1)';

  return {
    /** The last id of the page that begins after `after`, and how many records it has; beyond every id if it is the last. */
    async next({ read }: Source, after: number): Promise<{ last: number; count: number }> {
      const [row] = await read({
        sql: `
          SELECT max(id) AS last, count(*) AS count
          FROM (SELECT id, sum(size) OVER (ORDER BY id) - size AS before
                FROM (SELECT id, ${size} AS size FROM ${name} WHERE id > (?1 ->> 0) ORDER BY id LIMIT (?1 ->> 1)))
          WHERE before < (?1 ->> 2)`,
        parameter: JSON.stringify([after, PAGE.records, PAGE.bytes]),
      });
      return { last: Number(row?.last ?? END), count: Number(row?.count) };
    },

    /** The records of a page as a JSON array of arrays. */
    async records({ read }: Source, after: number, last: number): Promise<string> {
      const [row] = await read({
        sql: `SELECT json_group_array(json_array(${stored.join(', ')}) ORDER BY id) AS records FROM ${name} WHERE ${isOnPage}`,
        parameter: JSON.stringify([after, last]),
      });
      return String(row?.records);
    },

    /** What puts `records` in the place of what the page holds. */
    replace(after: number, last: number, records: string, isEmpty: boolean): Statement[] {
      const insert = {
        sql: `
          INSERT INTO ${name} (${stored.join(', ')})
          SELECT ${stored.map((_, index) => `value ->> ${index}`).join(', ')} FROM json_each(?1)`,
        parameter: records,
      };
      const remove = { sql: `DELETE FROM ${name} WHERE ${isOnPage}`, parameter: JSON.stringify([after, last]) };
      return isEmpty ? [insert] : [remove, insert];
    },
  };
}
