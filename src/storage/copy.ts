// What one database holds goes into another: page by page, by rising id. A page that is there already is left as it is, so a
// copy that broke off goes on where it was, and a second pass that finds nothing to write proves that both hold the same.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Database, DatabaseUnusable, type Statement } from './database.ts';
import { type Counts, countsOf, END, giveLastIds, IS_ON_PAGE, lastIdsOf, nextPage, totalOf } from './id-pages.ts';
import { storedColumns, type TableShape } from './shape.ts';
import { markBegun, markFinished, type Source, unfinishedIn } from './unfinished.ts';

/** Is told after each page how many records of how many have been copied, or compared. */
export type OnProgress = (phase: 'copy' | 'check', done: number, total: number) => void;

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
  if ((await unfinishedIn(target)) !== 'copy') {
    const given = await lastIdsOf(target);
    if (Object.keys(given).length > 0) {
      // Whoever asks again after all was done hears that it was.
      const isOther = !isDeepStrictEqual(await lastIdsOf(source), given) || (await differs('check'));
      if (isOther) throw new DatabaseUnusable('it holds other records already');
      return counts;
    }
    await target.transact(randomUUID(), [markBegun('copy')]);
  }
  await differs('copy');
  const lastIds = await lastIdsOf(source);
  if (await differs('check')) throw new DatabaseUnusable('somebody wrote to one of the two meanwhile: run it again');
  await target.transact(randomUUID(), [...giveLastIds(lastIds), markFinished('copy')]);
  return counts;

  /** Goes through both: writes what differs if it is to `copy`, and else resolves with whether something does. */
  async function differs(phase: 'copy' | 'check'): Promise<boolean> {
    const total = totalOf(counts);
    let done = 0;
    onProgress(phase, done, total);
    for (const table of tables) {
      const pages = statementsOf(table);
      let after = 0;
      while (after < END) {
        const { last, count } = await nextPage(source, table, after);
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

/** The pages of a table, each the records with ids after one and up to another. */
function statementsOf(table: TableShape) {
  const { name } = table;
  const stored = ['id', ...storedColumns(table)];

  return {
    /** The records of a page as a JSON array of arrays. */
    async records({ read }: Source, after: number, last: number): Promise<string> {
      const [row] = await read({
        sql: `SELECT json_group_array(json_array(${stored.join(', ')}) ORDER BY id) AS records FROM ${name} WHERE ${IS_ON_PAGE}`,
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
      const remove = { sql: `DELETE FROM ${name} WHERE ${IS_ON_PAGE}`, parameter: JSON.stringify([after, last]) };
      return isEmpty ? [insert] : [remove, insert];
    },
  };
}
