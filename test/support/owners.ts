// Owners of texts, who change them at random on both sides, and what must not be lost.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Random } from './mutations.ts';
import type { Service } from './service.ts';
import { namedNotes, type SyncedFolder, type Texts } from './synced-folder.ts';

const PATHS = ['a.md', 'b.md', 'deep/a.md', 'deep/er/b.md', 'c.txt', 'é.md'];

/** Who has the texts that nobody has replaced or deleted where they lay. */
export class Owners {
  readonly owed = new Set<string>();
  readonly #random: Random;
  readonly #prefix: string;
  readonly #tell: (line: string) => void;
  #made = 0;

  /** The names of all notes begin with `prefix`. */
  constructor(random: Random, prefix: string, tell: (line: string) => void) {
    this.#tell = tell;
    this.#random = random;
    this.#prefix = prefix;
  }

  /** Changes a file in the folder. */
  changeHere(synced: SyncedFolder): void {
    const { pick } = this.#random;
    const files = synced.files();
    const path = pick([...PATHS, ...Object.keys(files)]);
    const old = files[path];
    const kind = pick(['write', 'write', 'rename', 'append', 'delete', 'move', 'blank'] as const);
    this.#tell(`${kind} ${path}: ${JSON.stringify(old)}, next ${this.#made + 1}`);
    if (kind === 'write' || kind === 'rename') {
      const text = this.#make(old);
      if (kind === 'write') synced.write(path, text);
      else replaceByRename(synced, path, text);
    } else if (old === undefined) return;
    else if (kind === 'append') this.#append(old, (more) => appendFileSync(synced.at(path), more));
    else if (kind === 'move') this.#moveHere(synced, files, path);
    else {
      this.owed.delete(old);
      if (kind === 'delete') synced.remove(path);
      else synced.write(path, ' \n');
    }
  }

  #moveHere(synced: SyncedFolder, files: Texts, path: string): void {
    const to = this.#random.pick(PATHS);
    if (to === path) return;
    this.#tell(`to ${to}: ${JSON.stringify(files[to])}`);
    // It may be the same file under two names, and then stays where it is.
    if (files[to] !== files[path]) this.owed.delete(files[to] ?? '');
    mkdirSync(dirname(synced.at(to)), { recursive: true });
    renameSync(synced.at(path), synced.at(to));
  }

  /** Changes a note; `service` may be used by others meanwhile. */
  async changeThere(service: Service): Promise<void> {
    const { pick } = this.#random;
    const notes = await namedNotes(service, this.#prefix);
    const paths = PATHS.map((path) => this.#prefix + path);
    const name = pick([...paths, ...notes.map((each) => each.name)]);
    const note = notes.find((each) => each.name === name);
    const at = `/named/${name.split('/').map(encodeURIComponent).join('/')}`;
    const kind = pick(['write', 'write', 'append', 'delete', 'move'] as const);
    if (!note && kind !== 'write') return;
    const condition = note ? { 'if-match': note.etag } : { 'if-none-match': '*' };
    const change = async (method: string, json?: object) => {
      const { status } = await service.request(method, at, { json, headers: condition });
      assert.ok([200, 201, 204, 404, 409, 412, 422].includes(status), `${method} ${at}: ${status}`);
      this.#tell(`there ${kind} ${name}: ${JSON.stringify(note?.body)}, ${this.#made}: ${status}`);
      return status < 300;
    };
    if (kind === 'write' || kind === 'append') {
      const body = (kind === 'append' ? (note?.body ?? '') : '') + this.#text();
      if (await change('PUT', { title: name, body })) this.#replaced(note?.body, body);
    } else if (kind === 'delete') {
      if (await change('DELETE')) this.owed.delete(note?.body ?? '');
    } else await change('PATCH', { name: this.#prefix + pick(PATHS) });
  }

  /** Releases what only a service had whose notes are gone. */
  keepOnly(texts: Iterable<string>): void {
    const kept = new Set(texts);
    for (const text of this.owed) if (!kept.has(text)) this.owed.delete(text);
    this.#tell(`kept ${JSON.stringify([...this.owed])}`);
  }

  #text(): string {
    this.#made += 1;
    return `text ${this.#made}\n`;
  }

  #make(old: string | undefined): string {
    const text = this.#text();
    this.#replaced(old, text);
    return text;
  }

  #append(old: string, write: (more: string) => void): void {
    const more = this.#text();
    write(more);
    this.#replaced(old, old + more);
  }

  #replaced(old: string | undefined, text: string): void {
    this.owed.delete(old ?? '');
    this.owed.add(text);
  }
}

/** Saves as editors do that write a new file beside the old one. */
function replaceByRename(synced: SyncedFolder, path: string, text: string): void {
  const parts = path.split('/');
  const fresh = [...parts.slice(0, -1), `.${parts.at(-1)}.swp`].join('/');
  synced.write(fresh, text);
  renameSync(synced.at(fresh), synced.at(path));
}
