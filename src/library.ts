// The library: runs the service inside another program, for example in the tests of a client. It
// takes the options of the command and checks them in the same way.
import { App } from './app.ts';
import { UsageError } from './cli/arguments.ts';
import { libraryFlags, parseOptions } from './cli/options.ts';
import { LineLog } from './log/log.ts';

/** The options of a service, with the defaults of the command unless stated otherwise. */
export interface ServiceOptions {
  /** The path of a SQLite file, `:memory:` (nothing is stored), or the address of a cluster. */
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
  /** Keys that clients must send. Without keys and without `apiKeysFile`, none is required. */
  readonly apiKeys?: readonly string[] | undefined;
  readonly apiKeysFile?: string | undefined;
  readonly allowAnonymous?: boolean | undefined;
  /** Requests per minute for each client. */
  readonly rateLimit?: number | 'off' | undefined;
  readonly trustProxy?: boolean | undefined;
  readonly corsOrigin?: readonly string[] | undefined;
  readonly maxThreads?: number | undefined;
  readonly noMetrics?: boolean | undefined;
  /** The level of the log, which goes to standard error as lines of JSON. Default: `silent`. */
  readonly logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug' | undefined;
}

/** A service. It can be started once. */
export interface Service {
  /**
   * Opens the database and accepts requests; resolves with the URL of the service. Rejects if that
   * fails, and leaves nothing open. Also rejects, without effect, on a second call and after
   * `close`.
   */
  listen(): Promise<string>;
  /**
   * Finishes requests in flight (for 10 seconds at most), then closes the connections and the
   * database. May be called at any time and repeatedly.
   */
  close(): Promise<void>;
}

/** The flag of each option. Keys have none, because all users can read a command line. */
const FLAGS = libraryFlags();

/**
 * Returns a service that is not started yet. It handles no signals and never ends the process.
 * Throws an Error with a one-line message if an option is wrong.
 */
export function createApp(settings: ServiceOptions): Service {
  checkSettings(settings);
  const { port = 0, logLevel = 'silent', apiKeys = [], ...others } = settings;
  const options = parseOptions(toArguments({ port, logLevel, ...others }), {
    NOTES_API_KEYS: apiKeys.join(),
  });
  if (typeof options === 'string')
    throw new UsageError(`there is no option ${JSON.stringify(options)}`);
  // A dropped key could leave the service without access control.
  if (options.apiKeys.length !== apiKeys.length)
    throw new UsageError('no key may be empty or contain a comma');
  const app = new App(options, new LineLog(options.logLevel));
  let started: Promise<string> | undefined;
  let closed: Promise<void> | undefined;
  return {
    async listen() {
      if (started || closed)
        throw new Error(
          'a service listens only once and not after it was closed; create another one',
        );
      started = app.listen();
      return started;
    },
    close() {
      closed ??= end();
      return closed;
    },
  };

  async function end(): Promise<void> {
    const url = await started?.catch(() => undefined);
    // A service that failed to start has closed everything itself.
    if (url !== undefined) await app.close();
  }
}

/** Checks the types of settings, for callers in JavaScript, and that no option is unknown. */
function checkSettings(settings: Partial<ServiceOptions> | undefined): void {
  const { db, apiKeys = [], ...others } = settings ?? {};
  const unknown = Object.keys(others).find((name) => !FLAGS.has(name));
  if (unknown !== undefined) throw new UsageError(`there is no option ${JSON.stringify(unknown)}`);
  if (typeof db !== 'string')
    throw new UsageError('the option db is required: a file, :memory: or the address of a cluster');
  if (!Array.isArray(apiKeys)) throw new UsageError('apiKeys takes a list of keys');
}

/** Returns the settings as arguments of the command; a list becomes one flag per member. */
function toArguments(settings: Readonly<Record<string, unknown>>): string[] {
  return [...FLAGS].flatMap(([name, flag]) => {
    const setting = settings[name];
    if (setting === undefined || setting === false) return [];
    if (setting === true) return [`--${flag}`];
    return [setting].flat().map((value) => `--${flag}=${value}`);
  });
}
