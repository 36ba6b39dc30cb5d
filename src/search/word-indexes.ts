// The search indexes as commands fill and check them.
import { insertionInto, type Rows } from '../pages.ts';
import type { Relation } from '../resources/relation.ts';
import type { Source } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER } from '../storage/numbers.ts';
import { isOfTextsSql, placeSql, SEARCHABLE, type Searchable, searchedFieldsOf } from './steps.ts';
import { findDifferent, type OnShare, wordsOf } from './word-comparison.ts';

/** A temporary table: the records whose changes are not indexed yet. */
const CHANGED = 'temp.changed_records';

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
    insertion: (rows: Rows, of: Relation = resource) =>
      insertionInto(table, ['rowid', ...searchedFieldsOf(resource)], wordsOf(resource, rows, of)),
    findFaults: (source: Source, maxFaults: number, onShare: OnShare) =>
      findWordFaults(source, resource, maxFaults, onShare),
  };
});

async function findWordFaults(
  { read }: Source,
  resource: Searchable,
  maxFaults: number,
  onShare: OnShare,
): Promise<string[]> {
  const { table, search } = resource;
  const [place] = await read({ sql: `WITH ${placeSql(resource)} SELECT * FROM place` });
  if (!place) return [`${search.position}: there is no position`];
  const { number, id, reaches } = place;
  // The service will index all records again.
  if (!reaches) return [];
  await read({ sql: `CREATE TABLE ${CHANGED} (id INTEGER PRIMARY KEY)` });
  await read({
    sql: `INSERT OR IGNORE INTO ${CHANGED}
          SELECT id FROM ${CHANGES} WHERE number > ${number} AND ${isOfTextsSql(resource)}`,
  });
  const isContained = `${id === null ? '' : `id <= ${id} AND `}id NOT IN ${CHANGED}`;
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
  if (strays.length > 0) return strays.map(({ line }) => String(line));
  const different = await findDifferent({ read }, resource, isContained, maxFaults, onShare);
  return different.map((id) => `${search.table}: record ${id} has other words than its texts`);
}
