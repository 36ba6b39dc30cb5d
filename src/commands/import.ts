// The command `import`: adds the records of an export to a database.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { CHANGES } from '../storage/changes/numbers.ts';
import { type Database, DatabaseUnusable } from '../storage/database.ts';
import { openTarget, type StorageOptions } from '../storage/open.ts';
import { ExportReader, type RecordPage } from './export-reader.ts';
import { createProgress, formatNumber, type OnProgress, type Screen } from './progress.ts';
import { compare, importInto, RecordRefused } from './records.ts';
import { lastIdsOf, MAX_IMPORTED_ID, totalOf } from './walk.ts';

/** Larger chunks need fewer reads. */
const CHUNK_BYTES = 262_144;

/** 48 bits fit in a safe integer. */
const FINGERPRINT_BYTES = 6;

/**
 * Adds the records of the export `file`, or of `input` if there is no file, to the database `to`;
 * resolves with a message that says how many are new. Skips records that already exist unchanged.
 * Rejects with {@link DatabaseUnusable}, which names the line of a faulty record. A failed import
 * removes a database that it created and empties a file that was empty; otherwise, the records
 * added so far stay, and another run with the same export continues. If the database is not empty
 * and `file` is a regular file, checks the whole file first, except for references to missing
 * records.
 */
export async function importLines(
  file: string | undefined,
  input: AsyncIterable<Buffer>,
  to: StorageOptions,
  screen: Screen,
): Promise<string> {
  const source = file ?? 'the input';
  try {
    const openExport = () => ExportReader.open(file === undefined ? input : openFile(file));
    // A pipe cannot be read twice.
    const canReadTwice = file !== undefined && (await stat(file)).isFile();
    await using reader = await openExport();
    await using target = await openTarget(to, 'import');
    const lastIds = await lastIdsOf(target);
    const isEmpty = Object.keys(lastIds).length === 0;
    if ((lastIds[CHANGES] ?? 0) + (reader.head.lastIds[CHANGES] ?? 0) > MAX_IMPORTED_ID)
      throw new Error('the numbers of its changes are too large');
    if (canReadTwice && !isEmpty) {
      await using firstPass = await openExport();
      await forEachPage(firstPass, createProgress(screen, 'compared'), ({ relation, records }) =>
        compare(target, relation, records),
      );
    }
    const added = await addAll(reader, target, screen).catch(async (error) => {
      // Keep a database with content, even if this import created it: another one has filled it.
      if (isEmpty) await target.discardNew();
      throw error;
    });
    const present = formatNumber(totalOf(reader.head.counts) - added);
    const records = `${formatNumber(added)} record${added === 1 ? '' : 's'}`;
    return `imported ${records} from ${source} into ${to.db.name}, ${present} already present`;
  } catch (error) {
    throw new DatabaseUnusable(`cannot import ${source}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Adds all records that are missing; resolves with how many. */
async function addAll(reader: ExportReader, target: Database, screen: Screen): Promise<number> {
  const importer = importInto(target, fingerprintOf(reader.headBytes));
  let added = 0;
  await forEachPage(reader, createProgress(screen, 'imported'), async (page) => {
    added += await importer.add(page.relation, page.records);
  });
  await importer.finish({ ...reader.head.lastIds, [CHANGES]: reader.lastNumber });
  return added;
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
      return 'permission denied';
    default:
      return message;
  }
}

function openFile(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: CHUNK_BYTES });
}

/** Calls `handle` for each page in order. If it refuses a record, the error names the line. */
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
      throw new Error(`line ${page.firstLine + error.index}: ${error.message}`, { cause: error });
    });
    done += page.records.length;
    onProgress(done, total);
  }
}

/** Returns a number that identifies an export, so that an interrupted import can continue. */
function fingerprintOf(firstLine: Buffer): number {
  return createHash('sha256').update(firstLine).digest().readUIntBE(0, FINGERPRINT_BYTES);
}
