// The search indexes as commands fill and check them: a check indexes part after part of the texts
// again, in a temporary table, and compares the words.
import { insertionInto, pagesOf, type RowRange, type Rows, rowsOn } from '../pages.ts';
import { columnsOf, type Relation } from '../relations.ts';
import type { Source } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER } from '../storage/numbers.ts';
import { isOfTextsSql, placeSql, SEARCHABLE, type Searchable, searchedFieldsOf } from './steps.ts';
import { indexedText } from './words.ts';

/** The pages in a part. Each part takes a scan of the index, and memory for its words. */
const PAGES_IN_PART = 32;

/** Temporary tables: the records indexed again, and the words in them and in the index. */
const AGAIN = 'temp.indexed_again';
const WANTED = 'temp.words_wanted';
const FOUND = 'temp.words_found';

/** The search indexes of all resources. */
export const WORD_INDEXES = SEARCHABLE.map((resource) => {
  const { table, position } = resource.search;
  return {
    resource,
    empty: `INSERT INTO ${table} (${table}) VALUES ('delete-all')`,
    purge: [
      `DELETE FROM ${table} WHERE rowid IN (
         SELECT id FROM ${CHANGES}
         WHERE number > (SELECT number FROM ${position}) AND ${isOfTextsSql(resource)})`,
      `INSERT INTO ${table} (${table}) VALUES ('optimize')`,
    ],
    finish: [`DELETE FROM ${position}`, `INSERT INTO ${position} (number) VALUES (${LAST_NUMBER})`],
    insertion: (rows: Rows, of?: Relation) => wordsInsertion(resource, table, rows, of),
    findFaults: (source: Source, maxFaults: number) => findWordFaults(source, resource, maxFaults),
  };
});

/** Resolves with a line for each fault. All reads must be of one snapshot. */
async function findWordFaults(
  { read }: Source,
  resource: Searchable,
  maxFaults: number,
): Promise<string[]> {
  const { table, search } = resource;
  const [place] = await read({ sql: `WITH ${placeSql(resource)} SELECT * FROM place` });
  if (!place) return [`${search.position}: there is no position`];
  const { number, id, reaches } = place;
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
    for (const page of part)
      await read(wordsInsertion(resource, AGAIN, await rowsOn({ read }, resource, page)));
    const parameter = JSON.stringify([part[0]?.bounds[0], part.at(-1)?.bounds[1]]);
    rows.push(...(await read({ sql: differences, parameter })));
  }
  return rows;
}

/** Returns the statement that adds the words of rows, each with all columns, to an index. */
function wordsInsertion(resource: Searchable, index: string, rows: Rows, of: Relation = resource) {
  const columns = searchedFieldsOf(resource);
  const places = columns.map((name) => columnsOf(of).indexOf(name));
  const words = rows.map((row) => [
    row[0],
    ...places.map((place) => indexedText(String(row[place]))),
  ]);
  return insertionInto(index, ['rowid', ...columns], words);
}
