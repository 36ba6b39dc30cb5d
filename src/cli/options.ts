// The table of all options of the service, from which command line, environment, --help and library
// derive.
import { isIP } from 'node:net';
import { isKey, type KeySource } from '../guards/keys.ts';
import { HTTP_LIMITS } from '../http/limits.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../log/log.ts';
import type { Location } from '../storage/location.ts';
import { type Flag, type FlagValues, parseArguments, UsageError, usageOf } from './arguments.ts';
import {
  integer,
  oneOf,
  parseDatabase,
  parseHost,
  parseList,
  parseOrigins,
  parseProcesses,
  parseRateLimit,
  parseSocket,
  parseSwitch,
  parseText,
  parseUrl,
} from './option-values.ts';
import { suggestion } from './suggestion.ts';

/**
 * The declaration of an option. The environment variable is NOTES_FLAG; the name in the library is
 * the flag in camel case.
 */
interface Declaration extends Flag {
  readonly default?: string;
  /** A variable in common use that applies if NOTES_FLAG is not set. */
  readonly variable?: string;
  /** Whether only the command has it, not the library. */
  readonly commandOnly?: boolean;
  /**
   * Parses the text from the flag or variable `name`, or the default. Not called if there is none.
   * Throws {@link UsageError}.
   */
  readonly parse: (text: string, name: string) => unknown;
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
const MAX_IDLE_TIMEOUT_S = 3_600;
const MAX_CACHE_SIZE_MIB = 65_536;

/** All options, in the order of --help: those of the README, which are used most, come first. */
export const OPTIONS = {
  host: {
    flag: 'host',
    value: 'ADDRESS',
    default: '127.0.0.1',
    variable: 'HOST',
    help: 'address to listen on',
    parse: parseHost,
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
  apiKeysFile: {
    flag: 'api-keys-file',
    value: 'FILE',
    help: 'keys that clients must send, one per line; read again on SIGHUP',
    parse: parseText,
  },
  rateLimit: {
    flag: 'rate-limit',
    value: 'N',
    help:
      'requests per minute for each client, or off ' +
      `(default: off on loopback, else ${PUBLIC_RATE_LIMIT})`,
    parse: parseRateLimit,
  },
  /** Without a slash at the end; undefined: the address on which the service listens. */
  baseUrl: {
    flag: 'base-url',
    value: 'URL',
    help: 'where clients reach the service (default: where it listens)',
    parse: parseUrl,
  },
  trustProxy: {
    flag: 'trust-proxy',
    help: 'take the address of a client from the end of x-forwarded-for',
    ...SWITCH,
  },
  processes: {
    flag: 'processes',
    value: 'N',
    default: '1',
    commandOnly: true,
    help: 'processes that serve, on one port and file; auto: one for each core',
    parse: parseProcesses,
  },
  socket: {
    flag: 'socket',
    value: 'PATH',
    commandOnly: true,
    help: 'Unix socket to listen on for a proxy, instead of host and port',
    parse: parseSocket,
  },
  idleTimeoutS: {
    flag: 'idle-timeout',
    value: 'SECONDS',
    default: `${HTTP_LIMITS.keepAliveTimeoutMs / 1_000}`,
    help: 'how long idle connections stay open; must exceed the idle timeout of a proxy in front',
    parse: integer(1, MAX_IDLE_TIMEOUT_S),
  },
  allowAnonymous: {
    flag: 'allow-anonymous',
    help: 'listen without keys on an address that is not loopback',
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
  bodyLimitBytes: {
    flag: 'body-limit',
    value: 'BYTES',
    default: '1048576',
    help: 'largest request body',
    parse: integer(1, MAX_BODY_LIMIT_BYTES),
  },
  /** Without a slash at the end; undefined: `{baseUrl}/problems`. */
  problemBase: {
    flag: 'problem-base',
    value: 'URL',
    help: 'URL with which problem types begin (default: BASE-URL/problems)',
    parse: parseUrl,
  },
  dbPasswordFile: {
    flag: 'db-password-file',
    value: 'FILE',
    help: "holds the password of a cluster's user",
    parse: (text: string) => text,
  },
  maxThreads: {
    flag: 'max-threads',
    value: 'N',
    default: '64',
    help: 'threads that demonstrations may use at one time, at least 16',
    parse: integer(MIN_THREADS, MAX_THREADS),
  },
  /** For all processes together. */
  cacheSizeMib: {
    flag: 'cache-size',
    value: 'MIB',
    default: '64',
    help: 'memory for records and pages that were read or written lately; 0 keeps none',
    parse: integer(0, MAX_CACHE_SIZE_MIB),
  },
  noMetrics: { flag: 'no-metrics', help: 'disable metrics and /metrics', ...SWITCH },
  logLevel: {
    flag: 'log-level',
    value: 'LEVEL',
    choices: LOG_LEVELS,
    default: 'info',
    help: `one of ${LOG_LEVELS.join(', ')}`,
    parse: oneOf(LOG_LEVELS),
  },
  logFormat: {
    flag: 'log-format',
    value: 'FORMAT',
    choices: LOG_FORMATS,
    default: 'auto',
    commandOnly: true,
    help: `one of ${LOG_FORMATS.join(', ')}; auto is pretty on a terminal and json elsewhere`,
    parse: oneOf(LOG_FORMATS),
  },
} as const satisfies Readonly<Record<string, Declaration>>;

const DECLARATIONS: readonly (readonly [name: string, declaration: Declaration])[] =
  Object.entries(OPTIONS);

/** The flag that only the service has, not its sub-commands. */
export const VERSION_FLAG: Flag = {
  flag: 'version',
  short: 'V',
  help: 'print the version and exit',
};

/** The flags of the service, without --help. */
export const SERVICE_FLAGS: readonly Flag[] = [
  ...DECLARATIONS.map(([, declaration]) => declaration),
  VERSION_FLAG,
];

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
  /** Requests per minute for each client; undefined: any number. */
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
  const { flags } = parseArguments(args, SERVICE_FLAGS, false);
  if (flags.help) return 'help';
  if (flags.version) return 'version';
  const entries = DECLARATIONS.map(([key, declaration]) => {
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
  return DECLARATIONS.map(([, declaration]) => {
    const { value, help, default: byDefault } = declaration;
    return [usageOf(declaration), value && byDefault ? `${help} (default: ${byDefault})` : help];
  });
}

/** Returns the flags of the options of the library, by their names there. */
export function libraryFlags(): ReadonlyMap<string, string> {
  const declared = DECLARATIONS.filter(([, { commandOnly }]) => !commandOnly);
  return new Map(declared.map(([, { flag }]) => [toCamelCase(flag), flag]));
}

function toCamelCase(flag: string): string {
  return flag.replace(/-./g, (pair) => pair.slice(1).toUpperCase());
}

/** Returns the names of variables that look like options but are none, with suggestions. */
export function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = [...DECLARATIONS.map(([, { flag }]) => variableOf(flag)), ...SECRETS];
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith(PREFIX) && !known.includes(name),
  );
  const names = known.map((name) => name.slice(PREFIX.length));
  return unknown.map((name) => name + suggestion(name.slice(PREFIX.length), names, PREFIX));
}

/** Returns the source of the keys; undefined if there is none, so that nobody needs a key. */
export function keySourceOf({
  apiKeys,
  apiKeysFile,
}: Pick<Options, 'apiKeys' | 'apiKeysFile'>): KeySource | undefined {
  const hasKeys = apiKeys.length > 0 || apiKeysFile !== undefined;
  return hasKeys ? { texts: apiKeys, file: apiKeysFile } : undefined;
}

/** Whether only this machine can reach a service: on a Unix socket or a loopback address. */
export function isLocal({ host, socket }: Pick<Options, 'host' | 'socket'>): boolean {
  return socket !== undefined || isLoopback(host);
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
  const { text: file } = lookUp(OPTIONS.dbPasswordFile, flag, environment);
  const { NOTES_DB_PASSWORD: password } = environment;
  if (file !== undefined && (file === '' || password)) {
    throw new UsageError(
      '--db-password-file must not be empty, nor be given together with NOTES_DB_PASSWORD',
    );
  }
  return { dbPassword: password || undefined, dbPasswordFile: file };
}

/** Checks combinations of options, and adds the values that derive from several of them. */
function complete(parsed: Parsed, environment: NodeJS.ProcessEnv): Options {
  const { host, rateLimit, processes, maxThreads, apiKeysFile, allowAnonymous, db } = parsed;
  const apiKeys = keysIn(environment.NOTES_API_KEYS ?? '');
  if (processes > 1 && db.kind === 'memory') {
    throw new UsageError(
      '--processes needs a file or a cluster: processes cannot share a database in memory',
    );
  }
  const hasKeys = keySourceOf({ apiKeys, apiKeysFile }) !== undefined;
  if (!isLocal(parsed) && !hasKeys && !allowAnonymous) {
    throw new UsageError(
      `${host} is not a loopback address: anybody could write. Set NOTES_API_KEYS or ` +
        '--api-keys-file, or --allow-anonymous if you mean it',
    );
  }
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
  if (text && (keys.length === 0 || !keys.every(isKey))) {
    throw new UsageError('NOTES_API_KEYS takes keys of visible ASCII, separated by commas');
  }
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
