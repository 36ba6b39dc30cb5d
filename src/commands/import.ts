// The command `import`: fills an empty database with the records of an export.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { READ_ERRORS } from '../read-errors.ts';
import { RELATIONS, SEARCHABLE } from '../resources/resources.ts';
import { type Database, DatabaseUnusable, type Statement } from '../storage/database.ts';
import { EMPTY_LOG, LAST_NUMBER, renewGeneration } from '../storage/numbers.ts';
import { openStorage, type StorageOptions } from '../storage/open.ts';
import { isUnfinished, MARK_UNFINISHED, REMOVE_MARK } from '../storage/schema/migrations.ts';
import { wordsInsertion } from './check-words.ts';
import { formatCounts } from './export.ts';
import type { Head } from './export-format.ts';
import { ExportReader } from './export-reader.ts';
import { insertion, isOnPage, lastIdsOf, type NumbersByTable, pagesOf, totalOf } from './pages.ts';
import { createProgress, type OnProgress, type Screen } from './progress.ts';

/** Fills the empty database `to` with the export `file` or else `input`; resolves with a line. */
export async function importLines(
  file: string | undefined,
  input: AsyncIterable<Buffer>,
  to: StorageOptions,
  screen: Screen,
): Promise<string> {
  const source = file ?? 'the input';
  try {
    const stream = file && createReadStream(file, { highWaterMark: 262_144 });
    await using reader = new ExportReader(stream || input);
    const head = await reader.readHead();
    await using target = await openStorage('import', to);
    await load(reader, head, target, createProgress(screen, 'imported'));
    return `imported ${formatCounts(head.counts)} from ${source} into ${to.db.name}`;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const reason = READ_ERRORS[code] ?? message;
    throw new DatabaseUnusable(`cannot import ${source}: ${reason}`, { cause: error });
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
  for await (const { relation, rows } of reader.pages(head)) {
    const indexed = SEARCHABLE.filter((each) => each === relation);
    const words = indexed.map((each) => wordsInsertion(each, each.search.table, rows));
    await target.transact(randomUUID(), [insertion(relation, rows), ...words]);
    done += rows.length;
    onProgress(done, total);
  }
  const raised = raiseLastIds(head.lastIds);
  const indexed = SEARCHABLE.map(({ search: { position } }) => ({
    sql: `UPDATE ${position} SET number = ${LAST_NUMBER}, id = NULL`,
  }));
  const ending = [...raised, ...indexed, REMOVE_MARK, EMPTY_LOG, renewGeneration()];
  await target.transact(randomUUID(), ending);
}

async function begin(target: Database): Promise<void> {
  if (await isUnfinished(target)) return empty(target);
  if (Object.keys(await lastIdsOf(target)).length > 0)
    throw new DatabaseUnusable('the database is not empty: import into a new one');
  await target.transact(randomUUID(), MARK_UNFINISHED);
}

async function empty(target: Database): Promise<void> {
  for (const relation of RELATIONS.toReversed()) {
    const sql = `DELETE FROM ${relation.table} WHERE ${isOnPage(relation)}`;
    for await (const { bounds } of pagesOf(target, relation)) {
      const page = { sql, parameter: JSON.stringify(bounds) };
      await target.transact(randomUUID(), [page, EMPTY_LOG]);
    }
  }
  for (const { search } of SEARCHABLE) {
    const sql = `INSERT INTO ${search.table} (${search.table}) VALUES ('delete-all')`;
    await target.transact(randomUUID(), [{ sql }]);
  }
  await target.transact(randomUUID(), [{ sql: 'DELETE FROM sqlite_sequence' }]);
}

/** Returns the statements that make sure that nothing up to `lastIds` is assigned again. */
function raiseLastIds(lastIds: NumbersByTable): Statement[] {
  return [
    `INSERT INTO sqlite_sequence (name, seq) SELECT key, 0 FROM json_each(?1)
     WHERE key NOT IN (SELECT name FROM sqlite_sequence)`,
    'UPDATE sqlite_sequence SET seq = max(seq, coalesce(?1 ->> name, 0))',
  ].map((sql) => ({ sql, parameter: JSON.stringify(lastIds) }));
}
