// Compares a search index with the texts: indexes part after part again, in a temporary table.
import { rowColumnsOf, type Searchable, searchedFieldsOf } from '../resources/resource.ts';
import { isOfTextsSql, stateOf, stateSql } from '../search/steps.ts';
import { indexedText } from '../search/words.ts';
import type { Source, Statement } from '../storage/database.ts';
import { CHANGES } from '../storage/numbers.ts';
import { isOnPage, pagesOf, type RowRange } from './pages.ts';

/** The pages in a part. Each part takes a scan of the index, and memory for its words. */
const PAGES_IN_PART = 32;

/** Temporary tables: the records indexed again, and the words in them and in the index. */
const AGAIN = 'temp.indexed_again';
const WANTED = 'temp.words_wanted';
const FOUND = 'temp.words_found';

/** Resolves with a line for each fault, at most `maxFaults`. All reads must be of one snapshot. */
export async function findWordFaults(
  { read }: Source,
  resource: Searchable,
  maxFaults: number,
): Promise<string[]> {
  const { table, search } = resource;
  const [row] = await read({ sql: stateSql(resource) });
  if (!row) return [`${search.position}: there is no position`];
  const { number, id, reaches } = stateOf(row);
  // The service will index all records again.
  if (!reaches) return [];
  const isContained = `
    ${id === null ? '' : `id <= ${id} AND`} id NOT IN (
      SELECT id FROM ${CHANGES} WHERE number > ${number} AND ${isOfTextsSql(resource)})`;
  const strays = await read({
    sql: `
      SELECT format('${search.table}: contains record %d, which is not in ${table}', id) AS line
      FROM ${search.table}_docsize WHERE id NOT IN (SELECT id FROM ${table}) AND ${isContained}
      UNION ALL SELECT format('${search.table}: record %d is missing', id) FROM ${table}
      WHERE id NOT IN (SELECT id FROM ${search.table}_docsize) AND ${isContained}
      UNION ALL SELECT '${search.table}: searches cannot find all of its words'
      FROM ${search.table}_data -- See https://sqlite.org/fts5.html, section 9: a leaf of a segment
      WHERE id >> 37 BETWEEN 1 AND 0xffff AND (id >> 31) & 0x3f = 0
        AND hex(substr(block, 3, 2)) < format('%04X', length(block)) -- on which a word begins
        AND (id >> 37, id & 0x7fffffff) NOT IN (SELECT segid, pgno >> 1 FROM ${search.table}_idx)
      LIMIT ${maxFaults}`,
  });
  const faults = strays.length > 0 ? strays : await compareWords({ read }, resource, isContained);
  return faults.slice(0, maxFaults).map(({ line }) => String(line));
}

/** Compares words part by part, because those of all records would not fit in memory. */
async function compareWords({ read }: Source, resource: Searchable, isContained: string) {
  const { table } = resource.search;
  const [index] = await read({ sql: `SELECT sql FROM sqlite_schema WHERE name = '${table}'` });
  const vocabulary = (name: string, of: string) =>
    read({ sql: `CREATE VIRTUAL TABLE ${name} USING fts5vocab(${of}, 'instance')` });
  await read({ sql: String(index?.sql).replace(table, AGAIN) });
  await vocabulary(WANTED, "temp, 'indexed_again'");
  await vocabulary(FOUND, `main, '${table}'`);
  const words = 'SELECT term, doc, col, "offset" FROM';
  const differences = `
    SELECT format('${table}: record %d has other words than its texts', id) AS line
    FROM (SELECT doc AS id
          FROM (${words} ${WANTED}
                EXCEPT ${words} ${FOUND}
                WHERE doc > CAST(?1 ->> 0 AS INTEGER) AND doc <= CAST(?1 ->> 1 AS INTEGER))
          UNION SELECT id FROM ${AGAIN}_docsize AS wanted JOIN ${table}_docsize AS found USING (id)
          WHERE wanted.sz <> found.sz)
    WHERE ${isContained}`;
  // A search by rank also needs the average lengths. This rejects if they are missing.
  await read({
    sql: `SELECT rank FROM (SELECT '"' || term || '"' AS word FROM ${FOUND} LIMIT 1), ${table}
          WHERE ${table} MATCH word LIMIT 1`,
  });
  const rows = [];
  const pages: RowRange[] = [];
  for await (const page of pagesOf({ read }, resource)) pages.push(page);
  for (let start = 0; start < pages.length; start += PAGES_IN_PART) {
    const part = pages.slice(start, start + PAGES_IN_PART);
    await read({ sql: `INSERT INTO ${AGAIN} (indexed_again) VALUES ('delete-all')` });
    for (const page of part) await indexPage({ read }, resource, AGAIN, page);
    const parameter = JSON.stringify([part[0]?.bounds[0], part.at(-1)?.bounds[1]]);
    rows.push(...(await read({ sql: differences, parameter })));
  }
  return rows;
}

/** Adds the words of the records on a page to the full-text index `index`. */
export async function indexPage(
  { read }: Source,
  resource: Searchable,
  index: string,
  { bounds }: RowRange,
): Promise<void> {
  const columns = rowColumnsOf(resource).join(', ');
  const records = await read({
    sql: `SELECT ${columns} FROM ${resource.table} WHERE ${isOnPage(resource)}`,
    parameter: JSON.stringify(bounds),
  });
  await read(wordsInsertion(resource, index, records.map(Object.values)));
}

/** Returns the statement that adds the words of rows, each with all columns, to an index. */
export function wordsInsertion(
  resource: Searchable,
  index: string,
  rows: readonly (readonly unknown[])[],
): Statement {
  const columns = searchedFieldsOf(resource);
  const places = columns.map((name) => rowColumnsOf(resource).indexOf(name));
  const words = rows.map((row) => [
    row[0],
    ...places.map((place) => indexedText(String(row[place]))),
  ]);
  const values = columns.map((_, position) => `value ->> ${position + 1}`);
  return {
    sql: `
      INSERT INTO ${index} (rowid, ${columns.join(', ')})
      SELECT value ->> 0, ${values.join(', ')} FROM json_each(?1)`,
    parameter: JSON.stringify(words),
  };
}
