// The process: command line, start, signals and exit status. No other module of src ends it.
import cluster from 'node:cluster';
import { App } from './app.ts';
import { UsageError } from './cli/arguments.ts';
import { type Command, parseCommand } from './cli/command-line.ts';
import { completionScript } from './cli/completion.ts';
import { firstSteps } from './cli/first-steps.ts';
import { helpText } from './cli/help.ts';
import { keySourceOf, type Options, unknownVariables } from './cli/options.ts';
import { backup } from './commands/backup.ts';
import { checkFile } from './commands/check.ts';
import { copy } from './commands/copy.ts';
import { exportLines } from './commands/export.ts';
import { importLines } from './commands/import.ts';
import type { Screen } from './commands/progress.ts';
import { repairFile } from './commands/repair.ts';
import { restore } from './commands/restore.ts';
import { freeSocketPath, socketRemover } from './http/socket-path.ts';
import { LineLog, type Log } from './log/log.ts';
import { escapeControls, prettyLine } from './log/pretty-line.ts';
import { joinSupervisor } from './processes/siblings.ts';
import { Supervisor, type SupervisorOptions } from './processes/supervisor.ts';
import { DatabaseUnusable } from './storage/database.ts';
import { readVersion } from './version.ts';

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** The commands that read no variables, or whose log warns of unknown ones. */
const QUIET: ReadonlySet<string> = new Set(['check', 'completion', 'help', 'serve', 'version']);

/** Incomplete installations and too many open files, which may keep this module from loading. */
const LAUNCHER_EXPLAINS: ReadonlySet<string | undefined> = new Set([
  'ERR_MODULE_NOT_FOUND',
  'EMFILE',
]);

/** The reader of standard output has closed it: the command fails without a message. */
class ReaderGone extends Error {}

/** Runs the command of this process and sets the exit status. A service stops on a signal. */
export async function main(): Promise<void> {
  // A closed output must neither end the process nor print a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    await run(readCommand());
  } catch (error) {
    if (LAUNCHER_EXPLAINS.has((error as NodeJS.ErrnoException).code)) throw error;
    const isUsage = error instanceof UsageError;
    process.exitCode = isUsage ? EXIT_USAGE : EXIT_FAILURE;
    if (error instanceof ReaderGone) return;
    const line = escapeControls(describe(error).replace(/\s*[\r\n]\s*/g, ' '));
    // Clear a progress bar first.
    const clear = process.stderr.isTTY ? '\r\u001b[K' : '';
    process.stderr.write(`${clear}notes-server: ${line}${isUsage ? ' (see --help)' : ''}\n`);
  }
}

/** Parses the command line. Warns of unknown variables, unless the log of the service will. */
function readCommand(): Command {
  let kind: Command['kind'] | undefined;
  try {
    const command = parseCommand(process.argv.slice(2), process.env);
    kind = command.kind;
    return command;
  } finally {
    if (kind === undefined || !QUIET.has(kind)) {
      for (const name of unknownVariables(process.env))
        process.stderr.write(`notes-server: warning: unknown variable ${escapeControls(name)}\n`);
    }
  }
}

async function run(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      return print(helpText(command.command));
    case 'completion':
      return print(completionScript(command.shell));
    case 'version':
      return print(`${readVersion()}\n`);
    case 'check':
      return check(command.file, command.repair);
    case 'copy':
      return printLine(await copy(command.from, command.to, screen()));
    case 'backup':
      return printLine(await backup(command.db, command.file, screen()));
    case 'restore':
      return printLine(await restore(command.file, command.db, command.force, screen()));
    case 'export':
      return printLine(
        await exportLines(command.db, command.file, writeOutput, screen(!command.file)),
      );
    case 'import':
      return printLine(await importLines(command.file, process.stdin, command.db, screen()));
    case 'serve':
      return command.options.processes > 1 && cluster.isWorker
        ? serveAsMember(command.options)
        : serve(command.options);
  }
}

function print(text: string): void {
  process.stdout.write(text);
}

function printLine(line: string | undefined): void {
  if (line !== undefined) print(`${line}\n`);
}

/** Writes to standard output; resolves when it can take more, rejects with ReaderGone if closed. */
function writeOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (!error) resolve();
      else reject((error as NodeJS.ErrnoException).code === 'EPIPE' ? new ReaderGone() : error);
    });
  });
}

async function check(file: string, repair: boolean): Promise<void> {
  const report = (lines: readonly string[]) =>
    print(lines.map((line) => `${file}: ${line}\n`).join(''));
  if (repair) report(await repairFile(file));
  const faults = await checkFile(file);
  report(faults.length === 0 ? ['ok'] : faults);
  if (faults.length > 0) process.exitCode = EXIT_FAILURE;
}

