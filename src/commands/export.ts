// The command `export`: writes all records as JSON lines, to a file or to the output.
import { isDeepStrictEqual } from 'node:util';
import type { Relation } from '../resources/resource.ts';
import { DatabaseUnusable, type Source } from '../storage/database.ts';
import { openSource, type StorageOptions } from '../storage/open.ts';
import { endLine, headLine } from './export-format.ts';
import { createProgress, type Screen } from './progress.ts';
import { recordLines } from './records.ts';
import { countsOf, formatCounts, lastIdsOf, storedContent, totalOf } from './walk.ts';
import { isPresent, writeWhole } from './whole-file.ts';

/** Writes a text; resolves when the next one can be written. */
export type WriteText = (text: string) => Promise<unknown>;

/**
 * Writes the content of the database `from` to `file`; resolves with a line that says so. Without
 * a file, writes to `output` and resolves with undefined. Others may use the database meanwhile; a
 * database file is read in one transaction. Rejects with {@link DatabaseUnusable} if the database
 * cannot be read or `file` cannot be written, and then leaves no file behind. Also rejects with any
 * error of `output`.
 */
export async function exportLines(
  from: StorageOptions,
  file: string | undefined,
  output: WriteText,
  screen: Screen,
): Promise<string | undefined> {
  await using source = await openSource(from, { snapshot: true });
  if (file === undefined) {
    await writeLines(source, output, screen);
    return undefined;
  }
  if (await isPresent(file).catch(() => false)) {
    const remedy = 'leave FILE out to write to standard output';
    throw new DatabaseUnusable(`${file} already exists; ${remedy}`);
  }
  let written = '';
  await writeWhole(file, from.db.kind === 'file' ? from.db.name : undefined, async (handle) => {
    written = await writeLines(source, (text) => handle.appendFile(text), screen);
  });
  return `exported ${written} to ${file}`;
}

async function writeLines(source: Source, write: WriteText, screen: Screen): Promise<string> {
  const progress = createProgress(screen, 'exported');
  const { relations, hasChanges } = await storedContent(source);
  const summary = await summaryOf(source, relations);
  const total = totalOf(summary.counts);
  await write(headLine(summary));
  let done = 0;
  progress(done, total);
  for (const relation of relations) {
    for await (const { lines, count } of recordLines(source, relation, hasChanges)) {
      await write(lines);
      done += count;
      progress(done, total);
    }
  }
  // A cluster is not read in one transaction: others may have written to it meanwhile.
  if (done !== total || !isDeepStrictEqual(await summaryOf(source, relations), summary)) {
    throw new DatabaseUnusable('the records have changed meanwhile: run the export again');
  }
  await write(endLine(total));
  return formatCounts(summary.counts);
}

async function summaryOf(source: Source, relations: readonly Relation[]) {
  return { counts: await countsOf(source, relations), lastIds: await lastIdsOf(source) };
}
