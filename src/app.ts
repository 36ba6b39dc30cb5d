// The composition root: puts the parts of the service together for the command, the library and the
// tests.
import type { AddressInfo } from 'node:net';
import { isLoopback, type Options } from './cli/options.ts';
import { Demonstrations } from './concurrency/demonstrations.ts';
import { NoThreads } from './concurrency/no-threads.ts';
import { addressOf } from './guards/client-address.ts';
import { createGuard } from './guards/guard.ts';
import { type Keys, loadKeys } from './guards/keys.ts';
import { Dispatcher } from './http/dispatch.ts';
import { type Problem, problemTypes, unavailable } from './http/problem.ts';
import type { Outcome, Route, Sender } from './http/route.ts';
import { createRouter } from './http/router.ts';
import { HttpServer } from './http/server.ts';
import { traceIdOf } from './http/trace-context.ts';
import type { Log } from './log/log.ts';
import { logOutcome, logRefusal } from './log/request-log.ts';
import type { Metrics } from './metrics/metrics.ts';
import { ALONE, type Siblings } from './processes/siblings.ts';
import type { Resource } from './resources/resource.ts';
import { RESOURCES } from './resources/resources.ts';
import {
  type Bases,
  basePath,
  contractAt,
  type Documentation,
  docsRoutes,
  loadDocumentation,
} from './routes/docs.ts';
import { healthRoutes } from './routes/health.ts';
import { problemRoute } from './routes/problems.ts';
import { recordRoutes } from './routes/records.ts';
import { QueueFull } from './storage/batcher.ts';
import {
  type Database,
  DatabaseDamaged,
  DatabaseUnavailable,
  DatabaseUncertain,
} from './storage/database.ts';
import { openStorage } from './storage/open.ts';
import { fileSizes } from './storage/sqlite/files.ts';
import { createTable } from './storage/table.ts';
import { createWriter } from './storage/writer.ts';

/** The service. It can be started once. */
export class App {
  readonly #options: Options;
  readonly #log: Log;
  readonly #siblings: Siblings;
  readonly #demonstrations: Demonstrations;
  readonly #server: HttpServer;
  #dispatcher: Dispatcher | undefined;
  #database: Database | undefined;
  #keys: Keys | undefined;
  #metrics: Metrics | undefined;
  #bases: Bases = { baseUrl: '', problemBase: '' };
  #isStopping = false;

