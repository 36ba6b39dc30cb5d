// The table of all options: command line, environment, --help and library derive from it.
import { HTTP_LIMITS } from '../http/limits.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../log/log.ts';
import type { Flag } from './arguments.ts';
import * as values from './option-values.ts';

/** The declaration of an option; its variable is NOTES_FLAG, its name in the library camel case. */
export interface Declaration extends Flag {
  /** A variable in common use that applies if NOTES_FLAG is not set. */
  readonly variable?: string;
  readonly commandOnly?: boolean;
  /** Parses the text from the flag or variable `name`, or the default. Throws UsageError. */
  readonly parse: (text: string, name: string) => unknown;
}

const SWITCH = { default: 'false', parse: values.parseSwitch } as const;

/** The default rate limit of a service that other machines can reach. */
export const PUBLIC_RATE_LIMIT = 600;

/** The largest demonstration needs this many threads. */
export const MIN_THREADS = 16;

/** All options, in the order of --help: those of the README, which are used most, come first. */
export const OPTIONS = {
  host: {
    flag: 'host',
    value: 'ADDRESS',
    default: '127.0.0.1',
    variable: 'HOST',
    help: 'address to listen on',
    parse: values.parseHost,
  },
  port: {
    flag: 'port',
    value: 'PORT',
    default: '3000',
    variable: 'PORT',
    help: 'port to listen on; 0 takes any free one',
    parse: values.integer(0, 65_535),
  },
  db: {
    flag: 'db',
    value: 'FILE',
    default: 'notes.db',
    help: 'SQLite file, created if missing; :memory: keeps nothing; or a cluster, see below',
    parse: values.parseDatabase,
  },
  apiKeysFile: {
    flag: 'api-keys-file',
    value: 'FILE',
    help: 'keys that clients must send, one per line; read again on SIGHUP',
    parse: values.parseText,
  },
  rateLimit: {
    flag: 'rate-limit',
    value: 'N',
    help:
      'requests per minute for each client, or off ' +
      `(default: off on loopback, else ${PUBLIC_RATE_LIMIT})`,
    parse: values.parseRateLimit,
  },
  /** Without a slash at the end; undefined: the address on which the service listens. */
  baseUrl: {
    flag: 'base-url',
    value: 'URL',
    help: 'where clients reach the service (default: where it listens)',
    parse: values.parseUrl,
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
    parse: values.parseProcesses,
  },
  socket: {
    flag: 'socket',
    value: 'PATH',
    commandOnly: true,
    help: 'Unix socket to listen on for a proxy, instead of host and port',
    parse: values.parseSocket,
  },
  idleTimeoutS: {
    flag: 'idle-timeout',
    value: 'SECONDS',
    default: `${HTTP_LIMITS.keepAliveTimeoutMs / 1_000}`,
    help: 'how long idle connections stay open; must exceed the idle timeout of a proxy in front',
    parse: values.integer(1, 3_600),
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
    parse: values.parseOrigins,
  },
  bodyLimitBytes: {
    flag: 'body-limit',
    value: 'BYTES',
    default: '1048576',
    help: 'largest request body',
    parse: values.integer(1, 268_435_456),
  },
  /** Without a slash at the end; undefined: `{baseUrl}/problems`. */
  problemBase: {
    flag: 'problem-base',
    value: 'URL',
    help: 'URL with which problem types begin (default: BASE-URL/problems)',
    parse: values.parseUrl,
  },
  dbPasswordFile: {
    flag: 'db-password-file',
    value: 'FILE',
    help: "holds the password of a cluster's user",
    parse: values.parseText,
  },
  historyDays: {
    flag: 'history-days',
    value: 'N',
    default: '30',
    help: 'days to keep deleted notes and earlier texts; 0 keeps none',
    parse: values.integer(0, 36_500),
  },
  maxThreads: {
    flag: 'max-threads',
    value: 'N',
    default: '64',
    help: 'threads that demonstrations may use at one time, at least 16',
    parse: values.integer(MIN_THREADS, 1_024),
  },
  /** For all processes together. */
  cacheSizeMib: {
    flag: 'cache-size',
    value: 'MIB',
    default: '64',
    help: 'memory for records and pages that were read or written lately; 0 keeps none',
    parse: values.integer(0, 65_536),
  },
  noMetrics: { flag: 'no-metrics', help: 'disable metrics and /metrics', ...SWITCH },
  noMcp: { flag: 'no-mcp', help: 'disable /mcp, the tools for assistants', ...SWITCH },
  logLevel: {
    flag: 'log-level',
    value: 'LEVEL',
    default: 'info',
    help: `one of ${LOG_LEVELS.join(', ')}`,
    parse: values.oneOf(LOG_LEVELS),
  },
  logFormat: {
    flag: 'log-format',
    value: 'FORMAT',
    default: 'auto',
    commandOnly: true,
    help: `one of ${LOG_FORMATS.join(', ')}; auto is pretty on a terminal and json elsewhere`,
    parse: values.oneOf(LOG_FORMATS),
  },
} as const satisfies Readonly<Record<string, Declaration>>;
