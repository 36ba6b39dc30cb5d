// Runs bin/notes-server in a process of its own, with arguments, an environment, a folder and
// streams.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Ends, temporaryFolder } from './engine.ts';
import { request } from './http.ts';

/** The launcher of this tree. */
export const LAUNCHER = fileURLToPath(new URL('../../../bin/notes-server', import.meta.url));

/** How long a command may write nothing while a test waits for a text. */
const MAX_SILENCE_MS = 30_000;

/** What a command gets beside its arguments. */
export interface CommandParts {
  readonly env?: Readonly<Record<string, string>>;
  readonly node?: readonly string[];
  /** The folder it starts in; a fresh one by default, because the default of `--db` is relative. */
  readonly folder?: string;
  readonly launcher?: string;
  /** Whether the process reports its coverage, which takes it a while. */
  readonly coverage?: boolean;
  readonly input?: string | Buffer;
  /** Whether the input stays open after that. */
  readonly holdsInput?: boolean;
  /** Whether the output stays unread. */
  readonly holdsOutput?: boolean;
  /** What starts Node, with its arguments. */
  readonly wrapper?: readonly string[];
}

/** How a command ended, and all its output. */
export interface Ending {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command. */
export interface Command {
  readonly process: ChildProcess;
  readonly folder: string;
  readonly ended: Promise<Ending>;
  /** Resolves with the URL of the ready line; rejects if the command ends without one. */
  ready(): Promise<string>;
  /** Resolves once standard error holds `text`; rejects if the command ends or is silent. */
  says(text: string): Promise<void>;
}

/** Starts the command; it is killed at the end of the test at the latest. */
export function startCommand(test: Ends, args: string[], parts: CommandParts = {}): Command {
  // This hook must come before the one that removes the folder.
  test.after(() => end());
  const { env, node = [], folder = temporaryFolder(test), launcher = LAUNCHER, input = '' } = parts;
  // Node hands the variable down unless it is set to something else.
  const coverage = (parts.coverage && process.env.NODE_V8_COVERAGE) || '';
  const { wrapper = [], holdsInput, holdsOutput } = parts;
  const [program = '', ...rest] = [...wrapper, process.execPath, ...node, launcher, ...args];
  const child = spawn(program, rest, {
    cwd: folder,
    env: { ...bareEnvironment(), NODE_V8_COVERAGE: coverage, ...env },
    stdio: 'pipe',
  });
  // The command may end before it has read all of it.
  child.stdin.on('error', () => {}).write(input);
  if (!holdsInput) child.stdin.end();
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
    if (holdsOutput) child.stdout.pause();
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(
    ([status, signal]): Ending => ({ status, signal, stdout, stderr }),
  );

  function end(): Promise<Ending> {
    child.kill('SIGKILL');
    return ended;
  }

  async function holds(what: () => string, text: string): Promise<void> {
    while (!what().includes(text)) {
      const waiting = new AbortController();
      const data = [child.stdout, child.stderr].map((stream) => once(stream, 'data', waiting));
      const silence = delay(MAX_SILENCE_MS, { status: 'silence', signal: '' }, waiting);
      const outcome = await Promise.race([...data, silence, ended]);
      // Otherwise listeners would pile up on a stream that stays silent.
      waiting.abort();
      if ('status' in outcome && !what().includes(text)) {
        const end = outcome.status ?? outcome.signal;
        assert.fail(`${end} instead of "${text}": ${stdout}${stderr}`);
      }
    }
  }

  return {
    process: child,
    folder,
    ended,
    async ready() {
      await holds(() => stdout, '\n');
      const url = /^notes-server listening on (\S+)\n$/.exec(stdout)?.[1];
      assert.ok(url, stdout);
      return url;
    },
    says: (text) => holds(() => stderr, text),
  };
}

/** Runs a command that ends by itself; a service that starts by mistake is killed. */
export function runCommand(test: Ends, args: string[], parts: CommandParts = {}): Promise<Ending> {
  const command = startCommand(test, args, parts);
  command.ready().then(
    () => command.process.kill('SIGKILL'),
    () => {},
  );
  return command.ended;
}

/** Asserts that a command ended with `status` and one line, which matches `reason`. */
export function assertRefused(ending: Ending, status: number, reason: RegExp): void {
  const { stdout, stderr } = ending;
  assert.match(stderr, /^notes-server: [^\n]+\n$/);
  assert.match(stderr, reason);
  assert.deepEqual({ status: ending.status, stdout }, { status, stdout: '' }, stderr);
}

/** Asserts that a launcher starts a complete service: its files, its database and its threads. */
export async function assertServes(test: Ends, launcher: string): Promise<void> {
  const command = startCommand(test, ['--port', '0'], { launcher });
  const url = await command.ready();
  const paths = '/notes /docs /docs/swagger-ui.css /openapi.json /problems/not-found /health';
  for (const path of paths.split(' '))
    assert.equal((await request(url, 'GET', path)).status, 200, path);
  const json = { workers: 2, count: 2 };
  assert.equal((await request(url, 'POST', '/counter/increment', { json })).status, 200);
  assert.equal((await stop(command)).status, 0);
}

/** Stops a command as a supervisor does; resolves with its ending. */
export function stop(
  { process, ended }: Command,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<Ending> {
  process.kill(signal);
  return ended;
}

/** Returns flags of Node to execute a script first. */
export function preload(script: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

function bareEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(NOTES_.*|HOST|PORT|NODE_OPTIONS)$/.test(name),
  );
  return Object.fromEntries(entries);
}
