// Recognises a write-ahead log that belongs to another file than the one beside it, such as the log
// of the file that a backup has replaced. SQLite would apply it and so destroy the backup.
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { DatabaseUnusable } from '../database.ts';
import { companionsOf, freePath } from './files.ts';

/** A log that is not longer has no content. */
const LOG_HEADER_BYTES = 32;

/**
 * Where the header of a SQLite file says whether its writers use a log
 * (https://www.sqlite.org/fileformat2.html, 1.3.3).
 */
const WRITE_VERSION_AT = 18;
const WITH_LOG = 2;

/**
 * Records that the log beside `path` belongs to this file or, if it is overwritten, to none. Does
 * nothing if the record cannot be written.
 */
export function recordOrigin(path: string, isOverwritten = false): void {
  const [log] = companionsOf(path);
  try {
    const main = isOverwritten ? 'overwritten' : birthOf(path);
    writeFileSync(originOf(log), `${main}\n${birthOf(log)}\n`);
  } catch {
    // Without a record, a log counts as that of the file.
  }
}

/** Removes the record, unless the log still exists. */
export function removeOrigin(log: string): void {
  if (!existsSync(log)) rmSync(originOf(log), { force: true });
}

/** Whether the log beside `path` is known to belong to another file. */
export function hasForeignLog(path: string): boolean {
  const [log] = companionsOf(path);
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= LOG_HEADER_BYTES) return false;
  // SQLite changes the header of a file before it creates a log; `backup` writes the other header.
  if (writeVersionOf(path) !== WITH_LOG) return true;
  const [main, own] = readRecord(log);
  return own === birthOf(log) && main !== birthOf(path);
}

/** Throws {@link DatabaseUnusable} if the log beside `path` is known to belong to another file. */
export function refuseForeignLog(path: string): void {
  if (hasForeignLog(path))
    throw new DatabaseUnusable(`${companionsOf(path)[0]} belongs to another file: move it away`);
}

/** Renames a log, so that SQLite does not find it; returns its new path. */
export function setAside(log: string): string {
  const kept = `${freePath(log.replace(/-wal$/, ''))}-wal`;
  renameSync(log, kept);
  rmSync(originOf(log), { force: true });
  return kept;
}

/** Returns the recorded main file and its log; nothing if there is no record. */
function readRecord(log: string): string[] {
  try {
    return readFileSync(originOf(log), 'utf8').split('\n');
  } catch {
    return [];
  }
}

function originOf(log: string): string {
  return log.replace(/wal$/, 'origin');
}

/** Returns a text that identifies a file for ever: a later file may get the same inode. */
function birthOf(path: string): string {
  const { ino, birthtimeNs } = statSync(path, { bigint: true });
  return `${ino} ${birthtimeNs}`;
}

/** Returns the write version in the header of a file; undefined if there is none. */
function writeVersionOf(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const file = openSync(path, 'r');
  try {
    const byte = Buffer.alloc(1);
    return readSync(file, byte, 0, 1, WRITE_VERSION_AT) === 1 ? byte[0] : undefined;
  } finally {
    closeSync(file);
  }
}
