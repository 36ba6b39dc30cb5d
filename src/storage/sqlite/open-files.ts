// Watches the files of an open database. SQLite would go on writing into a file that has lost its
// name or whose content another program has replaced, and nobody would find these writes again.
import { closeSync, fstatSync, openSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseUnavailable, DatabaseUnusable } from '../database.ts';
import { companionsOf } from './files.ts';
import {
  type FileStart,
  isRecordedAsOverwritten,
  readStart,
  recordOrigin,
  removeOrigin,
  setAside,
} from './foreign-log.ts';
import type { WalIndex } from './wal-index.ts';

const LOOK_MS = 1_000;

/** A folder may change twice within this time and show it once: FAT counts in two seconds. */
const SETTLED_MS = 3_000;

interface Content extends FileStart {
  readonly size: number;
  readonly writtenMs: number;
}

type OpenedFile = { readonly file: string; readonly stats: Stats | undefined };

/** The files of one open database: the main file, its log and the index of the log. */
export class OpenFiles {
  readonly #main: OpenedFile;
  readonly #log: OpenedFile;
  readonly #index: OpenedFile;
  readonly #walIndex: WalIndex | undefined;
  /** Whether the path has no symbolic links, so that the folder shows whatever moves the files. */
  readonly #isDirect: boolean;
  /** The folder when the files were last found in it; undefined if a change might not show. */
  #folder: Stats | undefined;
  /** Stays open as long as SQLite uses the file: closing it would release the locks of SQLite. */
  readonly #descriptor: number;
  #content: Content | undefined;
  /** The last checkpoint: nothing else may write into the file. */
  #checkpoint: number | undefined;
  #isOverwritten = false;
  readonly #timer: NodeJS.Timeout;

  /** Call it when SQLite has opened the files. Content is compared only with `walIndex`. */
  constructor(path: string, walIndex: WalIndex | undefined) {
    const [log, index] = companionsOf(path);
    const opened = (file: string) => ({ file, stats: statsOf(file) });
    this.#main = opened(path);
    this.#log = opened(log);
    this.#isDirect = log === `${resolve(path)}-wal`;
    this.#index = opened(index);
    this.#walIndex = walIndex;
    this.#descriptor = openSync(path, 'r');
    recordOrigin(path, readStart(this.#descriptor).hash);
    this.#compareContent();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  get isOverwritten(): boolean {
    if (this.#hasChanged(fstatSync(this.#descriptor))) this.#compareContent();
    return this.#isOverwritten;
  }

  /** Throws {@link DatabaseUnavailable} if a write could get lost. */
  check(): void {
    const folder = statsOf(dirname(this.#log.file));
    // Not before each write: a look at the log makes its next fsync slower (since Linux 6.13),
    // because the file system then gives the write a time of its own.
    if (!this.#folder || !isUntouched(this.#folder, folder)) {
      for (const each of [this.#main, this.#log, this.#index]) refuseLost(each);
      const isSettled = folder !== undefined && folder.mtimeMs < Date.now() - SETTLED_MS;
      this.#folder = this.#isDirect && isSettled ? folder : undefined;
    }
    if (this.isOverwritten)
      throw new DatabaseUnavailable(`${this.#main.file} has been overwritten by another program`);
  }

  /** Must be called after each transaction of this process: it may have ended with a checkpoint. */
  noticeCheckpoint(): void {
    if (this.#walIndex?.checkpoint() !== this.#checkpoint) this.#compareContent();
  }

  #compareContent(): void {
    const checkpoint = this.#walIndex?.checkpoint();
    if (checkpoint === undefined) return;
    const stats = fstatSync(this.#descriptor);
    if (this.#hasChanged(stats)) this.#compareWith(stats, checkpoint);
    else this.#checkpoint = checkpoint;
  }

  #compareWith({ size, mtimeMs }: Stats, checkpoint: number): void {
    const known = this.#content;
    const now = { ...readStart(this.#descriptor), size, writtenMs: mtimeMs };
    const pages = this.#walIndex?.pagesOfMain();
    // Another checkpoint has begun meanwhile.
    if (this.#walIndex?.checkpoint() !== checkpoint) return;
    const isOwn =
      known === undefined ||
      (this.#checkpoint === checkpoint
        ? known.hash === now.hash && known.size === now.size
        : known.counter <= now.counter && fits(now, pages) && !this.#isKnownAsOverwritten);
    if (isOwn) {
      this.#content = now;
      this.#checkpoint = checkpoint;
    } else if (this.#isOverwritten) return;
    this.#isOverwritten = !isOwn;
    // The process may be killed before it can set the log aside.
    recordOrigin(this.#main.file, isOwn ? now.hash : undefined);
  }

  #look(): void {
    this.#compareContent();
    if (this.#isKnownAsOverwritten) this.#isOverwritten = true;
  }

  get #isKnownAsOverwritten(): boolean {
    return this.#isOverwritten || isRecordedAsOverwritten(this.#log.file);
  }

  /** Call it when SQLite has closed the files; throws DatabaseUnusable if a log was not applied. */
  release(): void {
    clearInterval(this.#timer);
    const { file } = this.#main;
    const log = this.#log.file;
    const isOverwritten = this.#isOverwritten;
    if (!isOverwritten) closeSync(this.#descriptor);
    const now = statsOf(file);
    const hasLog = this.#log.stats !== undefined && isSameFile(this.#log.stats, statsOf(log));
    const isReplaced = isOverwritten || (now && !isSameFile(this.#main.stats, now));
    if (!isReplaced && (now || !hasLog)) {
      removeOrigin(log);
      return;
    }
    const happened = isOverwritten ? 'overwritten' : isReplaced ? 'replaced' : 'moved or deleted';
    // Without any file at the path, its own file may return to the log.
    const kept = hasLog && (isReplaced ? setAside(log) : log);
    throw new DatabaseUnusable(
      `${file} was ${happened} while it was in use${kept ? `; its log is kept as ${kept}` : ''}`,
    );
  }

  #hasChanged({ mtimeMs, size }: Stats): boolean {
    return mtimeMs !== this.#content?.writtenMs || size !== this.#content.size;
  }
}

/** Whether a checkpoint can have written a file; `expected` is how many pages it then has. */
function fits({ usesLog, pages, pageBytes, size }: Content, expected: number | undefined): boolean {
  const isWhole = expected === undefined || (pages === expected && size === pages * pageBytes);
  return usesLog && isWhole;
}

function refuseLost({ file, stats }: OpenedFile): void {
  if (!isSameFile(stats, statsOf(file)))
    throw new DatabaseUnavailable(`${file} has been moved, deleted or replaced`);
}

function isUntouched(before: Stats, now: Stats | undefined): boolean {
  return isSameFile(before, now) && before.mtimeMs === now?.mtimeMs;
}

function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one?.ino === other?.ino && one?.dev === other?.dev;
}
