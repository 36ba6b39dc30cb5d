// The client scripts that the guide to testing clients lists, and what they store.
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
].map((client) => ({ ...client, isThere: spawnSync(client.needs, ['--version']).status === 0 }));

const TITLES = ['Shopping list 🛒 ✅', 'Third', 'Fourth', 'Fifth'];
const BODY = 'Milk 🥛\nBread "and butter"\nC:\\apples';

/** What a script prints when it has succeeded. */
export const REPORT = `refused: title must not be blank
notes: ${TITLES.join(', ')}
errands: ${TITLES[0]}
found: ${TITLES[0]}
`;

/** Runs a script to its end; rejects with its output if its exit status is not 0. */
export function runClient(
  { command, script }: (typeof CLIENTS)[number],
  { url }: Pick<Service, 'url'>,
  key = '',
) {
  const path = fileURLToPath(new URL(`test/service/clients/${script}`, root));
  const env = {
    ...process.env,
    NOTES_URL: url,
    NOTES_KEY: key,
    NODE_OPTIONS: '',
    NODE_V8_COVERAGE: '',
  };
  return promisify(execFile)(command, [path], { env, timeout: 60_000 });
}

/** Asserts that the service has the records that a script creates. */
export async function assertStored(
  { request }: Service,
  headers: Readonly<Record<string, string>> = {},
) {
  const itemsOf = async (path: string) => (await request('GET', path, { headers })).json.items;
  const notes: { id: number; title: string; body: string }[] = await itemsOf('/notes');
  assert.deepEqual(
    notes.map(({ title, body }) => ({ title, body })),
    TITLES.map((title) => ({ title, body: BODY })),
  );
  const errands = { id: 1, name: 'errands', notes_count: 1 };
  assert.deepEqual(await itemsOf('/tags?include=notes_count'), [errands]);
  const note = notes[0]?.id;
  const comment = { id: 1, note_id: note, body: 'Oat milk,\nplease 🙏' };
  assert.deepEqual(await itemsOf(`/notes/${note}/comments`), [comment]);
}
