// Recognises a write-ahead log that belongs to another file than the one beside it, such as the log
// of the file that a backup has replaced. SQLite would apply it and so destroy the backup.
import { hash } from 'node:crypto';
import fs from 'node:fs';
import { DatabaseUnusable } from '../database.ts';
import { companionsOf, freePath } from './files.ts';

const LOG_HEADER_BYTES = 32;

/** The first pages. They contain the last assigned ids, which every write changes. */
const START_BYTES = 65_536;

/** Where the header of a SQLite file has what (https://www.sqlite.org/fileformat2.html, 1.3). */
const PAGE_BYTES_AT = 16;
const WRITE_VERSION_AT = 18;
const COUNTER_AT = 24;
const PAGES_AT = 28;

const WITH_LOG = 2;
const OVERWRITTEN = 'overwritten';

/** What the beginning of a SQLite file tells. */
export interface FileStart {
  readonly hash: string;
  readonly counter: number;
  readonly pages: number;
  readonly pageBytes: number;
  readonly usesLog: boolean;
}

/** Tries to record that the log belongs to the file with this hash of its beginning, or to none. */
export function recordOrigin(path: string, start: string | undefined): void {
  const [log] = companionsOf(path);
  try {
    const main = start === undefined ? OVERWRITTEN : `${birthOf(path)}\n${start}`;
    fs.writeFileSync(originOf(log), `${birthOf(log)}\n${main}\n`);
  } catch {
    // Without a record, a log counts as that of the file.
  }
}

/** Whether a process has recorded that the file of this log is overwritten. */
export function isRecordedAsOverwritten(log: string): boolean {
  return readRecord(log)[1] === OVERWRITTEN;
}

/** Reads the beginning of an open file. */
export function readStart(descriptor: number): FileStart {
  const bytes = Buffer.alloc(START_BYTES);
  fs.readSync(descriptor, bytes, 0, START_BYTES, 0);
  const pageBytes = bytes.readUInt16BE(PAGE_BYTES_AT);
  return {
    hash: hash('sha256', bytes),
    counter: bytes.readUInt32BE(COUNTER_AT),
    pages: bytes.readUInt32BE(PAGES_AT),
    // 1 stands for the greatest size, which does not fit.
    pageBytes: pageBytes === 1 ? 65_536 : pageBytes,
    usesLog: bytes[WRITE_VERSION_AT] === WITH_LOG,
  };
}

/** Removes the record, unless the log still exists. */
export function removeOrigin(log: string): void {
  if (!fs.existsSync(log)) fs.rmSync(originOf(log), { force: true });
}

/** Whether the log beside `path` is known to belong to another file. */
export function hasForeignLog(path: string): boolean {
  const [log] = companionsOf(path);
  const size = fs.statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= LOG_HEADER_BYTES) return false;
  const start = fs.existsSync(path) ? readStartOf(path) : undefined;
  // SQLite changes the header of a file before it creates a log; `backup` writes the other header.
  if (!start?.usesLog) return true;
  const [own, main, recorded] = readRecord(log);
  // A copy of the file has the same beginning.
  return own === birthOf(log) && main !== birthOf(path) && recorded !== start.hash;
}

/** Throws {@link DatabaseUnusable} if the log beside `path` is known to belong to another file. */
export function refuseForeignLog(path: string): void {
  if (hasForeignLog(path))
    throw new DatabaseUnusable(`${companionsOf(path)[0]} belongs to another file: move it away`);
}

/** Renames a log, so that SQLite does not find it; returns its new path. */
export function setAside(log: string): string {
  const file = log.replace(/-wal$/, '');
  const kept = `${freePath(file)}-wal`;
  fs.renameSync(log, kept);
  // Whoever still uses the log keeps its index, and SQLite creates a new one beside the file.
  const index = `${file}-shm`;
  if (fs.existsSync(index)) fs.renameSync(index, kept.replace(/wal$/, 'shm'));
  fs.rmSync(originOf(log), { force: true });
  return kept;
}

/** Returns the recorded log, its main file and the hash, if there is a record. */
function readRecord(log: string): string[] {
  try {
    return fs.readFileSync(originOf(log), 'utf8').split('\n');
  } catch {
    return [];
  }
}

function originOf(log: string): string {
  return log.replace(/wal$/, 'origin');
}

/** Returns a text that identifies a file for ever: a later file may get the same inode. */
function birthOf(path: string): string {
  const { ino, birthtimeNs } = fs.statSync(path, { bigint: true });
  return `${ino} ${birthtimeNs}`;
}

function readStartOf(path: string): FileStart {
  const descriptor = fs.openSync(path, 'r');
  try {
    return readStart(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
