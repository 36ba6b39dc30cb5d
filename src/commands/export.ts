// Exports: all records as JSON lines. The command `export` writes them to a file or to the output.
import type { StorageOptions } from '../open.ts';
import { countsOf, isOnPage, lastIdsOf, pagesOf, relationsIn, totalOf } from '../pages.ts';
import { type Member, memberOf, membersSql } from '../records/text.ts';
import { columnsOf, keysOf, type Relation, typeOf } from '../relations.ts';
import { DatabaseUnusable, type Source } from '../storage/database.ts';
import { timeSql } from '../time.ts';
import { endLine, headLine } from './export-format.ts';
import { createProgress, type ShowText } from './progress.ts';
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
    await writeLines(source, output, () => {});
    return undefined;
  }
  let count = 0;
  await writeWhole(file, {
    source: from.db.kind === 'file' ? from.db.name : undefined,
    async write(_path, handle) {
      count = await writeLines(source, (text) => handle.appendFile(text), show);
    },
  });
  return `exported ${formatRecords(count)} to ${file}`;
}

async function writeLines(source: Source, write: WriteText, show: ShowText): Promise<number> {
  const progress = createProgress(show, 'exported');
  let count = 0;
  for await (const { text, done, total } of exportTexts(source)) {
    await write(text);
    progress(done, total);
    count = done;
  }
  return count;
}

/** Yields an export, with how many of all records the texts have so far. */
export async function* exportTexts(source: Source) {
  const counts = await countsOf(source);
  const total = totalOf(counts);
  let done = 0;
  yield { text: headLine({ counts, lastIds: await lastIdsOf(source) }), done, total };
  for (const relation of await relationsIn(source)) {
    for await (const { lines, count } of recordLines(source, relation)) {
      done += count;
      yield { text: lines, done, total };
    }
  }
  if (done !== total) throw new DatabaseUnusable('the database is damaged: run check');
  yield { text: endLine(total), done, total };
}

/** Reads a table page by page: one line of JSON for each record, with its type as first member. */
export async function* recordLines(
  source: Source,
  relation: Relation,
): AsyncGenerator<{ readonly lines: string; readonly count: number }> {
  const kinds = 'columns' in relation ? relation.columns : {};
  const own = columnsOf(relation).map((name) => withKind(memberOf(relation, name), kinds[name]));
  const times = ['created_at', 'updated_at'].map((column) => `'${column}', ${timeSql(column)}`);
  const changes = 'path' in relation ? [`'number', number`, ...times] : [];
  const members = [`'type', '${typeOf(relation)}'`, membersSql(own), ...changes];
  const sql = `
    SELECT group_concat(json_object(${members.join(', ')}), char(10)
      ORDER BY ${keysOf(relation).join(', ')}) AS lines
    FROM ${relation.table} WHERE ${isOnPage(relation)}`;
  for await (const { bounds, count } of pagesOf(source, relation)) {
    const [row] = await source.read({ sql, parameter: JSON.stringify(bounds) });
    yield { lines: `${row?.lines}\n`, count };
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