  /** Opens nothing. `siblings` are the other processes of the service, if any. */
  constructor(options: Options, log: Log, siblings = ALONE) {
    this.#options = options;
    this.#log = log;
    this.#siblings = siblings;
    this.#demonstrations = new Demonstrations(options.maxThreads);
    this.#server = new HttpServer({
      onRequest: (message, response, requestId, awaitsContinue) => {
        this.#metrics?.requests.begun();
        this.#dispatcher?.dispatch(message, response, requestId, awaitsContinue);
      },
      onRefused: (requestId, problem, sender) => {
        this.#metrics?.requests.refused(problemTypes[problem.slug].status);
        logRefusal(log, requestId, problem, this.#clientOf(sender));
      },
      problemBase: () => this.#bases.problemBase,
    });
  }

  /**
   * Opens the database and accepts requests; resolves with the URL. Rejects with DatabaseUnusable,
   * or with Node's error if the address is not available, and leaves nothing open.
   */
  async listen(): Promise<string> {
    const options = this.#options;
    const documentation = await loadDocumentation();
    this.#keys = await keysOf(options);
    const isLocal = options.db.kind !== 'cluster';
    this.#database = await this.#siblings.openDatabase(() => openStorage(options), isLocal);
    try {
      this.#metrics = options.noMetrics ? undefined : await this.#createMetrics();
      const routes = await this.#fixedRoutes(this.#database);
      const url = urlOf(await this.#server.listen(options.host, options.port));
      // No request can arrive before the return, because nothing below awaits.
      this.#bases = basesOf(options, url);
      routes.push(...this.#baseUrlRoutes(this.#database, documentation));
      this.#dispatcher = this.#createDispatcher(routes);
      return url;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Reads the file of keys again; resolves with their number. If it rejects, the old keys stay. */
  async reloadKeys(): Promise<number> {
    return (await this.#keys?.reload()) ?? 0;
  }

  /** Finishes requests in flight within a limit, then closes the connections and the database. */
  async close(): Promise<void> {
    this.#isStopping = true;
    const served = this.#server.close();
    await this.#demonstrations.shutDown();
    await served;
    await this.#demonstrations.close();
    await this.#database?.close();
    this.#metrics?.close();
  }

  #createDispatcher(routes: readonly Route[]): Dispatcher {
    const options = this.#options;
    const { baseUrl, problemBase } = this.#bases;
    return new Dispatcher({
      router: createRouter(routes),
      guard: createGuard({
        ...options,
        keys: this.#keys,
        baseUrl,
        loopback: isLoopback(options.host),
        createLimiter: this.#siblings.createLimiter,
      }),
      bodyLimitBytes: options.bodyLimitBytes,
      problemBase,
      onOutcome: (outcome, message) => this.#observe(outcome, message),
      toProblem,
    });
  }

  #observe(outcome: Outcome, sender: Sender): void {
    this.#metrics?.requests.ended(outcome);
    const client = this.#clientOf(sender, outcome.key);
    logOutcome(this.#log, outcome, client, traceIdOf(sender.headers));
  }

  /** Returns the name of a client in the log. */
  #clientOf(sender: Sender, key?: number): string {
    return key === undefined ? addressOf(sender, this.#options.trustProxy) : `key ${key}`;
  }

  async #createMetrics(): Promise<Metrics> {
    const { db } = this.#options;
    const { Metrics } = await import('./metrics/metrics.ts');
    const sources = {
      threads: () => this.#demonstrations.threads(),
      fileSizes: async () => (db.kind === 'file' ? fileSizes(db.name) : {}),
    };
    return new Metrics(sources, this.#siblings.shareMetrics);
  }

  /** Returns the routes that do not depend on the base URL. */
  async #fixedRoutes(database: Database): Promise<Route[]> {
    const metrics =
      this.#metrics && (await import('./routes/metrics.ts')).metricsRoute(this.#metrics);
    return [
      ...healthRoutes(database, () => this.#isStopping),
      ...(metrics ? [metrics] : []),
      ...this.#demonstrations.routes(),
    ];
  }

  /** Returns the routes whose answers contain the base URL or its path. */
  #baseUrlRoutes(database: Database, documentation: Documentation): Route[] {
    const meters = this.#metrics?.meters;
    const write = createWriter(database, meters?.write);
    const tables = new Map(
      RESOURCES.map((each) => [each, createTable(each, database, write, meters)]),
    );
    const prefix = basePath(this.#bases);
    const contract = contractAt(documentation, this.#bases);
    const tableOf = (owner: Resource['owner']) => owner && tables.get(owner.resource);
    return [
      ...[...tables].flatMap(([resource, table]) =>
        recordRoutes(resource, table, tableOf(resource.owner), prefix),
      ),
      ...docsRoutes(documentation, contract, this.#bases),
      problemRoute(contract),
    ];
  }
}

async function keysOf({ apiKeys, apiKeysFile }: Options): Promise<Keys | undefined> {
  const hasKeys = apiKeys.length > 0 || apiKeysFile !== undefined;
  return hasKeys ? loadKeys({ texts: apiKeys, file: apiKeysFile }) : undefined;
}

/** One shared instance, because an overloaded service creates no stack traces. */
const OVERLOADED = unavailable('Too many requests wait for the database.', { heldBack: true });

/** Translates errors of storage and concurrency; returns undefined for unexpected errors. */
function toProblem(error: unknown): Problem | undefined {
  if (error instanceof QueueFull) return OVERLOADED;
  if (error instanceof NoThreads) return unavailable(error.message);
  if (error instanceof DatabaseUncertain) {
    return unavailable('The database has not confirmed this write: it may have been carried out.', {
      cause: error,
    });
  }
  if (!(error instanceof DatabaseUnavailable || error instanceof DatabaseDamaged)) return undefined;
  return unavailable('The database cannot serve this request now.', { cause: error });
}

function basesOf({ baseUrl, problemBase }: Options, url: string): Bases {
  const base = baseUrl ?? url;
  return { baseUrl: base, problemBase: problemBase ?? `${base}/problems` };
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
