// Watches the files of an open database. SQLite would go on writing into a file that has lost its
// name or whose content another program has replaced, and nobody would find these writes again.
import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseUnavailable, DatabaseUnusable } from '../storage/database.ts';
import { companionsOf } from '../storage/sqlite/paths.ts';
import {
  isRecordedAsForeign,
  recordOrigin,
  removeOrigin,
  setAside,
  usesLog,
} from './foreign-log.ts';
import { openWalIndex, type WalIndex } from './wal-index.ts';

const LOOK_MS = 1_000;

/** A folder may change twice within this time and show it once: FAT counts in two seconds. */
const SETTLED_MS = 3_000;

/** The first pages. They contain the last assigned ids, which every write changes. */
const START_BYTES = 65_536;

/** The main file as SQLite has written it. */
interface Content {
  readonly start: Buffer;
  readonly size: number;
  readonly mtimeMs: number;
}

type OpenedFile = { readonly file: string; readonly stats: Stats | undefined };

/** The files of one open database: the main file, its log and the index of the log. */
export class WatchedFiles {
  readonly #main: OpenedFile;
  readonly #log: OpenedFile;
  readonly #index: OpenedFile;
  /** Undefined where nothing tells which transaction was the last. */
  readonly freshness: WalIndex | undefined;
  /** When the folder had last changed, if a later change would show. */
  #folderMs: number | undefined;
  /** Stays open as long as SQLite uses the file: closing it would release the locks of SQLite. */
  readonly #descriptor: number;
  #content: Content | undefined;
  /** The last checkpoint: nothing else may write into the file. */
  #checkpoint: string | undefined;
  #isOverwritten = false;
  readonly #timer: NodeJS.Timeout;

  /** Call it when SQLite has opened the files. Content is compared only if `isShared`. */
  constructor(path: string, isShared: boolean) {
    const [log, index] = companionsOf(path);
    const opened = (file: string) => ({ file, stats: statsOf(file) });
    this.#main = opened(path);
    this.#log = opened(log);
    this.#index = opened(index);
    this.freshness = isShared ? openWalIndex(path) : undefined;
    this.#descriptor = openSync(path, 'r');
    recordOrigin(path);
    this.compareContent();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Whether another program has written into the main file. */
  get isOverwritten(): boolean {
    const { mtimeMs, size } = fstatSync(this.#descriptor);
    if (mtimeMs !== this.#content?.mtimeMs || size !== this.#content.size) this.compareContent();
    return this.#isOverwritten;
  }

  /** Throws {@link DatabaseUnavailable} if a write could get lost. */
  check(): void {
    refuseLost(this.#main);
    const { mtimeMs = 0 } = statsOf(dirname(this.#log.file)) ?? {};
    // Not before each write: a look at the log makes its next fsync slower (since Linux 6.13),
    // because the file system then gives the write a time of its own.
    if (mtimeMs !== this.#folderMs) {
      for (const each of [this.#log, this.#index]) refuseLost(each);
      this.#folderMs = mtimeMs < Date.now() - SETTLED_MS ? mtimeMs : undefined;
    }
    if (this.isOverwritten)
      throw new DatabaseUnavailable(`${this.#main.file} has been overwritten by another program`);
  }

  /** Call it after each transaction of this process: it may have ended with a checkpoint. */
  compareContent(): void {
    const checkpoint = this.freshness?.checkpoint();
    if (checkpoint === undefined) return;
    const { mtimeMs, size } = fstatSync(this.#descriptor);
    const known = this.#content;
    if (mtimeMs === known?.mtimeMs && size === known.size) {
      this.#checkpoint = checkpoint;
      return;
    }
    const start = Buffer.alloc(START_BYTES);
    readSync(this.#descriptor, start, 0, START_BYTES, 0);
    const expectedSize = this.freshness?.sizeOfMain() ?? size;
    // Another checkpoint has begun meanwhile.
    if (this.freshness?.checkpoint() !== checkpoint) return;
    const isSame = known?.size === size && known.start.equals(start);
    const fits = size === expectedSize && usesLog(start);
    const isKnown = this.#isOverwritten || isRecordedAsForeign(this.#log.file);
    const isCheckpoint = checkpoint !== this.#checkpoint && fits && !isKnown;
    const isOwn = !known || isSame || isCheckpoint;
    if (isOwn === this.#isOverwritten) recordOrigin(this.#main.file, isOwn);
    this.#isOverwritten = !isOwn;
    if (!isOwn) return;
    this.#content = { start, size, mtimeMs };
    this.#checkpoint = checkpoint;
  }

  #look(): void {
    this.compareContent();
    // Another process may have noticed it, of which this one sees only a checkpoint.
    this.#isOverwritten ||= isRecordedAsForeign(this.#log.file);
  }

  /** Call it when SQLite has closed the files; throws DatabaseUnusable if a log was not applied. */
  release(): void {
    clearInterval(this.#timer);
    const { file } = this.#main;
    const log = this.#log.file;
    const isOverwritten = this.#isOverwritten;
    if (!isOverwritten) {
      closeSync(this.#descriptor);
      this.freshness?.close();
    }
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
}

function refuseLost({ file, stats }: OpenedFile): void {
  if (!isSameFile(stats, statsOf(file)))
    throw new DatabaseUnavailable(`${file} has been moved, deleted or replaced`);
}

function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one?.ino === other?.ino && one?.dev === other?.dev;
}
