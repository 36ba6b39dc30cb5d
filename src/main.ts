// The process: command line, start, signals and exit status. No other module of src ends it.
import cluster from 'node:cluster';
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { App } from './app.ts';
import { UsageError } from './cli/arguments.ts';
import { type Command, parseCommand } from './cli/command-line.ts';
import { firstSteps } from './cli/first-steps.ts';
import { type Options, unknownVariables } from './cli/options.ts';
import { prepareSocketPath } from './cli/socket-path.ts';
import { removeUnfinished } from './commands/whole-file.ts';
import { isReadByOthers } from './guards/key-file.ts';
import { jsonLine, LineLog, type Log } from './log/log.ts';
import { escapeControls, prettyLine } from './log/pretty-line.ts';
import { DatabaseUnusable } from './storage/database.ts';
import { describeVersion } from './version.ts';

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** How long a stop waits for a start that goes on. */
const MAX_START_MS = 5_000;

/** Incomplete installations and too many open files, which may keep a module from loading. */
const LAUNCHER_EXPLAINS = /MODULE_NOT_FOUND$|^ERR_DLOPEN_FAILED$|^EMFILE$/;

/** Runs the command of this process and sets the exit status. A service stops on a signal. */
export async function main(): Promise<void> {
  // A closed output must neither end the process nor print a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    await run(readCommand());
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (LAUNCHER_EXPLAINS.test(code)) throw error;
    const isUsage = error instanceof UsageError;
    process.exitCode = isUsage ? EXIT_USAGE : EXIT_FAILURE;
    // The reader of standard output has closed it.
    if (code === 'EPIPE') return;
    const hint = code === 'EADDRINUSE' && /:\d+$/.test(message) ? ': choose another --port' : '';
    const line = escapeControls(`${message}${hint}`.replace(/\s*[\r\n]\s*/g, ' '));
    // Clear the line of progress first.
    const clear = process.stderr.isTTY ? '\r\u001b[K' : '';
    process.stderr.write(`${clear}notes-server: ${line}${isUsage ? ' (see --help)' : ''}\n`);
  }
}

/** Parses the command line. Warns of unknown variables, unless the log of the service will. */
function readCommand(): Command {
  let isService = false;
  try {
    const command = parseCommand(process.argv.slice(2), process.env);
    isService = command.kind === 'serve';
    return command;
  } finally {
    for (const name of isService ? [] : unknownVariables(process.env, false))
      process.stderr.write(`notes-server: warning: unknown variable ${escapeControls(name)}\n`);
  }
}

async function run(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help': {
      const { helpText } = await import('./cli/help.ts');
      return writeOutput(helpText(command.name));
    }
    case 'version':
      return writeOutput(`${describeVersion()}\n`);
    case 'run': {
      handle(endAtOnce, 'SIGTERM', 'SIGINT', 'SIGHUP');
      const streams = { input: process.stdin, write: writeOutput, show: showProgress };
      const { lines, status = 0 } = await command.run(command.input, {
        ...streams,
        say: (line) => void process.stdout.write(`${escapeControls(line)}\n`),
        warn: (line) => void process.stderr.write(`${escapeControls(line)}\n`),
        stopOnSignal,
      });
      // A database can have names of any characters.
      for (const line of lines)
        if (line !== undefined) await writeOutput(`${escapeControls(line)}\n`);
      process.exitCode = status;
      return;
    }
    case 'serve': {
      const { options } = command;
      const isMember = options.processes > 1 && cluster.isWorker;
      return isMember ? serveAsMember(options) : serve(options);
    }
  }
}

function writeOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function stopOnSignal(): AbortSignal {
  const stopping = new AbortController();
  handle(
    () => {
      // A second signal ends the process at once.
      handle(endAtOnce, 'SIGTERM', 'SIGINT', 'SIGHUP');
      stopping.abort(new Error('stopped'));
    },
    ...(['SIGTERM', 'SIGINT', 'SIGHUP'] as const),
  );
  return stopping.signal;
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(text);
}

async function serve(options: Options): Promise<void> {
  const log = createLog(options);
  const unknown = unknownVariables(process.env);
  if (unknown.length > 0) log.write('warn', 'unknown variables', { variables: unknown });
  const stopping = new AbortController();
  const starting = start(options, log, stopping.signal);
  handleHangups(options.apiKeysFile, log, starting);
  const stop = (signal: NodeJS.Signals) => {
    // A second signal ends the process at once.
    handle(endAtOnce, 'SIGTERM', 'SIGINT');
    stopping.abort();
    log.write('info', 'stopping', { signal });
    const started = Promise.race([starting.catch(() => {}), delay(MAX_START_MS)]);
    const closed = started.then((app) => app?.close());
    void endWith(log, closed);
  };
  handle(stop, 'SIGTERM', 'SIGINT');
  const app = await starting.catch((error) => {
    if (!stopping.signal.aborted) throw error;
  });
  if (!app || stopping.signal.aborted) return;
  endOnFault(log);
  if (options.apiKeysFile !== undefined) await warnOfReaders(options.apiKeysFile, log);
  const { address } = app;
  process.stdout.write(`notes-server listening on ${address}\n`);
  if (process.stderr.isTTY && options.socket === undefined)
    process.stderr.write(firstSteps(options, address));
  log.write('info', 'listening', { address, keys: app.keyCount });
}

