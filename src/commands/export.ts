// The command that writes all data as JSON lines, to a file or to whoever reads its output.
import { isDeepStrictEqual } from 'node:util';
import { DatabaseUnusable } from '../storage/database.ts';
import { countsOf, lastIdsOf, totalOf } from '../storage/id-pages.ts';
import { openSource, type StorageOptions } from '../storage/open.ts';
import { recordLines } from '../storage/records.ts';
import { parseCluster } from '../storage/rqlite-address.ts';
import type { Source } from '../storage/unfinished.ts';
import { writeWhole } from '../storage/whole-file.ts';
import { COLLECTIONS, inWords, TABLES } from './collections.ts';
import { endLine, headLine, typeOf } from './line-format.ts';
import { createProgress, type Screen } from './progress.ts';

/** Takes a text; resolves when it can take the next one. */
export type Write = (text: string) => Promise<unknown>;

/**
 * Writes what `from` names, beside whoever uses it, to `file`; resolves with a line that says what is in it. Without a file all
 * goes to `output`, and there is nothing to say. A database file is written as it is at one moment. Rejects with
 * {@link DatabaseUnusable}, there is no file then; and as `output` does.
 */
export async function exportLines(
  from: StorageOptions,
  file: string | undefined,
  output: Write,
  screen: Screen,
): Promise<string | undefined> {
  const source = await openSource(from, { beside: true });
  try {
    if (file === undefined) {
      await writeLines(source, output, screen);
      return undefined;
    }
    let held = '';
    await writeWhole(file, parseCluster(from.db) ? undefined : from.db, async (handle) => {
      held = await writeLines(source, (text) => handle.appendFile(text), screen);
    });
    return `${file} holds ${held}`;
  } finally {
    await source.close();
  }
}

async function writeLines(source: Source, write: Write, screen: Screen): Promise<string> {
  const progress = createProgress(screen, 'exported');
  const summary = await summaryOf(source);
  const total = totalOf(summary.counts);
  await write(headLine(summary));
  let done = 0;
  progress(done, total);
  for (const collection of COLLECTIONS) {
    for await (const { lines, count } of recordLines(source, collection.shape, typeOf(collection))) {
      await write(lines);
      done += count;
      progress(done, total);
    }
  }
  // A cluster is not read at one moment.
  if (done !== total || !isDeepStrictEqual(await summaryOf(source), summary)) {
    throw new DatabaseUnusable('records came or went meanwhile: run it again');
  }
  await write(endLine(total));
  return inWords(summary.counts);
}

async function summaryOf(source: Source) {
  return { counts: await countsOf(source, TABLES), lastIds: await lastIdsOf(source) };
}
