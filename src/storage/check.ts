// Whether a database file is sound: what SQLite can tell of it, and what this program takes for granted. Changes nothing,
// and may be asked while a service uses the file.
import { existsSync } from 'node:fs';
import { DatabaseUnavailable, DatabaseUnusable } from './database.ts';
import { BLOCK_BITS } from './migrations.ts';
import { openToInspect } from './sqlite.ts';
import type { Connection } from './sqlite-connection.ts';
import { companionsOf } from './sqlite-place.ts';

/** How many faults of one kind are told. */
const FAULTS_OF_A_KIND = 25;

const TABLES = [
  { name: 'notes', blocks: 'note_blocks', parent: '0' },
  { name: 'tags', blocks: 'tag_blocks', parent: '0' },
  { name: 'comments', blocks: 'comment_blocks', parent: 'note_id' },
];

/** Queries that find nothing where what this program takes for granted holds, and else describe each fault in a row. */
export const SOUNDNESS_QUERIES = [
  `SELECT format('%s: record %d has no parent in %s', "table", rowid, parent) FROM pragma_foreign_key_check`,
  ...TABLES.flatMap(({ name, blocks, parent }) => [
    `SELECT format('${blocks}: block %d%s says %d records, there are %d',
       block, iif(parent, ' of note ' || parent, ''), sum(kept), sum(found))
     FROM (SELECT ${parent} AS parent, block, count AS kept, 0 AS found FROM ${blocks}
           UNION ALL SELECT ${parent}, id >> ${BLOCK_BITS}, 0, 1 FROM ${name})
     GROUP BY parent, block HAVING sum(kept) <> sum(found)`,
    `SELECT format('${name}: record %d is beyond the last id that was given', max(id)) FROM ${name}
     HAVING max(id) > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '${name}')`,
  ]),
].map((sql) => `${sql} LIMIT ${FAULTS_OF_A_KIND}`);

/**
 * Resolves with one line for each fault of the database file at `path`, none if it is sound; of many alike with the
 * first. Rejects with {@link DatabaseUnusable} if it cannot be read or is none of this program and version.
 */
export async function checkFile(path: string): Promise<string[]> {
  const isAtRest = () => !existsSync(companionsOf(path)[0]);
  const atRest = isAtRest();
  const faults = await inspect(path, atRest);
  // A service that has been started meanwhile changed the file under a reader that trusted in its rest.
  return atRest && !isAtRest() ? inspect(path, false) : faults;
}

async function inspect(path: string, atRest: boolean): Promise<string[]> {
  const connection = await openToInspect(path, atRest);
  try {
    const faults = await faultsFound(connection, 'PRAGMA integrity_check(1)');
    // Asked for more at once, SQLite may tell none: it gives up where it cannot read on.
    const queries =
      faults.length > 0 ? [`PRAGMA integrity_check(${FAULTS_OF_A_KIND})`, ...SOUNDNESS_QUERIES] : SOUNDNESS_QUERIES;
    for (const sql of queries) faults.push(...(await faultsFound(connection, sql)));
    return [...new Set(faults)];
  } catch (error) {
    throw new DatabaseUnusable(`cannot read the database ${path}: ${(error as Error).message}`, { cause: error });
  } finally {
    await connection.close();
  }
}

async function faultsFound(connection: Connection, sql: string): Promise<string[]> {
  try {
    const rows = await connection.run({ sql });
    const lines = rows.flatMap((row) => Object.values(row).join().split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    return [(error as Error).message];
  }
}