/** Makes `listener` the only one of these signals: the launcher's is for the time before. */
function handle(listener: NodeJS.SignalsListener, ...signals: NodeJS.Signals[]): void {
  for (const signal of signals) {
    const earlier = process.listeners(signal);
    // First, because a signal on its way gets lost once nobody listens.
    process.on(signal, listener);
    for (const each of earlier) process.off(signal, each);
  }
}

/** Ends the process as the default of a signal does, except for what is unfinished. */
function endAtOnce(signal: NodeJS.Signals): void {
  removeUnfinished();
  process.removeAllListeners(signal).kill(process.pid, signal);
  // In process 1, the default has no effect.
  process.exit(128 + constants.signals[signal]);
}

async function start(options: Options, log: Log, stopping: AbortSignal) {
  // First, because the installation may be incomplete.
  const launch =
    options.processes > 1 ? await importSupervisor() : (await import('./app.ts')).startApp;
  const { isInUse } = await import('./commands/existing.ts');
  if (options.db.kind === 'file' && (await isInUse(options.db.name)))
    log.write('warn', 'another process uses the database', { file: options.db.name });
  if (options.socket !== undefined) await prepareSocketPath(options.socket);
  stopping.throwIfAborted();
  return launch(options, log);
}

/** On SIGHUP, stops if a terminal of the process has closed; otherwise reloads after the start. */
function handleHangups(file: string | undefined, log: Log, starting: ReturnType<typeof start>) {
  const terminals = [0, 1, 2].filter(isatty);
  process.on('SIGHUP', function handle() {
    if (!terminals.every(isatty)) {
      // The system and the shell may both send it, but a second SIGTERM ends the process at once.
      process.off('SIGHUP', handle).kill(process.pid, 'SIGTERM');
    } else if (file === undefined) log.write('warn', 'there is no file of keys to reload');
    else starting.then((app) => reloadKeys(app, file, log)).catch(() => {});
  });
}

async function importSupervisor() {
  const { startSupervisor } = await import('./processes/feature.ts');
  const { combinedMetrics } = await import('./metrics/feature.ts');
  return (options: Options, log: Log) => startSupervisor(options, log, combinedMetrics);
}

async function serveAsMember(options: Options): Promise<void> {
  const log = createLog(options);
  endOnFault(log);
  const { startApp } = await import('./app.ts');
  const { joinSupervisor } = await import('./processes/feature.ts');
  let starting: Promise<App> | undefined;
  const siblings = joinSupervisor(process, {
    async listen({ port, keys }) {
      starting = startApp({ ...options, port }, log, { ...siblings, keys });
      return (await starting).address;
    },
    reloadKeys: async (keys) => (await starting)?.reloadKeys(keys) ?? 0,
  });
  let closed: Promise<void> | undefined;
  handle(() => {
    // If the start has failed, it has already closed everything.
    closed ??= starting?.then(
      (app) => app.close(),
      () => {},
    );
    void endWith(log, closed);
  }, 'SIGTERM');
  // A terminal sends SIGINT to all processes, but only the supervisor handles it. For SIGHUP, the
  // launcher does the same.
  handle(() => {}, 'SIGINT');
}

function createLog({ logLevel, logFormat, processes }: Options): Log {
  const { stderr, pid } = process;
  const always = processes > 1 ? { process: pid } : {};
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && stderr.isTTY);
  return new LineLog(logLevel, { always, toLine: isPretty ? prettyLine : jsonLine });
}

async function reloadKeys(app: Pick<App, 'reloadKeys'>, file: string, log: Log): Promise<void> {
  try {
    const keys = await app.reloadKeys();
    await warnOfReaders(file, log);
    log.write('info', 'keys reloaded', { keys });
  } catch (error) {
    // One line says it all; a stack trace would look like a crash.
    log.write('error', 'the old keys stay', { reason: (error as Error).message });
  }
}

async function warnOfReaders(file: string, log: Log): Promise<void> {
  if (await isReadByOthers(file)) log.write('warn', 'other users can read the keys', { file });
}

/** After an uncaught error, the state is unknown. */
function endOnFault(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.write('error', 'uncaught', { error });
    end(log, EXIT_FAILURE);
  });
}

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
  // Node would try to reset a terminal that has closed, and crash.
  for (const descriptor of [0, 1, 2]) if (!isatty(descriptor)) closeSync(descriptor);
  process.exit(status);
}
