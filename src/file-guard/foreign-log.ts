// Recognises a write-ahead log that belongs to another file than the one beside it, such as the log
// of the file that a backup has replaced. SQLite would apply it and so destroy the backup.
import fs from 'node:fs';
import { DatabaseUnusable } from '../storage/database.ts';
import { companionsOf, freePath } from '../storage/sqlite/paths.ts';

const LOG_HEADER_BYTES = 32;

/** Where the header of a SQLite file says whether the file has a log, and how. */
const WRITE_VERSION_AT = 18;
const WITH_LOG = 2;

/** Whether a file that begins with `start` has a log, or would have one. */
export function usesLog(start: Buffer): boolean {
  return start[WRITE_VERSION_AT] === WITH_LOG;
}

/** Whether a process has recorded that the file beside this log is no longer its own. */
export function isRecordedAsForeign(log: string): boolean {
  return readRecord(log)[1] === '';
}

/** Tries to record that the log beside `path` belongs to the file there, or no longer does. */
export function recordOrigin(path: string, isOwn = true): void {
  const [log] = companionsOf(path);
  try {
    const text = `${birthOf(log)}\n${isOwn ? birthOf(path) : ''}\n`;
    fs.writeFileSync(originOf(log), text, { mode: 0o600 });
    // As SQLite does with the log, so that the same users can read and replace both.
    const { uid, gid, mode } = fs.statSync(path);
    fs.chmodSync(originOf(log), mode & 0o777);
    if (process.getuid?.() === 0) fs.chownSync(originOf(log), uid, gid);
  } catch {
    // Without a record, a log counts as that of the file.
  }
}

/** Removes the record, unless the log still exists. */
export function removeOrigin(log: string): void {
  if (!fs.existsSync(log)) fs.rmSync(originOf(log), { force: true });
}

function hasForeignLog(path: string): boolean {
  const [log] = companionsOf(path);
  const size = fs.statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= LOG_HEADER_BYTES) return false;
  // SQLite changes the header of a file before it creates a log; `backup` writes the other header.
  if (!fs.existsSync(path) || readWriteVersion(path) !== WITH_LOG) return true;
  const [own, main] = readRecord(log);
  // The record of a log that was copied says nothing, because copies are new files.
  return own === birthOf(log) && main !== birthOf(path);
}

/** Calls `onSetAside` with the new path of a log of another file; without it, throws. */
export function clearForeignLog(path: string, onSetAside?: (kept: string) => void): void {
  if (!hasForeignLog(path)) return;
  const [log] = companionsOf(path);
  if (!onSetAside) throw new DatabaseUnusable(`${log} belongs to another file: move it away`);
  onSetAside(setAside(log));
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

/** Returns the recorded log and its main file, if there is a record. */
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

function readWriteVersion(path: string): number | undefined {
  const descriptor = fs.openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(1);
    fs.readSync(descriptor, bytes, 0, 1, WRITE_VERSION_AT);
    return bytes[0];
  } finally {
    fs.closeSync(descriptor);
  }
}
