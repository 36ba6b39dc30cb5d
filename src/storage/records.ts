// Records as texts, out of a database and into one, for files that other programs can read and write.
import { randomUUID } from 'node:crypto';
import type { Database } from './database.ts';
import { END, giveLastIds, IS_ON_PAGE, type LastIds, lastIdsOf, nextPage } from './id-pages.ts';
import { storedColumns, type TableShape } from './shape.ts';
import { markFinished, markImport, refuseOtherImport, type Source } from './unfinished.ts';

/** A record: its id, its parent's if it has one, and its texts in the order of the columns. */
export type RecordValues = readonly [id: number, ...values: (string | number)[]];

/** What became of records that were to be added: how many were, or which of them cannot be, by its id. */
export type Addition = { readonly added: number } | { readonly taken: number } | { readonly orphan: number };

/** Reads a table page by page: as many lines of JSON as the page has records, each an object with this `type` first. */
export async function* recordLines(
  source: Source,
  table: TableShape,
  type: string,
): AsyncGenerator<{ readonly lines: string; readonly count: number }> {
  const members = ['id', ...storedColumns(table)].map((column) => `'${column}', ${column}`);
  const object = `json_object('type', '${type}', ${members.join(', ')})`;
  let after = 0;
  while (after < END) {
    const { last, count } = await nextPage(source, table, after);
    const [row] = await source.read({
      sql: `SELECT group_concat(${object}, char(10) ORDER BY id) AS lines FROM ${table.name} WHERE ${IS_ON_PAGE}`,
      parameter: JSON.stringify([after, last]),
    });
    if (count > 0) yield { lines: `${row?.lines}\n`, count };
    after = last;
  }
}

/** Adds records to `target`, which nobody else may write to, until all are there and it is told the last ids. */
export interface Import {
  /**
   * Adds records that are not there yet, all in one transaction; those that are there already, just the same, it leaves.
   * Resolves with what became of them: where one cannot be added none is.
   */
  add(table: TableShape, records: readonly RecordValues[]): Promise<Addition>;
  /** Makes sure that no id up to `lastIds` is given again. From now on a service may start on the data. */
  finish(lastIds: LastIds): Promise<void>;
}

/**
 * Returns what adds records to `target`, of an import whose lines have this number. From the first one that it adds no service
 * starts there until it has been finished. Both reject where an import of other lines has not been.
 */
export function importInto(target: Database, lines: number): Import {
  return {
    async add(table, records) {
      await refuseOtherImport(target, lines);
      const parameter = JSON.stringify(records);
      const [found] = await target.read({ sql: comparison(table), parameter });
      if (found?.taken != null) return { taken: Number(found.taken) };
      if (found?.orphan != null) return { orphan: Number(found.orphan) };
      const added = records.length - Number(found?.same);
      if (added > 0) await target.transact(randomUUID(), [...markImport(lines), { sql: insertion(table), parameter }]);
      return { added };
    },

    async finish(lastIds) {
      await refuseOtherImport(target, lines);
      const given = await lastIdsOf(target);
      const names = new Set([...Object.keys(given), ...Object.keys(lastIds)]);
      const last = [...names].map((name) => [name, Math.max(given[name] ?? 0, lastIds[name] ?? 0)] as const);
      await target.transact(randomUUID(), [...giveLastIds(Object.fromEntries(last)), markFinished('import')]);
    },
  };
}

/**
 * Returns what tells what would become of records that were added to `target`, and adds none. Parents it does not look for:
 * they may be among what would have been added.
 */
export function compareWith(target: Source): Import {
  return {
    async add(table, records) {
      const [found] = await target.read({ sql: comparison(table), parameter: JSON.stringify(records) });
      return found?.taken == null ? { added: records.length - Number(found?.same) } : { taken: Number(found.taken) };
    },
    async finish() {},
  };
}

/** SQL that holds records against what is there: how many are the same, the first that is not, the first without a parent. */
function comparison(table: TableShape): string {
  const { name, parent } = table;
  const same = storedColumns(table).map((column, index) => `found.${column} IS value ->> ${index + 1}`);
  const orphan = parent
    ? `(SELECT min(value ->> 0) FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM ${parent.table} WHERE id = value ->> 1))`
    : 'NULL';
  // The records first, and not the whole table.
  return `
    SELECT count(*) AS same, min(iif(${same.join(' AND ')}, NULL, found.id)) AS taken, ${orphan} AS orphan
    FROM json_each(?1) CROSS JOIN ${name} AS found ON found.id = value ->> 0`;
}

function insertion(table: TableShape): string {
  const stored = ['id', ...storedColumns(table)];
  return `
    INSERT INTO ${table.name} (${stored.join(', ')})
    SELECT ${stored.map((_, index) => `value ->> ${index}`).join(', ')} FROM json_each(?1)
    WHERE NOT EXISTS (SELECT 1 FROM ${table.name} WHERE id = value ->> 0)`;
}
