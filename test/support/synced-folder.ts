// A folder, a service, and the command that keeps them in step, run inside the test's process.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { type Ends, temporaryFolder } from './engine.ts';
import { type CommandOutput, runInProcess } from './in-process-command.ts';
import { type Overrides, type Service, startService } from './service.ts';

// Tests do not wait for editors.
Object.assign(SYNC_TIMES, { missing: 5, second: 1, retry: 1, collect: 1 });

/** The names and bodies of notes, or the paths and texts of files. */
export type Texts = Readonly<Record<string, string>>;

/** A folder that is kept in step with a service. */
export interface SyncedFolder {
  readonly folder: string;
  readonly service: Service;
  at(path: string): string;
  write(path: string, text: string | Buffer): void;
  remove(path: string): void;
  read(path: string): string;
  /** Returns the files outside `.notes-sync`. */
  files(): Texts;
  /** Resolves with the notes that have a name. */
  notes(): Promise<Texts>;
  /** Resolves with the note of a name: its id, title and tags. */
  note(name: string): Promise<{ id: number; title: string; tags: string[] }>;
  /** Replaces or creates the note at a name. */
  put(name: string, body: string): Promise<void>;
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

/** Returns a new folder for a service. */
export function folderOf(test: Ends, service: Service): SyncedFolder {
  const folder = temporaryFolder(test);
  const at = (path: string) => join(folder, path);
  const pathOf = (name: string) => `/named/${name.split('/').map(encodeURIComponent).join('/')}`;
  return {
    folder,
    service,
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
      const path = '/notes?named=true&order=name&limit=100&include=name';
      const { items } = (await service.request('GET', path)).json;
      return Object.fromEntries(
        items.map(({ name, body }: { name: string; body: string }) => [name, body]),
      );
    },
    async note(name) {
      return (await service.request('GET', `${pathOf(name)}?include=tags`)).json;
    },
    async put(name, body) {
      await service.request('PUT', pathOf(name), { json: { title: name, body } });
    },
    async sync(...args) {
      const ran = await runInProcess(['sync', folder, service.url, ...args]);
      const lines = ran.output.split('\n').filter((line) => line !== '');
      return { ...ran, lines: lines.map((line) => line.replace(/; \d+ ms\)$/, ')')) };
    },
  };
}
