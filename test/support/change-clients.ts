// The clients that the guide to following changes shows, each in a folder of its own.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './engine.ts';
import { killGroup } from './processes.ts';
import type { Service } from './service.ts';
import { root } from './sources.ts';
import { until } from './until.ts';

/** The scripts, each with the command that runs it and the programs that have to be installed. */
export const CLIENTS = [
  { command: 'sh', script: 'changes.sh', needs: ['curl', 'jq'] },
  { command: process.execPath, script: 'changes.mjs', needs: [process.execPath] },
  { command: 'python3', script: 'changes.py', needs: ['python3'] },
].map((client) => ({
  ...client,
  missing: client.needs.filter((program) => spawnSync(program, ['--version']).status !== 0),
}));

/** What a client prints when it has no cursor, before it follows the changes. */
export const START = 'Here, read all records.';

export const NOTE = { json: { title: 'a', body: 'b' } };

/** A running client. */
export interface Client {
  readonly process: ChildProcess;
  lines(): string[];
  errors(): string;
  kill(): void;
}

/** A folder in which clients run and keep their cursor. */
export interface Place {
  readonly folder: string;
  start({ url }: Pick<Service, 'url'>, key?: string): Client;
}

/** Returns a new place for clients, which are killed at the end of the test. */
export function clientFolder(t: TestContext, { command, script }: (typeof CLIENTS)[number]): Place {
  const path = fileURLToPath(new URL(`test/service/clients/${script}`, root));
  const clients: Client[] = [];
  // This hook must come before the one that removes the folder.
  t.after(() => {
    for (const { kill } of clients) kill();
  });
  const folder = temporaryFolder(t);
  return {
    folder,
    start({ url }, key = '') {
      const env = { NOTES_URL: url, NOTES_KEY: key, NODE_OPTIONS: '', NODE_V8_COVERAGE: '' };
      // Of a file, nothing is lost when the client is killed.
      const [output = '', errors = ''] = ['output', 'errors'].map((name) =>
        join(folder, `${name}-${clients.length}`),
      );
      const files = [openSync(output, 'w'), openSync(errors, 'w')] as const;
      const child = spawn(command, [path], {
        cwd: folder,
        detached: true,
        env: { ...process.env, ...env },
        stdio: ['ignore', ...files],
      });
      for (const file of files) closeSync(file);
      const client: Client = {
        process: child,
        lines: () => readFileSync(output, 'utf8').split('\n').slice(0, -1),
        errors: () => readFileSync(errors, 'utf8'),
        kill: () => killGroup(child),
      };
      clients.push(client);
      return client;
    },
  };
}

/** Creates `count` notes, one after another. */
export async function create({ request }: Service, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1)
    assert.equal((await request('POST', '/notes', NOTE)).status, 201);
}

/** Returns the ids of the notes whose creation a client has printed. */
export function seenBy(client: Client): number[] {
  const changes = client.lines().filter((line) => line !== START);
  return changes.map((line) => {
    const { type, note_id: id } = JSON.parse(line);
    assert.equal(type, 'note.created');
    return id;
  });
}

/** Resolves when a client has seen this note. */
export function untilSeen(client: Client, id: number): Promise<void> {
  return until(() => seenBy(client).at(-1) === id);
}
