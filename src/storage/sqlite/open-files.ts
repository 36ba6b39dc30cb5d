// Watches the files of an open database. SQLite would go on writing into a file that has lost its
// name or whose content another program has replaced, and nobody would find these writes again.
import { hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { DatabaseUnavailable, DatabaseUnusable } from '../database.ts';
import { companionsOf, identityOf } from './files.ts';
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
  /** The last checkpoint: nothing else may write into the file. */
  readonly checkpoint: string;
}

/** The files of one open database: the main file, its log and the index of the log. */
export class OpenFiles {
  readonly #path: string;
  readonly #opened: readonly { readonly file: string; readonly identity: string | undefined }[];
  readonly #walIndex: WalIndex | undefined;
  /** Stays open as long as SQLite uses the file: closing it would release the locks of SQLite. */
  readonly #main: number;
  #content: Content | undefined;
  #isOverwritten = false;

  /** Call it when SQLite has opened the files. Content is compared only with `walIndex`. */
  constructor(path: string, walIndex: WalIndex | undefined) {
    this.#path = path;
    this.#opened = [path, ...companionsOf(path)].map((file) => ({
      file,
      identity: identityOf(file),
    }));
    this.#walIndex = walIndex;
    this.#main = openSync(path, 'r');
    recordOrigin(path);
    this.compareContent();
  }

  /** Whether another program has written into the main file since it was opened. */
  get isOverwritten(): boolean {
    if (this.#hasChanged(fstatSync(this.#main))) this.compareContent();
    return this.#isOverwritten;
  }

  /** Throws {@link DatabaseUnavailable} if a write could get lost. */
  check(): void {
    for (const { file, identity } of this.#opened) {
      if (identityOf(file) !== identity)
        throw new DatabaseUnavailable(`${file} has been moved, deleted or replaced`);
    }
    if (this.isOverwritten)
      throw new DatabaseUnavailable(`${this.#path} has been overwritten by another program`);
  }

  /**
   * Notices if another program has written into the main file since the last call. Must be called
   * after each transaction of this process, which may have ended with a checkpoint.
   */
  compareContent(): void {
    const known = this.#content;
    const now = this.#readContent();
    if (now === undefined) return;
    const isSame = known?.start === now.start && known.size === now.size;
    const isCheckpoint =
      !known || (known.checkpoint !== now.checkpoint && known.counter <= now.counter);
    const isOwn = isSame || (isCheckpoint && !this.#isOverwritten);
    if (isOwn) this.#content = now;
    if (isOwn !== this.#isOverwritten) return;
    this.#isOverwritten = !isOwn;
    // The process may be killed before it can set the log aside.
    recordOrigin(this.#path, !isOwn);
  }

  /**
   * Must be called when SQLite has closed the files; one connection to an overwritten file must
   * stay open. Throws {@link DatabaseUnusable} if the log was not applied to its file; it is kept.
   */
  release(): void {
    const [main, log] = this.#opened;
    const isOverwritten = this.#isOverwritten;
    if (!isOverwritten) closeSync(this.#main);
    if (!main || !log) return;
    const now = identityOf(main.file);
    const hasLog = log.identity !== undefined && identityOf(log.file) === log.identity;
    if (!hasLog || (now === main.identity && !isOverwritten)) {
      removeOrigin(log.file);
      return;
    }
    const happened = isOverwritten ? 'overwritten' : now ? 'replaced' : 'moved or deleted';
    // Without any file at the path, its own file may return to the log.
    const kept = now ? setAside(log.file) : log.file;
    throw new DatabaseUnusable(
      `${main.file} was ${happened} while it was in use; its log is kept as ${kept}`,
    );
  }

  /** Returns the content, undefined while a checkpoint may be writing it. */
  #readContent(): Content | undefined {
    const checkpoint = this.#walIndex?.checkpoint();
    if (checkpoint === undefined) return undefined;
    const stats = fstatSync(this.#main);
    const known = this.#content;
    if (known && !this.#hasChanged(stats)) return { ...known, checkpoint };
    const bytes = Buffer.alloc(START_BYTES);
    readSync(this.#main, bytes, 0, START_BYTES, 0);
    if (this.#walIndex?.checkpoint() !== checkpoint) return undefined;
    const [start, counter] = [hash('sha256', bytes), bytes.readUInt32BE(COUNTER_AT)];
    return { size: stats.size, writtenMs: stats.mtimeMs, start, counter, checkpoint };
  }

  #hasChanged({ mtimeMs, size }: Stats): boolean {
    return mtimeMs !== this.#content?.writtenMs || size !== this.#content.size;
  }
}
