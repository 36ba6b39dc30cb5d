// The command `import`: reads an export into a database.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { typeOf } from '../resources/resource.ts';
import { type Database, DatabaseUnusable } from '../storage/database.ts';
import { openTarget, type StorageOptions } from '../storage/open.ts';
import { totalOfHead } from './export-format.ts';
import { ExportReader, type RecordPage } from './export-reader.ts';
import { createProgress, inDigits, type Screen } from './progress.ts';
import { compare, type Import, importInto } from './records.ts';
import { lastIdsOf } from './walk.ts';

/** Larger chunks need fewer reads. */
const CHUNK_BYTES = 262_144;

/** 48 bits fit a safe integer. */
const FINGERPRINT_BYTES = 6;

/** Called with the number of records done and their total. */
type OnProgress = (done: number, total: number) => void;

/**
 * Adds the records in `file`, or in `input` without a file, to the database `to`; resolves with a
 * line that says how many were added. Identical records that exist already are skipped. Rejects
 * with {@link DatabaseUnusable}, which names the faulty line, if any. What has been added stays,
 * and the next run with the same export continues. A fault in a regular file for a database that is
 * not empty is found before anything is added, except for a missing owner.
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
    if (isRepeatable && !(await isEmpty(target))) {
      await using rehearsal = await open();
      await compareAll(rehearsal, target, createProgress(screen, 'compared'));
    }
    const added = await addAll(reader, target, createProgress(screen, 'imported'));
    const records = inDigits(totalOfHead(reader.head));
    return `${to.db.name} holds the ${records} records of ${from}; ${inDigits(added)} were not there before`;
  } catch (error) {
    throw new DatabaseUnusable(`cannot import ${from}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function openFile(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: CHUNK_BYTES });
}

async function isEmpty(target: Database): Promise<boolean> {
  return Object.keys(await lastIdsOf(target)).length === 0;
}

/**
 * Rejects if a line is malformed, or if an id belongs to another record. Owners may be among the
 * records to add.
 */
async function compareAll(
  reader: ExportReader,
  target: Database,
  onProgress: OnProgress,
): Promise<void> {
  await forEachPage(reader, onProgress, async (page) => {
    const { taken } = await compare(target, page.resource, page.records);
    if (taken !== undefined) throw takenError(page, taken);
  });
}

/** Adds all records and finishes the import; resolves with how many were added. */
async function addAll(
  reader: ExportReader,
  target: Database,
  onProgress: OnProgress,
): Promise<number> {
  const into = importInto(target, fingerprintOf(reader.headBytes));
  let added = 0;
  await forEachPage(reader, onProgress, async (page) => {
    added += await addPage(into, page);
  });
  await into.finish(reader.head.lastIds);
  return added;
}

async function forEachPage(
  reader: ExportReader,
  onProgress: OnProgress,
  handle: (page: RecordPage) => Promise<void>,
): Promise<void> {
  const total = totalOfHead(reader.head);
  let done = 0;
  onProgress(done, total);
  for await (const page of reader.pages()) {
    await handle(page);
    done += page.records.length;
    onProgress(done, total);
  }
}

async function addPage(into: Import, page: RecordPage): Promise<number> {
  const result = await into.add(page.resource, page.records);
  if ('taken' in result) throw takenError(page, result.taken);
  if ('orphan' in result) {
    throw new Error(
      `line ${lineOf(page, result.orphan)}: ${page.resource.owner?.column} names nothing`,
    );
  }
  return result.added;
}

function takenError(page: RecordPage, id: number): Error {
  return new Error(
    `line ${lineOf(page, id)}: another ${typeOf(page.resource)} has the id ${id} already`,
  );
}

function lineOf({ records, firstLine }: RecordPage, id: number): number {
  return firstLine + records.findIndex(([each]) => each === id);
}

/** Returns a number that identifies the export when its import is run again. */
function fingerprintOf(firstLine: Buffer): number {
  return createHash('sha256').update(firstLine).digest().readUIntBE(0, FINGERPRINT_BYTES);
}
