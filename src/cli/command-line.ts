// Parses the command line into a command. The table below declares the sub-commands, options.ts the
// options of the service.

import type { ParseArgsConfig } from 'node:util';
import { RESOURCE_NAMES } from '../resources/resources.ts';
import type { Location } from '../storage/location.ts';
import type { StorageOptions } from '../storage/open.ts';
import { type Flags, parseDatabase, parseFlags, UsageError } from './option-values.ts';
import {
  databaseNamed,
  type Options,
  optionsHelp,
  parseOptions,
  passwordSource,
} from './options.ts';

/** A line of --help. */
type Row = readonly [left: string, right: string];

const TEXT = { type: 'string' } as const;

/** The files of a backup or restore. */
interface Files {
  readonly db: string;
  readonly file: string;
}

/** A parsed command line. */
export type Command =
  | { readonly kind: 'serve'; readonly options: Options }
  | { readonly kind: 'check'; readonly file: string }
  | { readonly kind: 'copy'; readonly from: StorageOptions; readonly to: StorageOptions }
  | ({ readonly kind: 'backup' } & Files)
  | ({ readonly kind: 'restore'; readonly force: boolean } & Files)
  /** Without a file, standard output or input is used. */
  | { readonly kind: 'export' | 'import'; readonly db: StorageOptions; readonly file?: string }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

/** A sub-command. `usage` lists its arguments, `help` describes it in one line of --help. */
interface SubCommand {
  readonly name: string;
  readonly usage: string;
  readonly help: string;
  /** Beside --help and --version. */
  readonly flags: ParseArgsConfig['options'];
  readonly parse: (
    words: readonly string[],
    flags: Flags,
    environment: NodeJS.ProcessEnv,
  ) => Command;
}

const SUB_COMMANDS: readonly SubCommand[] = [
  {
    name: 'check',
    usage: 'FILE',
    help: 'check a database for damage without changing it; a service may be using it',
    flags: {},
    parse: parseCheck,
  },
  {
    name: 'backup',
    usage: 'TARGET [--db FILE]',
    help: 'copy a database to another file; a service may be using it',
    flags: { db: TEXT },
    parse: (...input) => parseBackup('backup', ...input),
  },
  {
    name: 'restore',
    usage: 'BACKUP [--db FILE] [--force]',
    help: 'create a database from a backup; --force replaces an existing one, which is kept',
    flags: { db: TEXT, force: { type: 'boolean' } },
    parse: (...input) => parseBackup('restore', ...input),
  },
  {
    name: 'export',
    usage: '[FILE] [--db DB] [--db-password-file FILE]',
    help: 'write all data as JSON lines; without FILE, or with -, to standard output',
    flags: { db: TEXT, 'db-password-file': TEXT },
    parse: (...input) => parseExport('export', ...input),
  },
  {
    name: 'import',
    usage: '[FILE] [--db DB] [--db-password-file FILE]',
    help: 'read exported JSON lines; without FILE, or with -, from standard input',
    flags: { db: TEXT, 'db-password-file': TEXT },
    parse: (...input) => parseExport('import', ...input),
  },
  {
    name: 'copy',
    usage: '--from DB --to DB [--db-password-file FILE]',
    help: 'copy a database into an empty one and compare; continues an interrupted copy',
    flags: { from: TEXT, to: TEXT, 'db-password-file': TEXT },
    parse: parseCopy,
  },
];

/** Parses the arguments (without node and script) and the environment. Throws UsageError. */
export function parseCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const [first, ...others] = args;
  const command = SUB_COMMANDS.find(({ name }) => name === first);
  if (!command) return parseService(args, environment);
  const { flags, words } = parseFlags(others, command.flags, true);
  if (flags.help) return { kind: 'help' };
  if (flags.version) return { kind: 'version' };
  return command.parse(words, flags, environment);
}

