// Parses the command line into a command. The table below declares the sub-commands, options.ts the
// options of the service.
import type { Location } from '../storage/location.ts';
import type { StorageOptions } from '../storage/open.ts';
import { type Arguments, type Flag, parseArguments, quote, UsageError } from './arguments.ts';
import { parseDatabase } from './option-values.ts';
import { databaseNamed, OPTIONS, type Options, parseOptions, passwordSource } from './options.ts';
import { suggestion } from './suggestion.ts';

/** The shells for which `completion` prints a script. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** One of {@link SHELLS}. */
export type Shell = (typeof SHELLS)[number];

/** The files of a backup or restore. */
interface Files {
  readonly db: string;
  readonly file: string;
}

/** A parsed command line. */
export type Command =
  | { readonly kind: 'serve'; readonly options: Options }
  | { readonly kind: 'check'; readonly file: string; readonly repair: boolean }
  | { readonly kind: 'copy'; readonly from: StorageOptions; readonly to: StorageOptions }
  | ({ readonly kind: 'backup' } & Files)
  | ({ readonly kind: 'restore'; readonly force: boolean } & Files)
  /** Without a file, standard output or input is used. */
  | { readonly kind: 'export' | 'import'; readonly db: StorageOptions; readonly file?: string }
  /** Without a command, the help describes the service. */
  | { readonly kind: 'help'; readonly command?: string }
  | { readonly kind: 'completion'; readonly shell: Shell }
  | { readonly kind: 'version' };

/** A sub-command. */
export interface SubCommand {
  readonly name: string;
  /** Its argument other than flags, as its usage shows it; empty if there is none. */
  readonly argument: string;
  /** All possible arguments, if they are few; otherwise the argument is a file. */
  readonly choices?: readonly string[];
  readonly flags: readonly Flag[];
  /** One line of --help. */
  readonly help: string;
  readonly example: string;
  readonly parse: (input: Arguments, environment: NodeJS.ProcessEnv) => Command;
}

const DB: Flag = {
  ...OPTIONS.db,
  help: 'the database, a SQLite file (default: NOTES_DB, else notes.db)',
};
const ANY_DB: Flag = {
  ...DB,
  value: 'DB',
  help: 'a SQLite file or a cluster (default: NOTES_DB, else notes.db)',
};
const REQUIRED_DB = { value: 'DB', required: true } as const;

/** The sub-commands, in the order of --help. */
export const SUB_COMMANDS: readonly SubCommand[] = [
  {
    name: 'check',
    argument: 'FILE',
    flags: [
      {
        flag: 'repair',
        help: 'first rebuild counts and search index, while no service is running',
      },
    ],
    help: 'check a database for damage; a service may be using it',
    example: 'check notes.db',
    parse: parseCheck,
  },
  {
    name: 'backup',
    argument: 'TARGET',
    flags: [DB],
    help: 'copy a database to another file; a service may be using it',
    example: 'backup notes-backup.db --db notes.db',
    parse: (...input) => parseBackup('backup', ...input),
  },
  {
    name: 'restore',
    argument: 'BACKUP',
    flags: [DB, { flag: 'force', help: 'replace an existing database, which is kept' }],
    help: 'restore a backup while no service is running; with --force, set the old database aside',
    example: 'restore notes-backup.db --db notes.db',
    parse: (...input) => parseBackup('restore', ...input),
  },
  {
    name: 'export',
    argument: '[FILE]',
    flags: [ANY_DB, OPTIONS.dbPasswordFile],
    help: 'write all data as JSON lines to FILE or standard output; a service may be using it',
    example: 'export notes.jsonl --db notes.db',
    parse: (...input) => parseExport('export', ...input),
  },
  {
    name: 'import',
    argument: '[FILE]',
    flags: [ANY_DB, OPTIONS.dbPasswordFile],
    help: 'add exported data from FILE or standard input; no service may be using the database',
    example: 'import notes.jsonl --db notes.db',
    parse: (...input) => parseExport('import', ...input),
  },
  {
    name: 'copy',
    argument: '',
    flags: [
      { ...REQUIRED_DB, flag: 'from', help: 'the database to read, a SQLite file or a cluster' },
      { ...REQUIRED_DB, flag: 'to', help: 'the empty database to fill; a file is created' },
      OPTIONS.dbPasswordFile,
    ],
    help: 'copy a database into an empty one, or continue an interrupted copy, and compare both',
    example: 'copy --from notes.db --to rqlite://10.0.0.1:4001,10.0.0.2:4001',
    parse: parseCopy,
  },
  {
    name: 'completion',
    argument: SHELLS.join('|'),
    choices: SHELLS,
    flags: [],
    help: 'print a script that completes commands and options in a shell',
    example: 'completion bash >> ~/.bash_completion',
    parse: parseCompletion,
  },
  {
    name: 'help',
    argument: '[COMMAND]',
    get choices() {
      return COMMAND_NAMES;
    },
    flags: [],
    help: 'describe a command',
    example: 'help backup',
    parse: parseHelp,
  },
];

