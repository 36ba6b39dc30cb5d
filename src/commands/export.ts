// Exports: all records as JSON lines. The command `export` writes them to a file or to the output.
import { writeFile } from 'node:fs/promises';
import type { StorageOptions } from '../open.ts';
import { countsOf, isOnPage, lastIdsOf, pagesOf, relationsIn, totalOf } from '../pages.ts';
import { type Member, memberOf, membersSql } from '../records/text.ts';
import { columnsOf, keysOf, type Relation, typeOf } from '../resources/relation.ts';
import { isKeptSql } from '../schema/kept-rows.ts';
import { DatabaseUnusable, type Source } from '../storage/database.ts';
import { timeSql } from '../time.ts';
import { endLine, headLine } from './export-format.ts';
import { createProgress, type OnProgress, type ShowText } from './progress.ts';
import { openSnapshot } from './snapshot.ts';
import { writeWhole } from './whole-file.ts';

type WriteText = (text: string) => Promise<unknown>;

/** Exports a database to `file` and resolves with a line for the user, or exports to `output`. */
export async function exportLines(
  from: StorageOptions,
  file: string | undefined,
  output: WriteText,
  show: ShowText,
): Promise<string | undefined> {
  await using source = await openSnapshot(from);
  if (file === undefined) {
    for await (const text of exportTexts(source)) await output(text);
    return undefined;
  }
  const progress = createProgress(show, 'exported');
  await writeWhole(file, {
    source: from.db.kind === 'file' ? from.db.name : undefined,
    write: (_path, handle) => writeFile(handle, exportTexts(source, progress)),
  });
  return `exported ${formatRecords(totalOf(await countsOf(source)))} to ${file}`;
}

/** Yields an export. */
export async function* exportTexts(source: Source, onProgress: OnProgress = () => {}) {
  const counts = await countsOf(source);
  const total = totalOf(counts);
  let done = 0;
  yield headLine({ counts, lastIds: await lastIdsOf(source) });
  onProgress(done, total);
  for (const relation of await relationsIn(source)) {
    for await (const { lines, count } of recordLines(source, relation)) {
      yield lines;
      done += count;
      onProgress(done, total);
    }
  }
  if (done !== total) throw new DatabaseUnusable('the database is damaged: run check');
  yield endLine(total);
}

/** Reads a table page by page: one line of JSON for each record, with its type as first member. */
export async function* recordLines(source: Source, relation: Relation) {
  const kinds = 'columns' in relation ? relation.columns : {};
  const own = columnsOf(relation).map((name) => withKind(memberOf(relation, name), kinds[name]));
  const times = ['created_at', 'updated_at'].map((column) => `'${column}', ${timeSql(column)}`);
  const changes = 'path' in relation ? [`'number', number`, ...times] : [];
  const members = [`'type', '${typeOf(relation)}'`, membersSql(own), ...changes];
  const rows = isOnPage(relation);
  const sql = `
    SELECT group_concat(json_object(${members.join(', ')}), char(10)
      ORDER BY ${keysOf(relation).join(', ')}) AS lines, count(*) AS count
    FROM ${relation.table} WHERE ${rows} AND ${isKeptSql(relation, rows)}`;
  for await (const { bounds } of pagesOf(source, relation)) {
    const [row] = await source.read({ sql, parameter: JSON.stringify(bounds) });
    if (row?.count) yield { lines: `${row.lines}\n`, count: Number(row.count) };
  }
}

function withKind(member: Member, kind?: string): Member {
  if (kind === 'time') return { ...member, sql: timeSql(member.sql) };
  return kind === 'ids' ? { ...member, sql: `json(${member.sql})` } : member;
}

/** Returns "1 record" or "2 records". */
export function formatRecords(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'record' : 'records'}`;
}
