// The table of all options of the service, from which command line, environment, --help and library
// derive.
import { isIP } from 'node:net';
import { isKey } from '../guards/keys.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../log/log.ts';
import type { Location } from '../storage/location.ts';
import {
  integer,
  oneOf,
  parseDatabase,
  parseFlags,
  parseList,
  parseOrigins,
  parseProcesses,
  parseRateLimit,
  parseSwitch,
  parseText,
  parseUrl,
  UsageError,
} from './option-values.ts';

/** The declaration of an option. */
interface Declaration {
  /** The environment variable is NOTES_FLAG; the name in the library is the flag in camel case. */
  readonly flag: string;
  /** The name of the value in --help; a switch has none. */
  readonly value?: string;
  /** May be given several times; in the environment, commas separate the values. */
  readonly repeatable?: boolean;
  readonly default?: string;
  readonly help: string;
  /** A variable in common use that counts if NOTES_FLAG is not set. */
  readonly variable?: string;
  /** Whether it makes sense only for the command. */
  readonly commandOnly?: boolean;
  /** Called only if the option is set or has a default. */
  readonly parse: (text: string, flag: string) => unknown;
}

/** What all switches have in common. */
const SWITCH = { default: 'false', parse: parseSwitch } as const;

/** The default rate limit of a service that other machines can reach. */
const PUBLIC_RATE_LIMIT = 600;

/** The largest demonstration needs this many threads. */
const MIN_THREADS = 16;
const MAX_THREADS = 1_024;

const MAX_PORT = 65_535;
const MAX_BODY_LIMIT_BYTES = 268_435_456;

const OPTIONS = {
  host: {
    flag: 'host',
    value: 'ADDRESS',
    default: '127.0.0.1',
    variable: 'HOST',
    help: 'address to listen on',
    parse: parseText,
  },
  port: {
    flag: 'port',
    value: 'PORT',
    default: '3000',
    variable: 'PORT',
    help: 'port to listen on; 0 takes any free one',
    parse: integer(0, MAX_PORT),
  },
  db: {
    flag: 'db',
    value: 'FILE',
    default: 'notes.db',
    help: 'SQLite file, created if missing; :memory: keeps nothing; or a cluster, see below',
    parse: parseDatabase,
  },
  dbPasswordFile: {
    flag: 'db-password-file',
    value: 'FILE',
    help: "holds the password of a cluster's user",
    parse: (text: string) => text,
  },
  /** Without a slash at the end; undefined: the address on which the service listens. */
  baseUrl: {
    flag: 'base-url',
    value: 'URL',
    help: 'where clients reach the service (default: where it listens)',
    parse: parseUrl,
  },
  /** Without a slash at the end; undefined: `{baseUrl}/problems`. */
  problemBase: {
    flag: 'problem-base',
    value: 'URL',
    help: 'start of problem types (default: BASE-URL/problems)',
    parse: parseUrl,
  },
  bodyLimitBytes: {
    flag: 'body-limit',
    value: 'BYTES',
    default: '1048576',
    help: 'largest request body',
    parse: integer(1, MAX_BODY_LIMIT_BYTES),
  },
  apiKeysFile: {
    flag: 'api-keys-file',
    value: 'FILE',
    help: 'keys that clients must send, one per line; read again on SIGHUP',
    parse: parseText,
  },
  allowAnonymous: {
    flag: 'allow-anonymous',
    help: 'listen without keys on an address that is not loopback',
    ...SWITCH,
  },
  rateLimit: {
    flag: 'rate-limit',
    value: 'N',
    help: `requests per minute for each client, or off (default: off on loopback, else ${PUBLIC_RATE_LIMIT})`,
    parse: parseRateLimit,
  },
  trustProxy: {
    flag: 'trust-proxy',
    help: 'take the address of a client from the end of x-forwarded-for',
    ...SWITCH,
  },
  /** The origins, in the form that browsers send, whose scripts may read and write. */
  corsOrigins: {
    flag: 'cors-origin',
    value: 'ORIGIN',
    repeatable: true,
    default: '',
    help: 'origin whose pages may use the service; repeatable',
    parse: parseOrigins,
  },
  processes: {
    flag: 'processes',
    value: 'N',
    default: '1',
    commandOnly: true,
    help: 'processes that serve, on one port and file; auto: one for each core',
    parse: parseProcesses,
  },
  maxThreads: {
    flag: 'max-threads',
    value: 'N',
    default: '64',
    help: 'threads that demonstrations may have at one time, from 16',
    parse: integer(MIN_THREADS, MAX_THREADS),
  },
  noMetrics: { flag: 'no-metrics', help: 'disable metrics and /metrics', ...SWITCH },
  logLevel: {
    flag: 'log-level',
    value: 'LEVEL',
    default: 'info',
    help: `one of ${LOG_LEVELS.join(', ')}`,
    parse: oneOf(LOG_LEVELS),
  },
  logFormat: {
    flag: 'log-format',
    value: 'FORMAT',
    default: 'auto',
    commandOnly: true,
    help: `one of ${LOG_FORMATS.join(', ')}; auto is pretty on a terminal and json elsewhere`,
    parse: oneOf(LOG_FORMATS),
  },
} as const satisfies Readonly<Record<string, Declaration>>;

