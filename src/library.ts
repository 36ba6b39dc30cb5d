// The library: runs the service inside another program, with the options of the command line.
import { type App, startApp } from './app.ts';
import { UsageError } from './cli/arguments.ts';
import { libraryFlags, type Options, parseOptions } from './cli/options.ts';
import { LineLog } from './log/log.ts';

/** The options of a service, with the defaults of the command unless stated otherwise. */
export interface ServiceOptions {
  /** The path of a SQLite file, `:memory:` (lost on close), or the address of a cluster. */
  readonly db: string;
  readonly dbPasswordFile?: string | undefined;
  readonly host?: string | undefined;
  /** Default: any free port. */
  readonly port?: number | undefined;
  readonly baseUrl?: string | undefined;
  readonly problemBase?: string | undefined;
  /** In bytes. */
  readonly bodyLimit?: number | undefined;
  /** How long idle connections stay open, in seconds. */
  readonly idleTimeout?: number | undefined;
  /** Clients must send one of these keys or of those in `apiKeysFile`. Default: no key required. */
  readonly apiKeys?: readonly string[] | undefined;
  readonly apiKeysFile?: string | undefined;
  readonly allowAnonymous?: boolean | undefined;
  /** Requests per minute for each client. */
  readonly rateLimit?: number | 'off' | undefined;
  readonly trustProxy?: boolean | undefined;
  readonly corsOrigin?: readonly string[] | undefined;
  readonly historyDays?: number | undefined;
  readonly maxThreads?: number | undefined;
  /** In MiB. */
  readonly cacheSize?: number | undefined;
  readonly noMetrics?: boolean | undefined;
  readonly noMcp?: boolean | undefined;
  /** The level of the log, JSON lines on standard error. Default: `silent`. */
  readonly logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug' | undefined;
}

/** A service. It can be started once. */
export interface Service {
  /** Resolves with the URL of the service; rejects if called again or after `close`. */
  listen(): Promise<string>;
  /** Finishes requests in flight (for 10 seconds at most), then closes all; may be repeated. */
  close(): Promise<void>;
}

/** The flag of each option. Keys have none: every user of the machine can read a command line. */
const FLAGS = libraryFlags();

/** Returns a service that is not started yet. Throws a one-line Error if an option is wrong. */
export function createApp(settings: ServiceOptions): Service {
  const options = optionsOf(settings);
  let started: Promise<App> | undefined;
  let closed: Promise<void> | undefined;
  return {
    async listen() {
      if (started || closed)
        throw new Error(
          'listen() can be called only once and not after close(): create a new service',
        );
      started = startApp(options, new LineLog(options.logLevel));
      return (await started).address;
    },
    close() {
      // If `listen` failed, it has already closed everything.
      closed ??= Promise.resolve(started)
        .catch(() => undefined)
        .then((app) => app?.close());
      return closed;
    },
  };
}

/** Checks the settings as the command line does, and for errors that only JavaScript can make. */
function optionsOf(settings: Partial<ServiceOptions> | undefined): Options {
  const { db, port = 0, logLevel = 'silent', apiKeys = [], ...others } = settings ?? {};
  const unknown = Object.keys(others).find((name) => !FLAGS.has(name));
  if (unknown !== undefined) throw new UsageError(`unknown option ${JSON.stringify(unknown)}`);
  if (typeof db !== 'string')
    throw new UsageError('the option db is required: a file, :memory: or the address of a cluster');
  if (!Array.isArray(apiKeys)) throw new UsageError('apiKeys must be an array of keys');
  const flags = Object.entries({ db, port, logLevel, ...others }).map(([name, setting]) => [
    FLAGS.get(name),
    // As text, an empty element of a list would vanish.
    Array.isArray(setting) ? setting.map(String) : setting,
  ]);
  const options = parseOptions(Object.fromEntries(flags), { NOTES_API_KEYS: apiKeys.join() });
  // The parser drops empty keys, and a service without keys lets everyone write.
  if (options.apiKeys.length !== apiKeys.length)
    throw new UsageError('an API key must not be empty or contain a comma');
  return options;
}
