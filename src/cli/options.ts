// The options of the service, as command line and environment set them.
import { isIP } from 'node:net';
import { KEY, requiresKey } from '../guards/keys.ts';
import type { Location } from '../storage/location.ts';
import { suggestion } from '../suggestion.ts';
import { type FlagValues, parseArguments, UsageError, usageOf } from './arguments.ts';
import { type Declaration, MIN_THREADS, OPTIONS, PUBLIC_RATE_LIMIT } from './option-table.ts';
import { parseDatabase, parseList } from './option-values.ts';

const DECLARATIONS: readonly Declaration[] = Object.values(OPTIONS);

/** The flag that only the service has, not its sub-commands. */
export const VERSION_FLAG = { flag: 'version', short: 'V', help: 'print the version and exit' };

const PREFIX = 'NOTES_';

/** The variables that have no flag, because all users of a machine can read command lines. */
const SECRETS = ['NOTES_API_KEYS', 'NOTES_DB_PASSWORD'];

/** The options as parsed from their texts; one without a default is undefined if it is not set. */
type Parsed = { readonly [Name in keyof typeof OPTIONS]: ValueOf<(typeof OPTIONS)[Name]> };
type ValueOf<Declared extends Declaration> =
  | ReturnType<Declared['parse']>
  | (Declared extends { readonly default: string } ? never : undefined);

/** All options of the service, with the values that derive from several of them. */
export interface Options extends Omit<Parsed, 'rateLimit'> {
  readonly rateLimit: number | undefined;
  /** The keys in the environment; a file may contain more. */
  readonly apiKeys: readonly string[];
  readonly dbPassword: string | undefined;
  /** The share of this process. */
  readonly maxThreads: number;
}

/**
 * Reads the arguments and the environment. A flag overrides `NOTES_...`, which overrides the
 * default. Returns `help` or `version` if that is asked for. Throws {@link UsageError}.
 */
export function parseOptions(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Options | 'help' | 'version' {
  const { flags } = parseArguments(args, [...DECLARATIONS, VERSION_FLAG], false);
  if (flags.help) return 'help';
  if (flags.version) return 'version';
  const entries = Object.entries<Declaration>(OPTIONS).map(([key, declaration]) => {
    const { text, name } = lookUp(declaration, flags[declaration.flag], environment);
    return [key, text === undefined ? undefined : declaration.parse(text, name)];
  });
  const parsed = Object.fromEntries(entries) as Parsed;
  if (parsed.socket !== undefined && (flags.host ?? flags.port) !== undefined)
    throw new UsageError('--socket replaces --host and --port: give one or the other');
  return complete(parsed, environment);
}

/** Returns the database of the flag `--db`, the environment or the default. Throws UsageError. */
export function databaseNamed(flag: string | undefined, environment: NodeJS.ProcessEnv): Location {
  const { text, name } = lookUp(OPTIONS.db, flag, environment);
  return parseDatabase(text ?? '', name);
}

/** Returns the lines of --help: each flag with the name of its value, and its meaning. */
export function optionsHelp(): [left: string, right: string][] {
  return DECLARATIONS.map((declaration) => {
    const { value, help, default: byDefault } = declaration;
    return [usageOf(declaration), value && byDefault ? `${help} (default: ${byDefault})` : help];
  });
}

/** Returns the flags of the options of the library, by their names there. */
export function libraryFlags(): ReadonlyMap<string, string> {
  const toCamelCase = (flag: string) => flag.replace(/-./g, (pair) => pair.slice(1).toUpperCase());
  const declared = DECLARATIONS.filter(({ commandOnly }) => !commandOnly);
  return new Map(declared.map(({ flag }) => [toCamelCase(flag), flag]));
}

/** Returns the names of variables that look like options but are none, with suggestions. */
export function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = [...DECLARATIONS.map(({ flag }) => variableOf(flag)), ...SECRETS];
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith(PREFIX) && !known.includes(name),
  );
  const names = known.map((name) => name.slice(PREFIX.length));
  return unknown.map((name) => name + suggestion(name.slice(PREFIX.length), names, PREFIX));
}

/** Whether only this machine can reach a service: on a Unix socket or a loopback address. */
export function isLocal({ host, socket }: Pick<Options, 'host' | 'socket'>): boolean {
  if (socket !== undefined || host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** Returns the source of the password for a cluster; `flag` is the file. Throws UsageError. */
export function passwordSource(
  flag: string | undefined,
  environment: NodeJS.ProcessEnv,
): Pick<Options, 'dbPassword' | 'dbPasswordFile'> {
  const { text: file } = lookUp(OPTIONS.dbPasswordFile, flag, environment);
  const { NOTES_DB_PASSWORD: password } = environment;
  if (file !== undefined && (file === '' || password))
    throw new UsageError(
      '--db-password-file must not be empty, nor be given together with NOTES_DB_PASSWORD',
    );
  return { dbPassword: password || undefined, dbPasswordFile: file };
}

function complete(parsed: Parsed, environment: NodeJS.ProcessEnv): Options {
  const { host, rateLimit, processes, maxThreads, apiKeysFile, allowAnonymous, db } = parsed;
  const apiKeys = keysIn(environment.NOTES_API_KEYS ?? '');
  if (processes > 1 && db.kind === 'memory')
    throw new UsageError(
      '--processes needs a file or a cluster: processes cannot share a database in memory',
    );
  if (!isLocal(parsed) && !requiresKey({ apiKeys, apiKeysFile }) && !allowAnonymous)
    throw new UsageError(
      `${host} is not a loopback address: anybody could write. Set NOTES_API_KEYS or ` +
        '--api-keys-file, or --allow-anonymous if you mean it',
    );
  const limit = rateLimit ?? (isLocal(parsed) ? 'off' : PUBLIC_RATE_LIMIT);
  return {
    ...parsed,
    ...passwordSource(parsed.dbPasswordFile, environment),
    apiKeys,
    rateLimit: limit === 'off' ? undefined : limit,
    maxThreads: Math.max(MIN_THREADS, Math.floor(maxThreads / processes)),
  };
}

function keysIn(text: string): readonly string[] {
  const keys = parseList(text);
  if (text && (keys.length === 0 || !keys.every((key) => KEY.test(key))))
    throw new UsageError('NOTES_API_KEYS takes keys of visible ASCII, separated by commas');
  return keys;
}

/** Returns the text of an option, or else its default, and the name of its source. */
function lookUp(
  { flag, variable = '', default: byDefault }: Declaration,
  value: FlagValues[string],
  environment: NodeJS.ProcessEnv,
): { readonly text: string | undefined; readonly name: string } {
  const name = `--${flag}`;
  if (value !== undefined) return { text: String(value), name };
  // An empty variable counts as not set.
  const source = [variableOf(flag), variable].find((each) => environment[each]);
  return source ? { text: environment[source], name: source } : { text: byDefault, name };
}

function variableOf(flag: string): string {
  return `${PREFIX}${flag.toUpperCase().replaceAll('-', '_')}`;
}
