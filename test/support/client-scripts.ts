// The client scripts that the README shows, and what they do to a service.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Service } from './service.ts';
import { root } from './sources.ts';

/** The scripts, each with the command that runs it and the program that has to be installed. */
export const CLIENTS = [
  { command: 'sh', script: 'notes.sh', needs: 'curl' },
  { command: process.execPath, script: 'notes.mjs', needs: process.execPath },
  { command: 'python3', script: 'notes.py', needs: 'python3' },
] as const;

const TITLES = ['Shopping list 🛒 ✅', 'Third', 'Fourth', 'Fifth'];
const BODY = 'Milk 🥛\nBread "and butter"\nC:\\apples';

/** What a script prints when it has succeeded. */
export const REPORT = `refused: title must not be blank\n4 notes: ${TITLES.join(', ')}; tag errands\n`;

/** Whether the program is on this machine. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** Runs a script to its end; rejects with its output if its exit status is not 0. */
export function runClient({ command, script }: (typeof CLIENTS)[number], { url }: Pick<Service, 'url'>, key = '') {
  const path = fileURLToPath(new URL(`test/service/clients/${script}`, root));
  const env = { ...process.env, NOTES_URL: url, NOTES_KEY: key, NODE_OPTIONS: '' };
  return promisify(execFile)(command, [path], { env, timeout: 60_000 });
}

/** Asserts that the service has the records that a script creates. */
export async function assertStored(
  { request }: Service,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const itemsOf = async (path: string) => (await request('GET', path, { headers })).json.items;
  const notes: { id: number; title: string; body: string }[] = await itemsOf('/notes');
  assert.deepEqual(
    notes.map(({ title, body }) => ({ title, body })),
    TITLES.map((title) => ({ title, body: BODY })),
  );
  assert.deepEqual(await itemsOf('/tags'), [{ id: 1, name: 'errands' }]);
  const note = notes[0]?.id;
  const comment = { id: 1, note_id: note, body: 'Oat milk,\nplease 🙏' };
  assert.deepEqual(await itemsOf(`/notes/${note}/comments`), [comment]);
}
