// The command `import`: fills an empty database with the records of an export.
import { createReadStream } from 'node:fs';
import { openStorage, type StorageOptions } from '../open.ts';
import {
  insertion,
  isOnPage,
  lastIdsOf,
  type NumbersByTable,
  pagesOf,
  totalOf,
  UNFINISHED_IMPORT,
} from '../pages.ts';
import { RESOURCES } from '../resources/resources.ts';
import { orphansQueries } from '../schema/kept-rows.ts';
import { type Database, DatabaseUnusable, type Statement } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER, newGeneration } from '../storage/numbers.ts';
import { IMPORT_MARK, storedSchema } from '../storage/schema/migrations.ts';
import { RELATIONS } from '../storage/schema/steps.ts';
import { queryForUniqueness } from './check.ts';
import { formatRecords } from './export.ts';
import type { Head } from './export-format.ts';
import { ExportReader, type FoundRecord } from './export-reader.ts';
import { INDEXES } from './indexes.ts';
import { createProgress, type OnProgress, type ShowText } from './progress.ts';

/** The statements that mark a database. They fail if there is a mark, or any id was assigned. */
const SET_MARK = [
  `CREATE TABLE ${IMPORT_MARK} (/* ${UNFINISHED_IMPORT} */ is_empty INTEGER NOT NULL) STRICT`,
  `INSERT INTO ${IMPORT_MARK} (is_empty)
   SELECT iif(max(seq) > 0, NULL, 1) FROM sqlite_sequence`,
].map((sql) => ({ sql }));

const REMOVE_MARK: Statement = { sql: `DROP TABLE ${IMPORT_MARK}` };

/** The statement that empties the log. Then all records must be indexed again. */
export const EMPTY_LOG: Statement = { sql: `DELETE FROM ${CHANGES}` };

/** Returns the statement that begins a generation: no earlier tag or cursor matches. */
export function renewGeneration(): Statement {
  return {
    sql: `UPDATE notes_server_generation SET generation = ?1 ->> '$', first = ${LAST_NUMBER}`,
    parameter: JSON.stringify(newGeneration()),
  };
}

/** Fills the empty database `to` with the export `file` or else `input`; resolves with a line. */
export async function importLines(
  file: string | undefined,
  input: AsyncIterable<Buffer>,
  to: StorageOptions,
  show: ShowText,
): Promise<string> {
  const source = file ?? 'the input';
  try {
    const stream = file && createReadStream(file, { highWaterMark: 262_144 });
    await using reader = new ExportReader(stream || input);
    const head = await reader.readHead();
    await using target = await openStorage('import', to);
    await load(reader, head, target, createProgress(show, 'imported'));
    return `imported ${formatRecords(totalOf(head.counts))} from ${source} into ${to.db.name}`;
  } catch (error) {
    const { message } = error as Error;
    throw new DatabaseUnusable(`cannot import ${source}: ${message}`, { cause: error });
  }
}

/** Fills an empty database, or one with an unfinished import. Rejects if it holds anything else. */
export async function load(
  reader: ExportReader,
  head: Head,
  target: Database,
  onProgress: OnProgress,
): Promise<void> {
  await begin(target);
  const total = totalOf(head.counts);
  let done = 0;
  onProgress(done, total);
  for await (const records of reader.pages(head)) {
    await store(target, records);
    done += records.length;
    onProgress(done, total);
  }
  for (const sql of [queryForUniqueness(RESOURCES), ...RELATIONS.flatMap(orphansQueries)]) {
    const [fault] = await target.read({ sql });
    if (fault) throw new Error(Object.values(fault).join());
  }
  const raised = raiseLastIds(head.lastIds);
  const indexed = INDEXES.flatMap(({ finish }) => finish.map((sql) => ({ sql })));
  const ending = [...raised, ...indexed, REMOVE_MARK, EMPTY_LOG, renewGeneration()];
  await target.transact(ending);
}

/** Stores records. Rejects with the line of the first one that the database refuses. */
async function store(target: Database, records: readonly FoundRecord[]): Promise<void> {
  const [first] = records;
  if (!first) return;
  const { relation, lineNumber } = first;
  const rows = records.map(({ values }) => values);
  const indexed = INDEXES.filter(({ resource }) => resource === relation);
  const words = indexed.map((index) => index.insertion(rows));
  try {
    await target.transact([insertion(relation, rows), ...words]);
  } catch (error) {
    const { message } = error as Error;
    if (!message.includes(' constraint failed')) throw error;
    if (records.length === 1) {
      const columns = [...message.matchAll(/\.(\w+)/g)].map(([, column]) => column);
      const reason = message.includes('FOREIGN KEY')
        ? 'it refers to a record that does not exist'
        : `an earlier line has the same ${columns.join(' and ')}`;
      throw new Error(`line ${lineNumber}: ${reason}`, { cause: error });
    }
    const middle = records.length >> 1;
    await store(target, records.slice(0, middle));
    await store(target, records.slice(middle));
  }
}

async function begin(target: Database): Promise<void> {
  const { isUnfinished } = await storedSchema(target.read);
  if (isUnfinished) return empty(target);
  if (Object.keys(await lastIdsOf(target)).length > 0)
    throw new DatabaseUnusable('the database is not empty: import into a new one');
  await target.transact(SET_MARK);
}

async function empty(target: Database): Promise<void> {
  // Twice, because to delete notes fills the trash.
  for (const relation of [...RELATIONS, ...RELATIONS].toReversed()) {
    const sql = `DELETE FROM ${relation.table} WHERE ${isOnPage(relation)}`;
    for await (const { bounds } of pagesOf(target, relation)) {
      const page = { sql, parameter: JSON.stringify(bounds) };
      await target.transact([page, EMPTY_LOG]);
    }
  }
  for (const { empty: sql } of INDEXES) await target.transact([{ sql }]);
  for (const sql of ['DELETE FROM erased_records', 'DELETE FROM sqlite_sequence'])
    await target.transact([{ sql }]);
}

/** Returns the statements that make sure that nothing up to `lastIds` is assigned again. */
function raiseLastIds(lastIds: NumbersByTable): Statement[] {
  return [
    `INSERT INTO sqlite_sequence (name, seq) SELECT key, 0 FROM json_each(?1)
     WHERE key NOT IN (SELECT name FROM sqlite_sequence)`,
    'UPDATE sqlite_sequence SET seq = max(seq, coalesce(?1 ->> name, 0))',
  ].map((sql) => ({ sql, parameter: JSON.stringify(lastIds) }));
}