/** Returns where to show progress: nowhere if exported data goes to the same terminal. */
function screen(printsData = false): Screen {
  if (printsData && process.stdout.isTTY) return { isTerminal: false, write() {} };
  return { isTerminal: process.stderr.isTTY, write: (text) => process.stderr.write(text) };
}

async function serve(options: Options): Promise<void> {
  const log = createLog(options);
  const unknown = unknownVariables(process.env);
  if (unknown.length > 0) log.write('warn', 'unknown variables', { variables: unknown });
  const app =
    options.processes > 1 ? new Supervisor(supervisorOptions(options), log) : new App(options, log);
  if (options.socket !== undefined) await freeSocketPath(options.socket);
  const address = await app.listen();
  const removeSocket = options.socket === undefined ? () => {} : socketRemover(options.socket);
  endOnFault(log);
  const stop = (signal: NodeJS.Signals) => {
    // Restores the default: a second signal ends the process at once.
    for (const each of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(each);
    log.write('info', 'stopping', { signal });
    removeSocket();
    endWith(log, app.close());
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  // Without a file of keys, SIGHUP keeps its default: closing the terminal ends the process.
  if (options.apiKeysFile !== undefined) process.on('SIGHUP', () => reloadKeys(app, log));
  print(`notes-server listening on ${address}\n`);
  if (process.stderr.isTTY) process.stderr.write(firstSteps(options, address));
  log.write('info', 'listening', { address, keys: app.keyCount });
}

function supervisorOptions(options: Options): SupervisorOptions {
  const { processes, host, port, socket } = options;
  const args = process.argv.slice(2);
  return { processes, host, port, socket, args, keySource: keySourceOf(options) };
}

/** Serves as one of several processes, under the control of the supervisor. */
function serveAsMember(options: Options): void {
  const log = createLog(options);
  endOnFault(log);
  let app: App | undefined;
  let listening: Promise<unknown> = Promise.resolve();
  const siblings = joinSupervisor(process, {
    listen(port) {
      app = new App({ ...options, port }, log, siblings);
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
  // A terminal sends SIGINT and SIGHUP to all processes, but only the supervisor handles them.
  process.on('SIGINT', () => {});
  if (options.apiKeysFile !== undefined) process.on('SIGHUP', () => {});
}

function createLog({ logLevel, logFormat, processes }: Options): Log {
  const { stderr, pid } = process;
  const always = processes > 1 ? { process: pid } : {};
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && stderr.isTTY);
  if (!isPretty) return new LineLog(logLevel, { always });
  return new LineLog(logLevel, { always, toLine: prettyLine(stderr.isTTY && stderr.hasColors()) });
}

async function reloadKeys(app: Pick<App, 'reloadKeys'>, log: Log): Promise<void> {
  try {
    log.write('info', 'keys reloaded', { keys: await app.reloadKeys() });
  } catch (error) {
    // One line says it all; a stack trace would look like a crash.
    log.write('error', 'the old keys stay', { reason: (error as Error).message });
  }
}

/** Logs an uncaught error and exits, because the state is unknown then. */
function endOnFault(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.write('error', 'uncaught', { error });
    end(log, EXIT_FAILURE);
  });
}

/** Ends the process when `closed` has settled. */
async function endWith(log: Log, closed: Promise<void> | undefined): Promise<void> {
  try {
    await closed;
    end(log, 0);
  } catch (error) {
    log.write('error', 'the stop failed', { error });
    if (error instanceof DatabaseUnusable) process.stderr.write(`notes-server: ${error.message}\n`);
    end(log, EXIT_FAILURE);
  }
}

function end(log: Log, status: number): void {
  log.flush();
  process.exit(status);
}

/** Returns a message about an error, without a stack trace. */
function describe(error: unknown): string {
  if (error instanceof UsageError || error instanceof DatabaseUnusable) return error.message;
  const { code, message, address, port, hostname } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
    hostname?: string;
  };
  // A socket has the port -1.
  const isSocket = port === -1;
  switch (code) {
    case 'EADDRINUSE':
      return `${isSocket ? address : `${address}:${port}`} is in use by another process`;
    case 'EADDRNOTAVAIL':
      return `this machine has no address ${address}`;
    case 'EACCES':
      return isSocket ? `cannot create ${address}` : `port ${port} requires more privileges`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name ${hostname} is unknown`;
    default:
      return String(message);
  }
}
