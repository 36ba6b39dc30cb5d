// The command line becomes what is to be done. Nothing but this and options.ts is handed the environment.
import { database, parseFlags, parseWords, UsageError } from './option-values.ts';
import { databaseNamed, type Options, optionsHelp, parseOptions, passwordSource } from './options.ts';
import type { StorageOptions } from './storage/open.ts';
import { parseCluster } from './storage/rqlite-address.ts';

const TEXT = { type: 'string' } as const;

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'serve'; readonly options: Options }
  | { readonly kind: 'check'; readonly file: string }
  | { readonly kind: 'copy'; readonly from: StorageOptions; readonly to: StorageOptions }
  | { readonly kind: 'backup'; readonly db: string; readonly file: string }
  | { readonly kind: 'restore'; readonly db: string; readonly file: string; readonly force: boolean }
  /** Without a file, to the standard output, or from the standard input. */
  | { readonly kind: 'export' | 'import'; readonly db: StorageOptions; readonly file: string | undefined }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

/** Reads the command line (without node and script) and the environment. Throws {@link UsageError}. */
export function parseCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const [first, ...others] = args;
  switch (first) {
    case 'check':
      return parseCheck(others);
    case 'copy':
      return parseCopy(others, environment);
    case 'backup':
    case 'restore':
      return parseBackup(first, others, environment);
    case 'export':
    case 'import':
      return parseExport(first, others, environment);
    default:
      return parseService(args, environment);
  }
}

/** Returns the text of --help. */
export function helpText(): string {
  const rows = optionsHelp();
  rows.push(['--help', 'print this and exit'], ['--version', 'print the version and exit']);
  const width = Math.max(...rows.map(([left]) => left.length));
  return `Usage: notes-server [options]
       notes-server check FILE
       notes-server backup TARGET [--db FILE]
       notes-server restore BACKUP [--db FILE] [--force]
       notes-server export [FILE] [--db DB] [--db-password-file FILE]
       notes-server import [FILE] [--db DB] [--db-password-file FILE]
       notes-server copy --from DB --to DB [--db-password-file FILE]

Keeps notes, tags and comments in SQLite and serves them as JSON over HTTP.
With check, looks for damage in a database; changes nothing, and a service may be using it.
With backup, writes what a database holds to another file; a service may be using it.
With restore, puts a backup in the place of a database; with --force also of one that is there, which is kept.
With export and import, writes all data as JSON lines and reads them; - or no FILE is standard output or input.
With copy, takes what one database holds into an empty one, compares, and can be run again after a break.

Options:
${rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')}

Each option can also be set in the environment: --body-limit as NOTES_BODY_LIMIT and so on; several values are
parted by commas. PORT and HOST count where NOTES_PORT and NOTES_HOST are not set. Keys can be given in
NOTES_API_KEYS as well, parted by commas.

A cluster of rqlite nodes is --db rqlite://HOST:PORT,HOST:PORT (rqlites: over TLS) with ?level=linearizable
(the default) or weak and &user=NAME, whose password is NOTES_DB_PASSWORD or in --db-password-file.
`;
}

function parseService(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const options = parseOptions(args, environment);
  return typeof options === 'string' ? { kind: options } : { kind: 'serve', options };
}

function parseCheck(args: readonly string[]): Command {
  if (args.some((each) => each === '--help' || each === '-h')) return { kind: 'help' };
  const [file, ...others] = args;
  if (!file || file.startsWith('-') || others.length > 0) throw new UsageError('check takes one FILE and nothing else');
  return { kind: 'check', file };
}

function parseBackup(kind: 'backup' | 'restore', args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const known = { db: TEXT, ...(kind === 'restore' ? { force: { type: 'boolean' } as const } : {}) };
  const { flags, words } = parseWords(args, known);
  if (flags.help) return { kind: 'help' };
  const [file, ...others] = words;
  if (!file || others.length > 0) throw new UsageError(`${kind} takes one ${kind === 'backup' ? 'TARGET' : 'BACKUP'}`);
  const { db: flag } = flags as Record<string, string | undefined>;
  const db = databaseNamed(flag, environment);
  if ([db, file].some((each) => database(each) === ':memory:' || parseCluster(each))) {
    throw new UsageError(`${kind} goes from one file to another; for a cluster there are copy, export and import`);
  }
  return kind === 'backup' ? { kind, db, file } : { kind, db, file, force: flags.force === true };
}

function parseExport(kind: 'export' | 'import', args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const { flags, words } = parseWords(args, { db: TEXT, 'db-password-file': TEXT });
  if (flags.help) return { kind: 'help' };
  const [file, ...others] = words;
  if (file === '' || others.length > 0) throw new UsageError(`${kind} takes one FILE at most`);
  const { db: flag, 'db-password-file': passwordFile } = flags as Record<string, string | undefined>;
  const db = databaseNamed(flag, environment);
  if (db === ':memory:') throw new UsageError(`${kind} needs a database that is kept, not one in memory`);
  return { kind, db: storageOptions(db, passwordFile, environment), file: file === '-' ? undefined : file };
}

function parseCopy(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const flags = parseFlags(args, { from: TEXT, to: TEXT, 'db-password-file': TEXT });
  if (flags.help) return { kind: 'help' };
  const { from, to, 'db-password-file': file } = flags as Record<string, string | undefined>;
  if (!from || !to) throw new UsageError('copy takes --from DB and --to DB');
  if (from === to || from === ':memory:' || to === ':memory:') {
    throw new UsageError('copy goes from one database into another, and neither can be in memory');
  }
  if ([from, to].every((db) => parseCluster(db)?.user !== undefined)) {
    throw new UsageError('copy has one password: go from one cluster with a user to another by way of a file');
  }
  const named = (db: string) => storageOptions(database(db), file, environment);
  return { kind: 'copy', from: named(from), to: named(to) };
}

function storageOptions(db: string, passwordFile: string | undefined, environment: NodeJS.ProcessEnv): StorageOptions {
  return { db, ...passwordSource(passwordFile, environment) };
}
