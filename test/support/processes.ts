// What the tests of several processes need: the command with its processes, and requests that each come over a connection
// of their own, for a connection stays with one process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
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

/** An answer to a request over a connection of its own. */
export interface FreshAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Sends a request over a connection of its own. */
export async function askAfresh(
  url: string,
  method: string,
  path: string,
  { json, headers = {} }: { json?: unknown; headers?: Record<string, string> } = {},
): Promise<FreshAnswer> {
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  const sent = request(`${url}${path}`, { agent: false, method, headers: { ...type, ...headers } });
  sent.end(json === undefined ? undefined : JSON.stringify(json));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
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
