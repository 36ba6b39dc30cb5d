// What `import ... from 'notes-server'` gives: the service inside another program, for tests of programs that use it. It
// takes the options of the command and checks them as the command does.
import { createApp as createAppOf } from './app.ts';
import { createLog } from './log.ts';
import { UsageError } from './option-values.ts';
import { parseOptions } from './options.ts';

/** How a service is to be: the options of the command in camel case, with its defaults where nothing else is said here. */
export interface ServiceOptions {
  /** The path of a SQLite file, `:memory:` (nothing is kept), or the address of a cluster. */
  readonly db: string;
  readonly dbPasswordFile?: string | undefined;
  readonly host?: string | undefined;
  /** Any free port if it is not given. */
  readonly port?: number | undefined;
  readonly baseUrl?: string | undefined;
  readonly problemBase?: string | undefined;
  /** In bytes. */
  readonly bodyLimit?: number | undefined;
  /** Keys that let clients in; without any, and without `apiKeysFile`, everybody may come in. */
  readonly apiKeys?: readonly string[] | undefined;
  readonly apiKeysFile?: string | undefined;
  readonly allowAnonymous?: boolean | undefined;
  /** Requests a minute for each client. */
  readonly rateLimit?: number | 'off' | undefined;
  readonly trustProxy?: boolean | undefined;
  readonly corsOrigin?: readonly string[] | undefined;
  readonly maxThreads?: number | undefined;
  readonly noMetrics?: boolean | undefined;
  /** How much is written to standard error, as lines of JSON; `silent` if it is not given. */
  readonly logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug' | undefined;
}

/** A service, ready to be started once. */
export interface Service {
  /**
   * Opens the database and accepts requests; resolves with the URL of the service. Rejects, and nothing stays open, if it
   * cannot. Rejects, and changes nothing, if it was called before or the service was closed.
   */
  listen(): Promise<string>;
  /**
   * Finishes what is in flight (10 seconds at most), a start included, then closes connections and database. Can be called
   * at any time, and twice.
   */
  close(): Promise<void>;
}

/** The flags of the command that say the same. The keys have none: others can read a command line. */
const FLAGS: Readonly<Record<Exclude<keyof ServiceOptions, 'apiKeys'>, string>> = {
  db: 'db',
  dbPasswordFile: 'db-password-file',
  host: 'host',
  port: 'port',
  baseUrl: 'base-url',
  problemBase: 'problem-base',
  bodyLimit: 'body-limit',
  apiKeysFile: 'api-keys-file',
  allowAnonymous: 'allow-anonymous',
  rateLimit: 'rate-limit',
  trustProxy: 'trust-proxy',
  corsOrigin: 'cors-origin',
  maxThreads: 'max-threads',
  noMetrics: 'no-metrics',
  logLevel: 'log-level',
};

/**
 * Returns a service that is not started yet. It minds no signals and does not end the process. Throws an Error whose message
 * is one line if an option is wrong.
 */
export function createApp(settings: ServiceOptions): Service {
  check(settings);
  const { port = 0, logLevel = 'silent', apiKeys = [], ...others } = settings;
  const options = parseOptions(toArguments({ port, logLevel, ...others }), { NOTES_API_KEYS: apiKeys.join() });
  if (typeof options === 'string') throw new UsageError(`--${options} is for the command alone`);
  // None that was meant may get lost, or the service would be open.
  if (options.apiKeys.length !== apiKeys.length) throw new UsageError('no key may be empty or have a comma in it');
  const app = createAppOf(options, createLog(options.logLevel));
  let started: Promise<string> | undefined;
  let closed: Promise<void> | undefined;
  return {
    async listen() {
      if (started || closed) throw new Error('a service listens once, and not after it was closed: make another one');
      started = app.listen();
      return started;
    },
    close() {
      closed ??= end();
      return closed;
    },
  };

  async function end(): Promise<void> {
    const isUp = await started?.then(
      () => true,
      () => false,
    );
    // One that could not start has closed what it had opened.
    if (isUp) await app.close();
  }
}

/** Refuses what no compiler has seen, in a program in JavaScript, and what would be taken for something else below. */
function check(settings: Partial<ServiceOptions> | undefined): void {
  const { db, apiKeys = [], ...others } = settings ?? {};
  const unknown = Object.keys(others).find((name) => !Object.hasOwn(FLAGS, name));
  if (unknown !== undefined) throw new UsageError(`there is no option ${JSON.stringify(unknown)}`);
  if (typeof db !== 'string') throw new UsageError('db has to be said: a file, :memory: or the address of a cluster');
  if (!Array.isArray(apiKeys)) throw new UsageError('apiKeys takes a list of keys');
}

/** The command line that says the same; of a list it has a flag for each member. */
function toArguments(settings: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(FLAGS).flatMap(([name, flag]) => {
    const setting = settings[name];
    if (setting === undefined || setting === false) return [];
    if (setting === true) return [`--${flag}`];
    return [setting].flat().map((value) => `--${flag}=${value}`);
  });
}
