// Runs the command on a terminal, which `script` of util-linux makes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { LAUNCHER } from './command.ts';
import { temporaryFolder } from './engine.ts';
import { request } from './http.ts';
import { sendSignal } from './processes.ts';
import { skipLoudly } from './skip.ts';
import { until } from './until.ts';

/** Makes a terminal for a command. */
export const SCRIPT = '/usr/bin/script';
const NOTE = { title: 'a', body: 'b' };

/** Whether there are terminals here; skips the test if not. */
export function hasTerminals(test: TestContext): boolean {
  if (existsSync(SCRIPT)) return true;
  skipLoudly(test, `there is no ${SCRIPT} (of util-linux) to make a terminal`);
  return false;
}

/** Creates a note with the command on a terminal; resolves with what the command writes there. */
export async function onTerminal(
  test: TestContext,
  args: string,
  env: Record<string, string> = {},
): Promise<string> {
  const { PATH = '' } = process.env;
  const line = `exec ${process.execPath} ${LAUNCHER} --port 0 ${args}`;
  const script = spawn(SCRIPT, ['-qfec', line, '/dev/null'], {
    cwd: temporaryFolder(test),
    env: { PATH, TERM: 'xterm-256color', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(script, 'close');
  test.after(() => script.kill('SIGKILL'));
  let text = '';
  script.stdout.setEncoding('utf8').on('data', (more) => {
    text += more;
  });
  // The ready line may go elsewhere; the first steps have the address too.
  const url = () => /(http:\S+?)(?:\/docs)?\r\n/.exec(text)?.[1];
  await until(() => url() !== undefined);
  await request(url() ?? '', 'POST', '/notes', { json: NOTE });
  const children = readFileSync(`/proc/${script.pid}/task/${script.pid}/children`, 'utf8');
  sendSignal(Number(children.split(' ')[0]), 'SIGTERM');
  assert.deepEqual(await ended, [0, null], text);
  return text;
}
