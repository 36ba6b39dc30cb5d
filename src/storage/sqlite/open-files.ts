// Watches the files of an open database. SQLite would go on writing into a file that has lost its
// name or whose content another program has replaced, and nobody would find these writes again.
import { hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { DatabaseUnavailable, DatabaseUnusable } from '../database.ts';
import { companionsOf } from './files.ts';
import { recordOrigin, removeOrigin, setAside } from './foreign-log.ts';
import type { WalIndex } from './wal-index.ts';

/** The first pages. They contain the last assigned ids, which every write changes. */
const START_BYTES = 65_536;
/**
 * Where the header has a counter that only grows
 * (https://www.sqlite.org/fileformat2.html, 1.3).
 */
const COUNTER_AT = 24;

/** The main file as it was at one moment. */
interface Content {
  readonly size: number;
  readonly writtenMs: number;
  /** The hash of the first pages. */
  readonly start: string;
  readonly counter: number;
}

/** A file, and what identifies it; nothing if there was none. */
interface OpenedFile {
  readonly file: string;
  readonly stats: Stats | undefined;
}

/** The files of one open database: the main file, its log and the index of the log. */
export class OpenFiles {
  readonly #main: OpenedFile;
  readonly #log: OpenedFile;
  readonly #index: OpenedFile;
  readonly #walIndex: WalIndex | undefined;
  /** Stays open as long as SQLite uses the file: closing it would release the locks of SQLite. */
  readonly #descriptor: number;
  #content: Content | undefined;
  /** The last checkpoint: nothing else may write into the file. */
  #checkpoint: number | undefined;
  #isOverwritten = false;

  /** Call it when SQLite has opened the files. Content is compared only with `walIndex`. */
  constructor(path: string, walIndex: WalIndex | undefined) {
    const [log, index] = companionsOf(path);
    this.#main = { file: path, stats: statsOf(path) };
    this.#log = { file: log, stats: statsOf(log) };
    this.#index = { file: index, stats: statsOf(index) };
    this.#walIndex = walIndex;
    this.#descriptor = openSync(path, 'r');
    recordOrigin(path);
    this.compareContent();
  }

  /** Whether another program has written into the main file since it was opened. */
  get isOverwritten(): boolean {
    if (this.#hasChanged(fstatSync(this.#descriptor))) this.compareContent();
    return this.#isOverwritten;
  }

  /** Throws {@link DatabaseUnavailable} if a write could get lost. */
  check(): void {
    const main = refuseLost(this.#main);
    refuseLost(this.#log);
    refuseLost(this.#index);
    if (main && this.#hasChanged(main)) this.compareContent();
    if (this.#isOverwritten)
      throw new DatabaseUnavailable(`${this.#main.file} has been overwritten by another program`);
  }

  /**
   * Notices if another program has written into the main file since the last call. Must be called
   * after each transaction of this process, which may have ended with a checkpoint.
   */
  compareContent(): void {
    const checkpoint = this.#walIndex?.checkpoint();
    if (checkpoint === undefined) return;
    const stats = fstatSync(this.#descriptor);
    if (this.#hasChanged(stats)) this.#compareWith(stats, checkpoint);
    else this.#checkpoint = checkpoint;
  }

  #compareWith(stats: Stats, checkpoint: number): void {
    const known = this.#content;
    const now = this.#readContent(stats);
    // A checkpoint has begun meanwhile.
    if (this.#walIndex?.checkpoint() !== checkpoint) return;
    const isSame = known?.start === now.start && known.size === now.size;
    const isCheckpoint =
      !known || (this.#checkpoint !== checkpoint && known.counter <= now.counter);
    const isOwn = isSame || (isCheckpoint && !this.#isOverwritten);
    if (isOwn) {
      this.#content = now;
      this.#checkpoint = checkpoint;
    }
    if (isOwn !== this.#isOverwritten) return;
    this.#isOverwritten = !isOwn;
    // The process may be killed before it can set the log aside.
    recordOrigin(this.#main.file, !isOwn);
  }

  /**
   * Must be called when SQLite has closed the files; one connection to an overwritten file must
   * stay open. Throws {@link DatabaseUnusable} if the log was not applied to its file; it is kept.
   */
  release(): void {
    const { file } = this.#main;
    const log = this.#log.file;
    const isOverwritten = this.#isOverwritten;
    if (!isOverwritten) closeSync(this.#descriptor);
    const now = statsOf(file);
    const hasLog = this.#log.stats !== undefined && isSameFile(this.#log.stats, statsOf(log));
    if (!hasLog || (!isOverwritten && isSameFile(this.#main.stats, now))) {
      removeOrigin(log);
      return;
    }
    const happened = isOverwritten ? 'overwritten' : now ? 'replaced' : 'moved or deleted';
    // Without any file at the path, its own file may return to the log.
    const kept = now ? setAside(log) : log;
    throw new DatabaseUnusable(
      `${file} was ${happened} while it was in use; its log is kept as ${kept}`,
    );
  }

  #hasChanged({ mtimeMs, size }: Stats): boolean {
    return mtimeMs !== this.#content?.writtenMs || size !== this.#content.size;
  }

  #readContent({ mtimeMs, size }: Stats): Content {
    const bytes = Buffer.alloc(START_BYTES);
    readSync(this.#descriptor, bytes, 0, START_BYTES, 0);
    const counter = bytes.readUInt32BE(COUNTER_AT);
    return { size, writtenMs: mtimeMs, start: hash('sha256', bytes), counter };
  }
}

/** Returns what is at the path of a file. Throws if that is another file, or none. */
function refuseLost({ file, stats }: OpenedFile): Stats | undefined {
  const now = statsOf(file);
  if (isSameFile(stats, now)) return now;
  throw new DatabaseUnavailable(`${file} has been moved, deleted or replaced`);
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
