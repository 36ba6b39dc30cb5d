// The command line becomes what is to be done. Nothing but this and options.ts is handed the environment.
import { database, parseFlags, UsageError } from './option-values.ts';
import { type Options, optionsHelp, parseOptions, password } from './options.ts';
import type { StorageOptions } from './storage/open.ts';
import { parseCluster } from './storage/rqlite-address.ts';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'serve'; readonly options: Options }
  | { readonly kind: 'check'; readonly file: string }
  | { readonly kind: 'copy'; readonly from: StorageOptions; readonly to: StorageOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

/** Reads the command line (without node and script) and the environment. Throws {@link UsageError}. */
export function parseCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const [first, ...others] = args;
  if (first === 'check') return parseCheck(others);
  if (first === 'copy') return parseCopy(others, environment);
  const options = parseOptions(args, environment);
  return typeof options === 'string' ? { kind: options } : { kind: 'serve', options };
}

/** Returns the text of --help. */
export function helpText(): string {
  const rows = optionsHelp();
  rows.push(['--help', 'print this and exit'], ['--version', 'print the version and exit']);
  const width = Math.max(...rows.map(([left]) => left.length));
  return `Usage: notes-server [options]
       notes-server check FILE
       notes-server copy --from DB --to DB [--db-password-file FILE]

Keeps notes, tags and comments in SQLite and serves them as JSON over HTTP.
With check, looks for damage in a database; changes nothing, and a service may be using it.
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

function parseCheck(args: readonly string[]): Command {
  if (args.some((each) => each === '--help' || each === '-h')) return { kind: 'help' };
  const [file, ...others] = args;
  if (!file || file.startsWith('-') || others.length > 0) throw new UsageError('check takes one FILE and nothing else');
  return { kind: 'check', file };
}

function parseCopy(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const text = { type: 'string' } as const;
  const flags = parseFlags(args, { from: text, to: text, 'db-password-file': text });
  if (flags.help) return { kind: 'help' };
  const { from, to, 'db-password-file': file } = flags as Record<string, string | undefined>;
  if (!from || !to) throw new UsageError('copy takes --from DB and --to DB');
  if (from === to || from === ':memory:' || to === ':memory:') {
    throw new UsageError('copy goes from one database into another, and neither can be in memory');
  }
  if ([from, to].every((db) => parseCluster(db)?.user !== undefined)) {
    throw new UsageError('copy has one password: go from one cluster with a user to another by way of a file');
  }
  const passwords = password(file ?? (environment.NOTES_DB_PASSWORD_FILE || undefined), environment);
  return {
    kind: 'copy',
    from: { db: database(from), ...passwords },
    to: { db: database(to), ...passwords },
  };
}
