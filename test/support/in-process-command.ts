// Runs a command in the test process, like main.ts, but without its streams and exit status.
import assert from 'node:assert/strict';
import { parseCommand } from '../../src/cli/command-line.ts';

/** What a command gets beside its arguments. */
export interface InProcessParts {
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input, empty by default. */
  readonly input?: string | Buffer | AsyncIterable<Buffer>;
  /** Called with each text of progress. If it throws, the command breaks off at that place. */
  readonly onProgress?: (line: string) => void;
  /** Called with each part of its standard output, which waits for it. */
  readonly onOutput?: (text: string) => Promise<void> | void;
  /** Called with each line for people. */
  readonly onWarning?: (line: string) => void;
  /** Stops the command as a signal does. */
  readonly stop?: AbortSignal;
}

/** What a command wrote. */
export interface CommandOutput {
  /** The line at its end, without a line feed; `export` to standard output has none. */
  readonly line: string | undefined;
  readonly output: string;
  readonly progress: string;
  /** What it wrote for people, a line each. */
  readonly warnings: string;
  readonly status: number;
}

/** Runs `args`, such as `['backup', 'target', '--db', 'file']`; rejects as the command does. */
export async function runInProcess(
  args: readonly string[],
  parts: InProcessParts = {},
): Promise<CommandOutput> {
  const { env = {}, input = '', onProgress = () => {}, onOutput } = parts;
  const { stop = new AbortController().signal, onWarning = () => {} } = parts;
  const command = parseCommand(args, env);
  assert.ok(command.kind === 'run', `${args} cannot run inside the test`);
  let output = '';
  let progress = '';
  let warnings = '';
  const { lines, status = 0 } = await command.run(command.input, {
    input: chunksOf(input),
    async write(text) {
      await onOutput?.(text);
      output += text;
    },
    show(text) {
      progress += text;
      onProgress(text);
    },
    say(line) {
      output += `${line}\n`;
    },
    warn(line) {
      warnings += `${line}\n`;
      onWarning(line);
    },
    stopOnSignal: () => stop,
  });
  return { line: lines.at(-1), output, progress, warnings, status };
}

/** Returns the export of the database at `db`. */
export async function exported(db: string): Promise<string> {
  return (await runInProcess(['export', '--db', db])).output;
}

/** Throws an error at `part` of the progress; the command breaks off there. */
export function breakAt(part: string): (text: string) => void {
  return (text) => {
    if (text.includes(part)) throw new Error('broken off');
  };
}

async function* chunksOf(input: string | Buffer | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (typeof input === 'string' || Buffer.isBuffer(input)) yield Buffer.from(input);
  else yield* input;
}
