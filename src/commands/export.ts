// The command `export`: writes all records as JSON lines, to a file or to the output.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCluster, type StorageOptions } from '../open.ts';
import { countsOf, isOnPage, lastIdsOf, type NumbersByTable, pagesOf, totalOf } from '../pages.ts';
import { membersSql, ownMembers } from '../records/members.ts';
import { keysOf, type Relation, typeOf } from '../resources/resource.ts';
import { RELATIONS, RESOURCES } from '../resources/resources.ts';
import { DatabaseUnusable, type Source } from '../storage/database.ts';
import { timeSql } from '../storage/numbers.ts';
import { unusable } from '../storage/sqlite/unusable.ts';
import { openShared } from './existing.ts';
import { endLine, headLine } from './export-format.ts';
import { createProgress, formatNumber, type Screen } from './progress.ts';
import { writeWhole } from './whole-file.ts';

type WriteText = (text: string) => Promise<unknown>;

/** Exports a database to `file` and resolves with a line for the user, or exports to `output`. */
export async function exportLines(
  from: StorageOptions,
  file: string | undefined,
  output: WriteText,
  screen: Screen,
): Promise<string | undefined> {
  await using source = await openToExport(from);
  if (file === undefined) {
    await writeLines(source, output, screen);
    return undefined;
  }
  let written = '';
  await writeWhole(file, {
    source: from.db.kind === 'file' ? from.db.name : undefined,
    async write(_path, handle) {
      written = await writeLines(source, (text) => handle.appendFile(text), screen);
    },
  });
  return `exported ${written} to ${file}`;
}

/** Opens a snapshot of a database; of a cluster, a copy in the folder for temporary files. */
async function openToExport(options: StorageOptions): Promise<Source & AsyncDisposable> {
  const { db } = options;
  if (db.kind !== 'cluster') return openSnapshot(db.name);
  const parts = { toRead: true };
  const cluster = await openCluster({ ...db, level: 'linearizable' }, options, parts);
  const folder = await mkdtemp(join(tmpdir(), 'notes-server-export-'));
  try {
    const path = join(folder, 'copy.db');
    const { changes: before = 0 } = await lastIdsOf(cluster);
    await cluster.copyTo(path);
    const copy = await openSnapshot(path);
    // A node that leads no longer, but does not know yet, has copied an earlier state.
    const { changes: copied = 0 } = await lastIdsOf(copy);
    if (copied >= before) return copy;
    await copy.close();
    throw new DatabaseUnusable('the leader has changed: run the export again');
  } catch (error) {
    throw unusable(db.name, error);
  } finally {
    await cluster.close();
    // It stays readable while it is open, and goes with this process.
    await rm(folder, { recursive: true, force: true });
  }
}

async function openSnapshot(path: string) {
  const file = await openShared(path);
  await file.read({ sql: 'BEGIN' });
  return file;
}

async function writeLines(source: Source, write: WriteText, screen: Screen): Promise<string> {
  const progress = createProgress(screen, 'exported');
  const counts = await countsOf(source);
  const total = totalOf(counts);
  await write(headLine({ counts, lastIds: await lastIdsOf(source) }));
  let done = 0;
  progress(done, total);
  for (const relation of RELATIONS) {
    for await (const { lines, count } of recordLines(source, relation)) {
      await write(lines);
      done += count;
      progress(done, total);
    }
  }
  if (done !== total) throw new DatabaseUnusable('the database is damaged: run check');
  await write(endLine(total));
  return formatCounts(counts);
}

/** Reads a table page by page: one line of JSON for each record, with its type as first member. */
export async function* recordLines(
  source: Source,
  relation: Relation,
): AsyncGenerator<{ readonly lines: string; readonly count: number }> {
  const times = ['created_at', 'updated_at'].map((column) => `'${column}', ${timeSql(column)}`);
  const changes = 'references' in relation ? [] : [`'number', number`, ...times];
  const members = [`'type', '${typeOf(relation)}'`, membersSql(ownMembers(relation)), ...changes];
  const sql = `
    SELECT group_concat(json_object(${members.join(', ')}), char(10)
      ORDER BY ${keysOf(relation).join(', ')}) AS lines
    FROM ${relation.table} WHERE ${isOnPage(relation)}`;
  for await (const { bounds, count } of pagesOf(source, relation)) {
    const [row] = await source.read({ sql, parameter: JSON.stringify(bounds) });
    yield { lines: `${row?.lines}\n`, count };
  }
}

/** Formats the counts, as in "1 note, 0 tags"; leaves out tags on notes if there are none. */
export function formatCounts(counts: NumbersByTable): string {
  return Object.entries(counts)
    .filter(([table, count]) => count > 0 || RESOURCES.some((each) => each.table === table))
    .map(([table, count]) => {
      const plural = table.replace('_', ' ');
      return `${formatNumber(count)} ${count === 1 ? plural.replace(/s$/, '') : plural}`;
    })
    .join(', ');
}