const COMMAND_NAMES = SUB_COMMANDS.map(({ name }) => name);

/** Parses the arguments (without node and script) and the environment. Throws UsageError. */
export function parseCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const [first, ...others] = args;
  if (first === undefined || first.startsWith('-')) return parseService(args, environment);
  const command = findCommand(first);
  const input = parseArguments(others, command.flags, command.argument !== '');
  return input.flags.help
    ? { kind: 'help', command: command.name }
    : command.parse(input, environment);
}

/** Returns the sub-command with that name. Throws UsageError. */
export function findCommand(name: string): SubCommand {
  const found = SUB_COMMANDS.find((each) => each.name === name);
  if (found) return found;
  throw new UsageError(`there is no command ${quote(name)}${suggestion(name, COMMAND_NAMES)}`);
}

function parseService(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const options = parseOptions(args, environment);
  return typeof options === 'string' ? { kind: options } : { kind: 'serve', options };
}

function parseHelp({ words }: Arguments): Command {
  const [name, ...others] = words;
  if (others.length > 0) throw new UsageError('help takes one COMMAND at most');
  return name === undefined ? { kind: 'help' } : { kind: 'help', command: findCommand(name).name };
}

function parseCompletion({ words }: Arguments): Command {
  const [name, ...others] = words;
  const shell = SHELLS.find((each) => each === name);
  if (!shell || others.length > 0)
    throw new UsageError(`completion takes one of ${SHELLS.join(', ')}`);
  return { kind: 'completion', shell };
}

function parseCheck({ flags, words }: Arguments): Command {
  const [file, ...others] = words;
  if (!file || others.length > 0) throw new UsageError('check takes one FILE and nothing else');
  return { kind: 'check', file, repair: flags.repair === true };
}

function parseBackup(
  kind: 'backup' | 'restore',
  { flags, words }: Arguments,
  environment: NodeJS.ProcessEnv,
): Command {
  const [file, ...others] = words;
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
  { flags, words }: Arguments,
  environment: NodeJS.ProcessEnv,
): Command {
  const [file, ...others] = words;
  if (file === '' || others.length > 0) throw new UsageError(`${kind} takes one FILE at most`);
  const texts = flags as Record<string, string | undefined>;
  const db = databaseNamed(texts.db, environment);
  if (db.kind === 'memory') throw new UsageError(`${kind} does not work with a database in memory`);
  const storage = storageOptions(db, texts['db-password-file'], environment);
  return { kind, db: storage, ...(file !== undefined && file !== '-' && { file }) };
}

function parseCopy({ flags }: Arguments, environment: NodeJS.ProcessEnv): Command {
  const { from, to, 'db-password-file': file } = flags as Record<string, string | undefined>;
  if (!from || !to) throw new UsageError('copy takes --from DB and --to DB');
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
