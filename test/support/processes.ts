// What the tests of several processes need: the command with its processes, and requests that each come over a connection
// of their own, for a connection stays with one process.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { type Command, type CommandParts, startCommand } from './command.ts';

/** A service of several processes. */
export interface Processes extends Command {
  readonly url: string;
  /** The ids of the processes that serve. */
  serving(): number[];
}

/** Starts the command with that many processes. */
export async function startProcesses(
  test: Pick<TestContext, 'after'>,
  count: number,
  args: string[] = [],
  parts: CommandParts = {},
): Promise<Processes> {
  const command = startCommand(test, ['--port', '0', '--processes', String(count), ...args], parts);
  const url = await command.ready();
  const { pid } = command.process;
  const serving = () => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  };
  assert.equal(serving().length, count);
  return { ...command, url, serving };
}

/** Whether there is a process of that id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
