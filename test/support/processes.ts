// Starts the command with one or several processes.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Command, type CommandParts, startCommand } from './command.ts';
import type { Ends } from './engine.ts';
import { request } from './http.ts';
import { until } from './until.ts';

// biome-ignore lint/suspicious/noExplicitAny: the members depend on the message.
type LogLine = any;

/** A service of one or several processes. */
export interface Processes extends Command {
  readonly url: string;
  /** The ids of the processes that answer requests. */
  serving(): number[];
  readonly lines: readonly LogLine[];
  /** Resolves with the next line that `matches`; rejects at the end or after half a minute. */
  nextLine(matches: (line: LogLine) => boolean): Promise<LogLine>;
}

/** Starts the command with `count` processes. */
export async function startProcesses(
  test: Ends,
  count: number,
  args: string[] = [],
  parts: CommandParts = {},
): Promise<Processes> {
  const all = ['--port', '0', '--processes', String(count), ...args];
  const command = startCommand(test, all, parts);
  const { pid = 0 } = command.process;
  const lines: LogLine[] = [];
  let hasEnded = false;
  void command.ended.then(() => {
    hasEnded = true;
  });
  if (command.process.stderr)
    createInterface(command.process.stderr).on('line', (line) => lines.push(parseLine(line, pid)));
  const url = await command.ready();
  const serving = () => {
    if (count === 1) return [pid];
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  };
  assert.equal(serving().length, count);

  async function nextLine(matches: (line: LogLine) => boolean): Promise<LogLine> {
    const start = lines.length;
    const find = () => lines.slice(start).find(matches);
    await until(() => hasEnded || find() !== undefined).catch(() => {});
    return find() ?? assert.fail(`no line ${matches} among ${JSON.stringify(lines.slice(start))}`);
  }

  return { ...command, url, serving, lines, nextLine };
}

/** Parses a line of the log of the process `first` and its children. */
function parseLine(line: string, first: number): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    // If the first process is killed while a child starts, Node prints a trace in the child.
    if (!isAlive(first)) return { text: line };
    throw new Error(`a line of the log is not JSON: ${line}`);
  }
}

/** Sends a signal to one process. The id 0 would mean the tests themselves, with all of CI. */
export function sendSignal(pid: number | undefined, signal: NodeJS.Signals): void {
  assert.ok(pid, `no process to send ${signal} to`);
  process.kill(pid, signal);
}

/** Kills a process with a group of its own, and those that it has started, unless it has ended. */
export function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
}

/** Whether a process of that id runs. It has ended before its parent notices. */
export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** Sends requests over fresh connections until each of `pids` has answered one. */
export async function untilAllAnswered(service: Processes, pids: readonly number[]): Promise<void> {
  const start = service.lines.length;
  await until(async () => {
    await request(service.url, 'GET', '/livez');
    const answered = new Set(service.lines.slice(start).map((line) => line.process));
    return pids.every((pid) => answered.has(pid));
  });
}
