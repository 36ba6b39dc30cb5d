// The process: options, start, signals, exit status. Nothing else ends the process.
import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import { type App, createApp } from './app.ts';
import { type Command, helpText, parseCommand } from './command-line.ts';
import { backup, restore } from './commands/backup.ts';
import { copy } from './commands/copy.ts';
import { exportLines } from './commands/export.ts';
import { importLines } from './commands/import.ts';
import type { Screen } from './commands/progress.ts';
import { prettyLine, visible } from './log/pretty-line.ts';
import { createLog, type Log } from './log.ts';
import { UsageError } from './option-values.ts';
import type { Options } from './options.ts';
import { join } from './processes/siblings.ts';
import { createSupervisor, type SupervisorOptions } from './processes/supervisor.ts';
import { checkFile } from './storage/check.ts';
import { DatabaseUnusable } from './storage/database.ts';

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Who read our output has closed their end, and wants to be told no more. */
class ReaderGone extends Error {}

/**
 * Runs the command as `process` was started: serves until a signal, after one ready line, or does what else was asked for;
 * sets the exit status.
 */
export async function main(): Promise<void> {
  // Who closes their end does not want to be told: no reason to stop, nor for a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    const command = parseCommand(process.argv.slice(2), process.env);
    await run(command);
  } catch (error) {
    // What is not completely installed the launcher tells, with what mends it.
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') throw error;
    const usage = error instanceof UsageError;
    process.exitCode = usage ? EXIT_USAGE : EXIT_FAILURE;
    if (error instanceof ReaderGone) return;
    const line = visible(explain(error).replace(/\s*[\r\n]\s*/g, ' '));
    // A bar may stand in the line of a terminal.
    const away = process.stderr.isTTY ? '\r\u001b[K' : '';
    process.stderr.write(`${away}notes-server: ${line}${usage ? ' (see --help)' : ''}\n`);
  }
}

async function run(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      return say(helpText());
    case 'version':
      return say(`${version()}\n`);
    case 'check':
      return check(command.file);
    case 'copy':
      return tell(await copy(command.from, command.to, screen()));
    case 'backup':
      return tell(await backup(command.db, command.file, screen()));
    case 'restore':
      return tell(await restore(command.file, command.db, command.force, screen()));
    case 'export':
      return tell(await exportLines(command.db, command.file, output, screen(command.file === undefined)));
    case 'import':
      return tell(await importLines(command.file, process.stdin, command.db, screen()));
    case 'serve':
      return command.options.processes > 1 && cluster.isWorker
        ? serveAsMember(command.options)
        : serve(command.options);
  }
}

function say(text: string): void {
  process.stdout.write(text);
}

function tell(line: string | undefined): void {
  if (line !== undefined) say(`${line}\n`);
}

/** Writes to standard output; resolves when it can take more. */
function output(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (!error) resolve();
      else reject((error as NodeJS.ErrnoException).code === 'EPIPE' ? new ReaderGone() : error);
    });
  });
}

async function check(file: string): Promise<void> {
  const faults = await checkFile(file);
  const lines = faults.length === 0 ? ['ok'] : faults;
  process.stdout.write(lines.map((line) => `${file}: ${line}\n`).join(''));
  if (faults.length > 0) process.exitCode = EXIT_FAILURE;
}

/**
 * Where progress is told: standard error, for the result goes to standard output. Nowhere, if that result is `data` that a
 * person reads on the same screen.
 */
function screen(data = false): Screen {
  if (data && process.stdout.isTTY) return { isTerminal: false, write() {} };
  return { isTerminal: process.stderr.isTTY, write: (text) => process.stderr.write(text) };
}

async function serve(options: Options): Promise<void> {
  const log = logOf(options);
  const app = options.processes > 1 ? createSupervisor(supervised(options), log) : createApp(options, log);
  const url = await app.listen();
  endOnFault(log);
  const stop = (signal: NodeJS.Signals) => {
    // A second signal finds its default again, and ends the process at once.
    for (const each of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(each);
    log.write('info', 'stopping', { signal });
    endWith(log, app.close());
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  // Without a file there is nothing to read again, and the end of a terminal ends the process as always.
  if (options.apiKeysFile !== undefined) process.on('SIGHUP', () => reloadKeys(app, log));
  process.stdout.write(`notes-server listening on ${url}\n`);
}

function supervised({ processes, host, port, apiKeys, apiKeysFile }: Options): SupervisorOptions {
  const keySource = apiKeysFile === undefined ? undefined : { texts: apiKeys, file: apiKeysFile };
  return { processes, host, port, args: process.argv.slice(2), keySource };
}

/** Serves as one of several processes, when and as long as the first of them says so. */
function serveAsMember(options: Options): void {
  const log = logOf(options);
  endOnFault(log);
  let app: App | undefined;
  let listening: Promise<unknown> = Promise.resolve();
  const siblings = join(process, {
    listen(port) {
      app = createApp({ ...options, port }, log, siblings);
      const url = app.listen();
      listening = url.catch(() => {});
      return url;
    },
    reloadKeys: async () => app?.reloadKeys() ?? 0,
    close: () => stop(),
  });
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    await listening;
    await endWith(log, app?.close());
  };
  process.on('SIGTERM', stop);
  // What a terminal sends to all processes the first of them passes on as it sees fit.
  process.on('SIGINT', () => {});
  if (options.apiKeysFile !== undefined) process.on('SIGHUP', () => {});
}

function logOf({ logLevel, logFormat, processes }: Options): Log {
  const { stderr, pid } = process;
  const always = processes > 1 ? { process: pid } : {};
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && stderr.isTTY);
  return createLog(
    logLevel,
    isPretty ? { always, toLine: prettyLine(stderr.isTTY && stderr.hasColors()) } : { always },
  );
}

async function reloadKeys(app: App, log: Log): Promise<void> {
  try {
    log.write('info', 'keys reloaded', { keys: await app.reloadKeys() });
  } catch (error) {
    log.write('error', 'the old keys stay', { error });
  }
}

/** A fault that nobody caught leaves the process in an unknown state: tell it, and let the supervisor start anew. */
function endOnFault(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.write('error', 'uncaught', { error });
    end(log, EXIT_FAILURE);
  });
}

/** Ends the process once all is closed. */
async function endWith(log: Log, closed: Promise<void> | undefined): Promise<void> {
  try {
    await closed;
    end(log, 0);
  } catch (error) {
    log.write('error', 'the stop failed', { error });
    end(log, EXIT_FAILURE);
  }
}

function end(log: Log, status: number): void {
  log.flush();
  process.exit(status);
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return version;
}

/** One line for a person: no stack, no line break. */
function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof DatabaseUnusable) return error.message;
  const { code, message, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  switch (code) {
    case 'EADDRINUSE':
      return `${address}:${port} is in use by another process`;
    case 'EADDRNOTAVAIL':
      return `this machine has no address ${address}`;
    case 'EACCES':
      return `port ${port} may not be used without more rights`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name is not known`;
    default:
      return String(message);
  }
}
