// The options of the service: flags and the environment become one checked value.
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { isKey } from './guards/keys.ts';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from './log.ts';
import { database, integer, listed, oneOf, origin, parseFlags, truth, UsageError, url } from './option-values.ts';

/** Everything that can be set. */
export interface Options {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The path of a SQLite file, `:memory:`, or the address of a cluster. */
  readonly db: string;
  /** The password of the cluster's user, and the file that may hold it instead. */
  readonly dbPassword: string | undefined;
  readonly dbPasswordFile: string | undefined;
  /** Where clients reach the service, without a slash at the end; undefined: where it listens. */
  readonly baseUrl: string | undefined;
  /** What problem types start with, without a slash at the end; undefined: `{baseUrl}/problems`. */
  readonly problemBase: string | undefined;
  readonly bodyLimitBytes: number;
  /** The keys of the environment; a file may hold more. */
  readonly apiKeys: readonly string[];
  readonly apiKeysFile: string | undefined;
  readonly allowAnonymous: boolean;
  /** Requests a minute for each client; undefined: any number. */
  readonly rateLimit: number | undefined;
  readonly trustProxy: boolean;
  /** Origins, as browsers send them, whose scripts may read and write. */
  readonly corsOrigins: readonly string[];
  /** How many processes serve. */
  readonly processes: number;
  /** How many threads of demonstrations may be alive at one time in each process: its share of `--max-threads`. */
  readonly maxThreads: number;
  /** Whether the service tells what it counts and measures. */
  readonly metrics: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

/** An option: its flag, the name of its value (a switch has none), its default as a text, and what --help says. */
interface Declaration {
  readonly flag: string;
  readonly value?: string;
  /** It may be given again and again; in the environment its values are parted by commas. */
  readonly repeatable?: boolean;
  readonly default?: string;
  readonly help: string;
}

/** The rate limit where others than this machine reach the service, and the largest one. */
const PUBLIC_RATE_LIMIT = '600';
const RATE_LIMIT_MOST = 1_000_000;

const DECLARATIONS = [
  { flag: 'host', value: 'ADDRESS', default: '127.0.0.1', help: 'address to listen on' },
  { flag: 'port', value: 'PORT', default: '3000', help: 'port to listen on; 0 takes any free one' },
  {
    flag: 'db',
    value: 'FILE',
    default: 'notes.db',
    help: 'SQLite file, made if missing; :memory: keeps nothing; or a cluster, see below',
  },
  { flag: 'db-password-file', value: 'FILE', help: "holds the password of a cluster's user" },
  { flag: 'base-url', value: 'URL', help: 'where clients reach the service (default: where it listens)' },
  { flag: 'problem-base', value: 'URL', help: 'start of problem types (default: BASE-URL/problems)' },
  { flag: 'body-limit', value: 'BYTES', default: '1048576', help: 'largest request body' },
  { flag: 'api-keys-file', value: 'FILE', help: 'keys that let clients in, one a line; read again on SIGHUP' },
  { flag: 'allow-anonymous', help: 'listen without keys on an address that is not loopback' },
  {
    flag: 'rate-limit',
    value: 'N',
    help: `requests a minute for each client, or off (default: off on loopback, else ${PUBLIC_RATE_LIMIT})`,
  },
  { flag: 'trust-proxy', help: 'take the address of a client from the end of x-forwarded-for' },
  {
    flag: 'cors-origin',
    value: 'ORIGIN',
    repeatable: true,
    help: 'origin whose pages may use the service; repeatable',
  },
  {
    flag: 'processes',
    value: 'N',
    default: '1',
    help: 'processes that serve, on one port and file; auto: one for each core',
  },
  { flag: 'max-threads', value: 'N', default: '64', help: 'threads that demonstrations may have at one time, from 16' },
  { flag: 'no-metrics', help: 'count nothing, and have no /metrics' },
  { flag: 'log-level', value: 'LEVEL', default: 'info', help: `one of ${LOG_LEVELS.join(', ')}` },
  {
    flag: 'log-format',
    value: 'FORMAT',
    default: 'auto',
    help: `one of ${LOG_FORMATS.join(', ')}; auto is pretty on a terminal and json elsewhere`,
  },
] as const satisfies readonly Declaration[];

type Flag = (typeof DECLARATIONS)[number]['flag'];

/** Environment variables of common use that count where ours is not set. */
const COMMON_NAMES: Partial<Record<Flag, string>> = { host: 'HOST', port: 'PORT' };

const PORT_MAX = 65_535;
const PROCESSES_MOST = 64;
const BODY_LIMIT_MAX_BYTES = 268_435_456;

/** The largest demonstration needs this many, or it would never have its turn. */
const MAX_THREADS_LEAST = 16;
const MAX_THREADS_MOST = 1_024;

/**
 * Reads the arguments and the environment: a flag wins over `NOTES_…`, that over the default. Returns what is asked for
 * instead, if it is help or the version. Throws {@link UsageError}.
 */
export function parseOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options | 'help' | 'version' {
  const flags = parseFlags(
    args,
    Object.fromEntries(
      (DECLARATIONS as readonly Declaration[]).map(({ flag, value, repeatable = false }) => [
        flag,
        { type: value ? 'string' : 'boolean', multiple: repeatable } as const,
      ]),
    ),
  );
  if (flags.help) return 'help';
  if (flags.version) return 'version';
  const texts = new Map<Flag, string>();
  for (const { flag, ...declared } of DECLARATIONS as readonly (Declaration & { flag: Flag })[]) {
    const text = flags[flag] ?? fromEnvironment(flag, environment) ?? declared.default;
    if (text !== undefined) texts.set(flag, String(text));
  }
  return check(texts, environment);
}

/** The database that the flag `--db` names, or else the environment or the default. Throws {@link UsageError}. */
export function databaseNamed(flag: string | undefined, environment: NodeJS.ProcessEnv): string {
  const declared = DECLARATIONS.find((each) => each.flag === 'db');
  return database(flag ?? fromEnvironment('db', environment) ?? declared?.default ?? '');
}

/** What --help says of each option: the flag with its value, and what it means. */
export function optionsHelp(): [left: string, right: string][] {
  return (DECLARATIONS as readonly Declaration[]).map(({ flag, value, help, default: byDefault }) => [
    `--${flag}${value ? ` ${value}` : ''}`,
    `${help}${byDefault === undefined ? '' : ` (default: ${byDefault})`}`,
  ]);
}

/** Whether `host` is reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function fromEnvironment(flag: Flag, environment: NodeJS.ProcessEnv): string | undefined {
  const ours = environment[environmentName(flag)];
  const common = COMMON_NAMES[flag];
  // An empty variable is one that is not set.
  return ours || (common && environment[common]) || undefined;
}

function environmentName(flag: string): string {
  return `NOTES_${flag.toUpperCase().replaceAll('-', '_')}`;
}

function check(texts: ReadonlyMap<Flag, string>, environment: NodeJS.ProcessEnv): Options {
  // No flag: what stands on the command line every user of the machine can see.
  const keyList = environment.NOTES_API_KEYS || undefined;
  const { dbPassword, dbPasswordFile } = passwordSource(texts.get('db-password-file'), environment);
  const text = (flag: Flag) => texts.get(flag) ?? '';
  const host = text('host');
  const apiKeysFile = texts.get('api-keys-file');
  const apiKeys = listed(keyList);
  const count = processes(text('processes'));
  const threads = integer('max-threads', text('max-threads'), MAX_THREADS_LEAST, MAX_THREADS_MOST);
  const options: Options = {
    host,
    port: integer('port', text('port'), 0, PORT_MAX),
    db: database(text('db')),
    dbPassword,
    dbPasswordFile,
    baseUrl: url('base-url', texts.get('base-url')),
    problemBase: url('problem-base', texts.get('problem-base')),
    bodyLimitBytes: integer('body-limit', text('body-limit'), 1, BODY_LIMIT_MAX_BYTES),
    apiKeys,
    apiKeysFile,
    allowAnonymous: truth('allow-anonymous', texts.get('allow-anonymous')),
    rateLimit: rateLimit(texts.get('rate-limit') ?? (isLoopback(host) ? 'off' : PUBLIC_RATE_LIMIT)),
    trustProxy: truth('trust-proxy', texts.get('trust-proxy')),
    corsOrigins: listed(texts.get('cors-origin')).map(origin),
    processes: count,
    maxThreads: Math.max(MAX_THREADS_LEAST, Math.floor(threads / count)),
    metrics: !truth('no-metrics', texts.get('no-metrics')),
    logLevel: oneOf('log-level', text('log-level'), LOG_LEVELS),
    logFormat: oneOf('log-format', text('log-format'), LOG_FORMATS),
  };
  if (host === '') throw new UsageError('--host must not be empty');
  if (apiKeysFile === '') throw new UsageError('--api-keys-file must not be empty');
  if (keyList !== undefined && (apiKeys.length === 0 || !apiKeys.every(isKey))) {
    throw new UsageError('NOTES_API_KEYS takes keys of visible ASCII, parted by commas');
  }
  if (options.processes > 1 && options.db === ':memory:') {
    throw new UsageError('--processes needs a file: no other process sees what one has in memory');
  }
  const hasKeys = apiKeys.length > 0 || apiKeysFile !== undefined;
  if (!isLoopback(host) && !hasKeys && !options.allowAnonymous) {
    throw new UsageError(
      `${host} is not a loopback address: anybody could write. Set NOTES_API_KEYS or --api-keys-file, or say --allow-anonymous if you mean it`,
    );
  }
  return options;
}

/** Where the password of a cluster's user comes from, given what the flag says of its file. Throws {@link UsageError}. */
export function passwordSource(
  flag: string | undefined,
  environment: NodeJS.ProcessEnv,
): Pick<Options, 'dbPassword' | 'dbPasswordFile'> {
  const file = flag ?? fromEnvironment('db-password-file', environment);
  const { NOTES_DB_PASSWORD: text } = environment;
  if (file !== undefined && (file === '' || text)) {
    throw new UsageError('--db-password-file must not be empty, nor be given beside NOTES_DB_PASSWORD');
  }
  return { dbPassword: text || undefined, dbPasswordFile: file };
}

function processes(text: string): number {
  return text === 'auto'
    ? Math.min(availableParallelism(), PROCESSES_MOST)
    : integer('processes', text, 1, PROCESSES_MOST);
}

function rateLimit(text: string): number | undefined {
  return text === 'off' ? undefined : integer('rate-limit', text, 1, RATE_LIMIT_MOST);
}
