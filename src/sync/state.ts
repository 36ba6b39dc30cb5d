// What both sides had when they were last in step: lines of JSON, of which the last of a path
// counts. A line that is lost makes this older, and what is older never deletes anything.
import { appendFileSync, lstatSync, readFileSync, renameSync } from 'node:fs';
import { EFFECTS } from './effects.ts';
import type { Described } from './notes.ts';
import { writeSynced } from './places.ts';

/** What is known of a path. */
export interface Base extends Partial<Described> {
  readonly id?: number;
  /** Missing after a creation, until the log of changes tells it. */
  readonly etag?: string;
  /** Of the text that both sides had; missing if only a text was sent. */
  readonly hash?: string;
  /** The size and times of the file, and when it was read. */
  readonly stat?: string;
  readonly at?: number;
  /** If the answer was lost, this text may be that of the service. */
  readonly sent?: Described & { readonly hash: string };
}

/** Which service it is, how far its changes are known, and the ids of notes to look at again. */
interface Head {
  readonly generation?: string;
  /** Which files the changes are known for. */
  readonly extensions?: string;
  readonly cursor?: string;
  readonly again?: readonly number[];
}

/** The state in a file. */
export class State {
  readonly bases = new Map<string, Base>();
  head: Head = {};
  /** Whether there was a file that does not count. */
  isOther = false;
  readonly #file: string;
  readonly #folder: string;
  readonly #isKept: boolean;
  #lines = 0;
  #inode: bigint | undefined;

  /** `folder` says which folder it is, and of what; without `isKept`, nothing is written. */
  constructor(file: string, folder: string, isKept: boolean) {
    this.#file = file;
    this.#folder = folder;
    this.#isKept = isKept;
    this.load();
  }

  /** Reads the file again. A state of another folder counts as none. */
  load(): void {
    this.bases.clear();
    this.head = {};
    this.#lines = 0;
    this.#inode = this.#readInode();
    const text = this.#inode === undefined ? '' : readFileSync(this.#file, 'utf8');
    let isOwn = false;
    for (const line of text.split('\n')) {
      const { folder, head, p: path, ...base } = parseLine(line);
      this.#lines += 1;
      if (folder !== undefined) {
        isOwn = folder === this.#folder;
        this.head = isHead(head) ? head : {};
      } else if (typeof path === 'string' && isBase(base)) this.bases.set(path, base);
      else if (typeof path === 'string') this.bases.delete(path);
    }
    this.isOther = this.#inode !== undefined && !isOwn;
    if (!isOwn) this.forgetAll();
    // A line that was cut must not spoil the next one.
    else if (!text.endsWith('\n')) this.#append([]);
  }

  /** Whether the file is not the one that was read: the folder is another one by now. */
  get isReplaced(): boolean {
    return this.#isKept && this.#readInode() !== this.#inode;
  }

  remember(path: string, base: Base): void {
    this.rememberAll([[path, base]]);
  }

  rememberAll(entries: readonly (readonly [path: string, base: Base])[]): void {
    for (const [path, base] of entries) this.bases.set(path, base);
    if (entries.length > 0) this.#append(entries.map(([p, base]) => ({ p, ...base })));
  }

  /** Completes what was created by the tags that the log tells. */
  confirm(created: ReadonlyMap<number, string>): void {
    if (created.size === 0) return;
    const entries = [...this.bases].flatMap(([path, base]) => {
      const etag = base.etag === undefined && created.get(base.id ?? 0);
      return etag ? [[path, { ...base, etag }] as const] : [];
    });
    this.rememberAll(entries);
  }

  forget(path: string): void {
    if (this.bases.delete(path)) this.#append([{ p: path, gone: 1 }]);
  }

  /** Forgets all: the service or the folder is not the one that it was. */
  forgetAll(): void {
    this.bases.clear();
    this.head = {};
    this.#rewrite();
  }

  /** Keeps the head; rewrites a file with many lines that do not count any more. */
  save(head: Head): void {
    const isOther = JSON.stringify(head) !== JSON.stringify(this.head);
    this.head = head;
    if (this.#lines > 1.2 * this.bases.size + 10) this.#rewrite();
    else if (isOther) this.#append([{ folder: this.#folder, head }]);
  }

  #append(lines: readonly object[]): void {
    if (!this.#isKept) return;
    EFFECTS.before('state', this.#file);
    const texts = lines.map((line) => JSON.stringify(line));
    appendFileSync(this.#file, `${texts.join('\n')}\n`);
    this.#lines += texts.length;
  }

  #rewrite(): void {
    if (!this.#isKept) return;
    const bases = [...this.bases].map(([p, base]) => ({ p, ...base }));
    const lines = [{ folder: this.#folder, head: this.head }, ...bases];
    writeSynced(`${this.#file}.new`, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    EFFECTS.before('state', this.#file);
    renameSync(`${this.#file}.new`, this.#file);
    this.#lines = lines.length;
    this.#inode = this.#readInode();
  }

  #readInode(): bigint | undefined {
    return lstatSync(this.#file, { bigint: true, throwIfNoEntry: false })?.ino;
  }
}

function parseLine(line: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line));
  } catch {
    return {};
  }
}

function isHead(head: unknown): head is Head {
  const { generation = '', cursor = '', again = [] } = Object(head);
  return [generation, cursor].every((each) => typeof each === 'string') && Array.isArray(again);
}

/** Whether a line has what a base has, and does not say that the path is forgotten. */
function isBase(line: object): line is Base {
  const { hash = '', etag = '', tags = [], sent, gone } = line as Base & { gone?: unknown };
  const isList = Array.isArray(tags) && (sent === undefined || Array.isArray(sent?.tags));
  return gone === undefined && isList && typeof hash === 'string' && typeof etag === 'string';
}
