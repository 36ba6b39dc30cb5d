// The command `import`: reads an export into a database.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Database, DatabaseUnusable } from '../storage/database.ts';
import { openTarget, type StorageOptions } from '../storage/open.ts';
import { ExportReader, type RecordPage } from './export-reader.ts';
import { createProgress, inDigits, type OnProgress, type Screen } from './progress.ts';
import { compare, importInto, RecordRefused } from './records.ts';
import { lastIdsOf, totalOf } from './walk.ts';

/** Larger chunks need fewer reads. */
const CHUNK_BYTES = 262_144;

/** 48 bits fit a safe integer. */
const FINGERPRINT_BYTES = 6;

/**
 * Adds the records in `file`, or in `input` without a file, to the database `to`; resolves with a
 * line that says how many were added. Identical records that exist already are skipped. Rejects
 * with {@link DatabaseUnusable}, which names the faulty line, if any. A database that this import
 * has created is removed then; otherwise, what has been added stays, and the next run with the same
 * export continues. If the database is not empty and `file` is a
 * regular file, any fault but a missing owner is found before anything is added.
 */
export async function importLines(
  file: string | undefined,
  input: AsyncIterable<Buffer>,
  to: StorageOptions,
  screen: Screen,
): Promise<string> {
  const from = file ?? 'the input';
  try {
    const open = () => ExportReader.open(file === undefined ? input : openFile(file));
    // A pipe cannot be read twice.
    const isRepeatable = file !== undefined && (await stat(file)).isFile();
    await using reader = await open();
    await using target = await openTarget(to, 'import');
    const isEmpty = Object.keys(await lastIdsOf(target)).length === 0;
    if (isRepeatable && !isEmpty) {
      await using rehearsal = await open();
      await forEachPage(rehearsal, createProgress(screen, 'compared'), ({ resource, records }) =>
        compare(target, resource, records),
      );
    }
    const added = await addAll(reader, target, screen).catch(async (error) => {
      // Another import may have created it, and have filled it, since the open.
      if (isEmpty) await target.discardNew();
      throw error;
    });
    const present = inDigits(totalOf(reader.head.counts) - added);
    const records = `${inDigits(added)} record${added === 1 ? '' : 's'}`;
    return `imported ${records} from ${from} into ${to.db.name}, ${present} already present`;
  } catch (error) {
    throw new DatabaseUnusable(`cannot import ${from}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Adds all records that are missing; resolves with how many. */
async function addAll(reader: ExportReader, target: Database, screen: Screen): Promise<number> {
  const into = importInto(target, fingerprintOf(reader.headBytes));
  let added = 0;
  await forEachPage(reader, createProgress(screen, 'imported'), async (page) => {
    added += await into.add(page.resource, page.records);
  });
  await into.finish(reader.head.lastIds);
  return added;
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a directory';
    case 'EACCES':
      return 'permission denied';
    default:
      return message;
  }
}

function openFile(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: CHUNK_BYTES });
}

/** Handles all pages in their order. Names the line of a record that `handle` refuses. */
async function forEachPage(
  reader: ExportReader,
  onProgress: OnProgress,
  handle: (page: RecordPage) => Promise<unknown>,
): Promise<void> {
  const total = totalOf(reader.head.counts);
  let done = 0;
  onProgress(done, total);
  for await (const page of reader.pages()) {
    await handle(page).catch((error) => {
      if (!(error instanceof RecordRefused)) throw error;
      const line = page.firstLine + page.records.findIndex(([id]) => id === error.id);
      throw new Error(`line ${line}: ${error.message}`, { cause: error });
    });
    done += page.records.length;
    onProgress(done, total);
  }
}

/** Returns a number that identifies the export when its import is run again. */
function fingerprintOf(firstLine: Buffer): number {
  return createHash('sha256').update(firstLine).digest().readUIntBE(0, FINGERPRINT_BYTES);
}
