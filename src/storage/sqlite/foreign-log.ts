// Recognises a write-ahead log that belongs to another file than the one beside it, such as the log
// of the file that a backup has replaced. SQLite would apply it and so destroy the backup.
import { hash } from 'node:crypto';
import fs from 'node:fs';
import { DatabaseUnusable } from '../database.ts';
import { companionsOf, freePath } from './files.ts';

/** The first pages. They contain the last assigned ids, which every write changes. */
const START_BYTES = 65_536;

const OVERWRITTEN = 'overwritten';

/** What the beginning of a SQLite file tells. */
export type FileStart = ReturnType<typeof readStart>;

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

/** Reads the beginning of an open file (https://www.sqlite.org/fileformat2.html, section 1.3). */
export function readStart(descriptor: number) {
  const bytes = Buffer.alloc(START_BYTES);
  fs.readSync(descriptor, bytes, 0, START_BYTES, 0);
  const pageBytes = bytes.readUInt16BE(16);
  return {
    hash: hash('sha256', bytes),
    counter: bytes.readUInt32BE(24),
    pages: bytes.readUInt32BE(28),
    // 1 stands for the greatest size, which does not fit.
    pageBytes: pageBytes === 1 ? 65_536 : pageBytes,
    usesLog: bytes[18] === 2,
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
  // A log without pages has only a header, of 32 bytes.
  if (size <= 32) return false;
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