/** Returns the text of --help. */
export function helpText(): string {
  const usages = SUB_COMMANDS.map(({ name, usage }) => `       notes-server ${name} ${usage}`);
  const commands = SUB_COMMANDS.map(({ name, help }): Row => [name, help]);
  const options: Row[] = [
    ...optionsHelp(),
    ['--help', 'print this and exit'],
    ['--version', 'print the version and exit'],
  ];
  return `Usage: notes-server [options]
${usages.join('\n')}

Keeps ${RESOURCE_NAMES} in SQLite and serves them as JSON over HTTP.

Commands:
${formatRows(commands)}

Options:
${formatRows(options)}

Each option can also be set in the environment: --body-limit as NOTES_BODY_LIMIT and so on; several values are
separated by commas. PORT and HOST count where NOTES_PORT and NOTES_HOST are not set. Keys can be given in
NOTES_API_KEYS as well, separated by commas.

A cluster of rqlite nodes is --db rqlite://HOST:PORT,HOST:PORT (rqlites: over TLS) with ?level=linearizable
(the default) or weak and &user=NAME, whose password is NOTES_DB_PASSWORD or in --db-password-file.
`;
}

function formatRows(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

function parseService(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const options = parseOptions(args, environment);
  return typeof options === 'string' ? { kind: options } : { kind: 'serve', options };
}

function parseCheck([file, ...others]: readonly string[]): Command {
  if (!file || others.length > 0) throw new UsageError('check takes one FILE and nothing else');
  return { kind: 'check', file };
}

function parseBackup(
  kind: 'backup' | 'restore',
  [file, ...others]: readonly string[],
  flags: Flags,
  environment: NodeJS.ProcessEnv,
): Command {
  if (!file || others.length > 0)
    throw new UsageError(`${kind} takes one ${kind === 'backup' ? 'TARGET' : 'BACKUP'}`);
  const { db: flag } = flags as Record<string, string | undefined>;
  const db = databaseNamed(flag, environment);
  if ([db, parseDatabase(file)].some((each) => each.kind !== 'file')) {
    throw new UsageError(`${kind} works with files only; for a cluster use copy, export or import`);
  }
  const files = { db: db.name, file };
  return kind === 'backup' ? { kind, ...files } : { kind, ...files, force: flags.force === true };
}

function parseExport(
  kind: 'export' | 'import',
  [file, ...others]: readonly string[],
  flags: Flags,
  environment: NodeJS.ProcessEnv,
): Command {
  if (file === '' || others.length > 0) throw new UsageError(`${kind} takes one FILE at most`);
  const texts = flags as Record<string, string | undefined>;
  const db = databaseNamed(texts.db, environment);
  if (db.kind === 'memory') throw new UsageError(`${kind} does not work with a database in memory`);
  const storage = storageOptions(db, texts['db-password-file'], environment);
  return { kind, db: storage, ...(file !== undefined && file !== '-' && { file }) };
}

function parseCopy(
  words: readonly string[],
  flags: Flags,
  environment: NodeJS.ProcessEnv,
): Command {
  const { from, to, 'db-password-file': file } = flags as Record<string, string | undefined>;
  if (!from || !to || words.length > 0) throw new UsageError('copy takes --from DB and --to DB');
  const [source, target] = [parseDatabase(from), parseDatabase(to)];
  const locations = [source, target];
  if (from === to || locations.some(({ kind }) => kind === 'memory')) {
    throw new UsageError('copy takes two different databases, neither of them in memory');
  }
  if (locations.every((each) => each.kind === 'cluster' && each.user !== undefined)) {
    throw new UsageError(
      'copy takes one password only: between two clusters with users, copy to a file first',
    );
  }
  return {
    kind: 'copy',
    from: storageOptions(source, file, environment),
    to: storageOptions(target, file, environment),
  };
}

function storageOptions(
  db: Location,
  passwordFile: string | undefined,
  environment: NodeJS.ProcessEnv,
): StorageOptions {
  return { db, ...passwordSource(passwordFile, environment) };
}