const DECLARATIONS: readonly (readonly [name: string, declaration: Declaration])[] =
  Object.entries(OPTIONS);

/** The options as parsed from their texts; one without a default is undefined if it is not set. */
type Parsed = { readonly [Name in keyof typeof OPTIONS]: ValueOf<(typeof OPTIONS)[Name]> };
type ValueOf<Declared extends Declaration> =
  | ReturnType<Declared['parse']>
  | (Declared extends { readonly default: string } ? never : undefined);

/** All options of the service, with the values that derive from several of them. */
export interface Options extends Omit<Parsed, 'rateLimit'> {
  /** Requests per minute for each client; undefined: any number. */
  readonly rateLimit: number | undefined;
  /** The keys in the environment; a file may contain more. */
  readonly apiKeys: readonly string[];
  readonly dbPassword: string | undefined;
  /** For this process. */
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
  const known = DECLARATIONS.map(([, { flag, value, repeatable: multiple = false }]) => [
    flag,
    { type: value ? 'string' : 'boolean', multiple } as const,
  ]);
  const { flags } = parseFlags(args, Object.fromEntries(known));
  if (flags.help) return 'help';
  if (flags.version) return 'version';
  const entries = DECLARATIONS.map(([name, declaration]) => {
    const { flag, default: byDefault, parse } = declaration;
    const text = flags[flag] ?? fromEnvironment(declaration, environment) ?? byDefault;
    return [name, text === undefined ? undefined : parse(String(text), flag)];
  });
  return complete(Object.fromEntries(entries) as Parsed, environment);
}

/** Returns the database of the flag `--db`, the environment or the default. Throws UsageError. */
export function databaseNamed(flag: string | undefined, environment: NodeJS.ProcessEnv): Location {
  return parseDatabase(flag ?? fromEnvironment(OPTIONS.db, environment) ?? OPTIONS.db.default);
}

/** Returns the lines of --help: each flag with the name of its value, and its meaning. */
export function optionsHelp(): [left: string, right: string][] {
  return DECLARATIONS.map(([, { flag, value, help, default: byDefault }]) => [
    `--${flag}${value ? ` ${value}` : ''}`,
    `${help}${value && byDefault ? ` (default: ${byDefault})` : ''}`,
  ]);
}

/** Returns the flags of the options of the library, by their names there. */
export function libraryFlags(): ReadonlyMap<string, string> {
  const declared = DECLARATIONS.filter(([, { commandOnly }]) => !commandOnly);
  return new Map(declared.map(([, { flag }]) => [toCamelCase(flag), flag]));
}

function toCamelCase(flag: string): string {
  return flag.replace(/-./g, (pair) => pair.slice(1).toUpperCase());
}

/** Whether only this machine can reach `host`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Returns the source of the password for a cluster; `flag` is the file. Throws UsageError. */
export function passwordSource(
  flag: string | undefined,
  environment: NodeJS.ProcessEnv,
): Pick<Options, 'dbPassword' | 'dbPasswordFile'> {
  const file = flag ?? fromEnvironment(OPTIONS.dbPasswordFile, environment);
  const { NOTES_DB_PASSWORD: text } = environment;
  if (file !== undefined && (file === '' || text)) {
    throw new UsageError(
      '--db-password-file must not be empty, nor be given together with NOTES_DB_PASSWORD',
    );
  }
  return { dbPassword: text || undefined, dbPasswordFile: file };
}

/** Checks combinations of options, and adds the values that derive from several of them. */
function complete(parsed: Parsed, environment: NodeJS.ProcessEnv): Options {
  const { host, rateLimit, processes, maxThreads, apiKeysFile, allowAnonymous, db } = parsed;
  const apiKeys = keysIn(environment.NOTES_API_KEYS ?? '');
  if (processes > 1 && db.kind === 'memory') {
    throw new UsageError(
      '--processes needs a file: the processes could not share a database in memory',
    );
  }
  const hasKeys = apiKeys.length > 0 || apiKeysFile !== undefined;
  if (!isLoopback(host) && !hasKeys && !allowAnonymous) {
    throw new UsageError(
      `${host} is not a loopback address: anybody could write. Set NOTES_API_KEYS or ` +
        '--api-keys-file, or --allow-anonymous if you mean it',
    );
  }
  const limit = rateLimit ?? (isLoopback(host) ? 'off' : PUBLIC_RATE_LIMIT);
  return {
    ...parsed,
    ...passwordSource(parsed.dbPasswordFile, environment),
    apiKeys,
    rateLimit: limit === 'off' ? undefined : limit,
    maxThreads: Math.max(MIN_THREADS, Math.floor(maxThreads / processes)),
  };
}

/** Keys have no flag, because all users of the machine can read a command line. */
function keysIn(text: string): readonly string[] {
  const keys = parseList(text);
  if (text && (keys.length === 0 || !keys.every(isKey))) {
    throw new UsageError('NOTES_API_KEYS takes keys of visible ASCII, separated by commas');
  }
  return keys;
}

function fromEnvironment(
  { flag, variable }: Declaration,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  const own = environment[`NOTES_${flag.toUpperCase().replaceAll('-', '_')}`];
  // An empty variable counts as not set.
  return own || (variable && environment[variable]) || undefined;
}
