// A folder, a service, and the command that keeps them in step, run inside the test's process.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EFFECTS, type Effect, SYNC_TIMES } from '../../src/sync/effects.ts';
import { type Ends, temporaryFolder } from './engine.ts';
import { type CommandOutput, runInProcess } from './in-process-command.ts';
import { type Overrides, type Service, startService } from './service.ts';

// Tests do not wait for editors.
Object.assign(SYNC_TIMES, { missing: 5, second: 1, retry: 1, collect: 1, aside: 0 });

/** The names and bodies of notes, or the paths and texts of files. */
export type Texts = Readonly<Record<string, string>>;

/** A folder that is kept in step with the notes of a service whose names begin with a prefix. */
export interface SyncedFolder {
  readonly folder: string;
  readonly service: Service;
  readonly prefix: string;
  /** Returns the folder with another service. */
  with(service: Service): SyncedFolder;
  at(path: string): string;
  write(path: string, text: string | Buffer): void;
  remove(path: string): void;
  read(path: string): string;
  /** Returns the files outside `.notes-sync`. */
  files(): Texts;
  /** Resolves with the notes, by their paths. */
  notes(): Promise<Texts>;
  /** Resolves with the note of a path, with its tags. */
  note(path: string): Promise<{ id: number; title: string; body: string; tags: string[] }>;
  /** Replaces or creates the note of a path. */
  put(path: string, body: string): Promise<void>;
  /** Changes members of the note of a path. */
  patch(path: string, members: object): Promise<void>;
  /** Gives the note of a path another one. */
  rename(path: string, to: string): Promise<void>;
  /** Deletes the note of a path. */
  erase(path: string): Promise<void>;
  /** Runs the command; resolves with its lines, but for the time that it took. */
  sync(...args: string[]): Promise<Synced>;
}

export interface Synced extends Pick<CommandOutput, 'warnings' | 'status' | 'progress'> {
  readonly lines: readonly string[];
}

/** Starts a service, and returns it with an empty folder. */
export async function startSynced(test: Ends, overrides: Overrides = {}): Promise<SyncedFolder> {
  return folderOf(test, await startService(test, overrides));
}

/** Starts a service for a whole file; returns what gives a test a folder and notes of its own. */
export async function shareService(file: Ends): Promise<(test: Ends) => SyncedFolder> {
  const service = await startService(file);
  let count = 0;
  return (test) => {
    count += 1;
    return folderOf(test, service, `${count}/`);
  };
}

/** Returns a new folder for the notes of a service whose names begin with `prefix`. */
export function folderOf(test: Ends, service: Service, prefix = ''): SyncedFolder {
  return joinSides(temporaryFolder(test), service, prefix);
}

function joinSides(folder: string, service: Service, prefix: string): SyncedFolder {
  const at = (path: string) => join(folder, path);
  const pathOf = (path: string) =>
    `/named/${`${prefix}${path}`.split('/').map(encodeURIComponent).join('/')}`;
  const change = async (method: string, path: string, json?: object) => {
    const { status } = await service.request(method, pathOf(path), { json });
    assert.ok(status < 300, `${method} ${path}: ${status}`);
  };
  return {
    folder,
    service,
    prefix,
    with: (other) => joinSides(folder, other, prefix),
    at,
    write(path, text) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), text);
    },
    remove: (path) => rmSync(at(path)),
    read: (path) => readFileSync(at(path), 'utf8'),
    files() {
      const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
      const texts = entries.flatMap((entry) => {
        const path = join(entry.parentPath, entry.name);
        const name = path.slice(folder.length + 1);
        if (!entry.isFile() || name.startsWith('.notes-sync')) return [];
        try {
          return [[name, readFileSync(path, 'utf8')]];
        } catch {
          // A run has removed it meanwhile.
          return [];
        }
      });
      return Object.fromEntries(texts.sort());
    },
    async notes() {
      const notes = await namedNotes(service, prefix);
      return Object.fromEntries(notes.map(({ name, body }) => [name.slice(prefix.length), body]));
    },
    async note(path) {
      return (await service.request('GET', `${pathOf(path)}?include=tags`)).json;
    },
    put: (path, body) => change('PUT', path, { title: path, body }),
    patch: (path, members) => change('PATCH', path, members),
    rename: (path, to) => change('PATCH', path, { name: `${prefix}${to}` }),
    erase: (path) => change('DELETE', path),
    async sync(...args) {
      const own = prefix === '' ? [] : ['--folder', prefix];
      const ran = await runInProcess(['sync', folder, service.url, ...own, ...args]);
      const lines = ran.output.split('\n').filter((line) => line !== '');
      return { ...ran, lines: lines.map((line) => line.replace(/; \d+ ms\)$/, ')')) };
    },
  };
}

/** Asserts that both sides have these texts, and that a further run does nothing. */
export async function assertInStep(synced: SyncedFolder, texts: Texts): Promise<void> {
  assert.deepEqual(synced.files(), texts);
  assert.deepEqual(await synced.notes(), texts);
  const { lines, warnings, status, progress } = await synced.sync();
  const silence = { lines: [], warnings: '', status: 0, progress: '' };
  assert.deepEqual({ lines, warnings, status, progress }, silence);
}

/** Runs with `happen` before each effect; if it throws, the run breaks off there. */
export async function syncWith(
  synced: SyncedFolder,
  happen: (effect: Effect, what: string) => void,
): Promise<Synced> {
  const { before } = EFFECTS;
  EFFECTS.before = happen;
  return synced.sync().finally(() => {
    EFFECTS.before = before;
  });
}

/** Runs until an effect for which `isThere`, as if it was killed there; whether it came. */
export async function syncUntil(
  synced: SyncedFolder,
  isThere: (effect: Effect, what: string) => boolean,
): Promise<boolean> {
  let isOver = false;
  await syncWith(synced, (effect, what) => {
    isOver ||= isThere(effect, what);
    if (isOver) throw new Error('killed');
  });
  return isOver;
}

/** A note as it is in a service. */
export interface Note {
  readonly name: string;
  readonly body: string;
  readonly etag: string;
}

/** Resolves with the notes whose names begin with `prefix`, which is empty or ends with a slash. */
export async function namedNotes(service: Service, prefix = ''): Promise<readonly Note[]> {
  const named = prefix ? `folder=${encodeURIComponent(prefix.slice(0, -1))}` : 'named=true';
  const path = `/notes?${named}&order=name&limit=100&include=name,etag`;
  return (await service.request('GET', path)).json.items;
}
