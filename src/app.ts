// The composition root: assembles the service for the command line, the library and the tests.
import type { AddressInfo } from 'node:net';
import { isLocal, keySourceOf, type Options } from './cli/options.ts';
import { Demonstrations } from './concurrency/demonstrations.ts';
import { NoThreads } from './concurrency/no-threads.ts';
import { addressOf, clientNetwork } from './guards/client-address.ts';
import { createGuard } from './guards/guard.ts';
import { type Keys, loadKeys } from './guards/keys.ts';
import { Dispatcher } from './http/dispatch.ts';
import { HTTP_LIMITS } from './http/limits.ts';
import { type Problem, problemTypes, unavailable } from './http/problem.ts';
import type { Outcome, Route, Sender } from './http/route.ts';
import { createRouter } from './http/router.ts';
import { HttpServer } from './http/server.ts';
import type { Log } from './log/log.ts';
import { logOutcome, logRefusal } from './log/request-log.ts';
import { traceIdOf } from './log/trace-context.ts';
import type { Metrics } from './metrics/metrics.ts';
import { NO_SIBLINGS, type Siblings } from './processes/siblings.ts';
import type { Resource } from './resources/resource.ts';
import { LINKS, linkOf, RESOURCES } from './resources/resources.ts';
import { changesRoute } from './routes/changes.ts';
import {
  type Bases,
  contractAt,
  type Documentation,
  docsRoutes,
  loadDocumentation,
} from './routes/docs.ts';
import { healthRoutes } from './routes/health.ts';
import { LinkMember } from './routes/link-member.ts';
import { linkRoutes } from './routes/links.ts';
import { problemRoutes } from './routes/problems.ts';
import { recordRoutes } from './routes/records.ts';
import { QueueFull } from './storage/batches/batcher.ts';
import { FreshMemory } from './storage/batches/fresh-memory.ts';
import { ChangeFeed } from './storage/changes/feed.ts';
import {
  type Database,
  DatabaseDamaged,
  DatabaseUnavailable,
  DatabaseUncertain,
  ReadTooSlow,
} from './storage/database.ts';
import { IndexBehind, SearchIndexes } from './storage/index/search-index.ts';
import { SlowLane, WaitedTooLong } from './storage/lists/slow-reads.ts';
import { openStorage } from './storage/open.ts';
import { createLinkedTable } from './storage/records/linked-writes.ts';
import { createLinks } from './storage/records/links.ts';
import { createTable } from './storage/records/table.ts';
import { fileSizes } from './storage/sqlite/files.ts';

const MIB = 1_048_576;

/** The service. Call {@link App.listen} at most once. */
export class App {
  readonly #options: Options;
  readonly #log: Log;
  readonly #siblings: Siblings;
  readonly #demonstrations: Demonstrations;
  readonly #server: HttpServer;
  #dispatcher: Dispatcher | undefined;
  #database: Database | undefined;
  #indexes: SearchIndexes | undefined;
  #feed: ChangeFeed | undefined;
  #keys: Keys | undefined;
  #metrics: Metrics | undefined;
  #bases: Bases = { baseUrl: '', problemBase: '' };
  #isStopping = false;

  /** Opens and starts nothing. `siblings` gives access to the service's other processes, if any. */
  constructor(options: Options, log: Log, siblings = NO_SIBLINGS) {
    this.#options = options;
    this.#log = log;
    this.#siblings = siblings;
    this.#demonstrations = new Demonstrations(options.maxThreads);
    this.#server = new HttpServer({
      onRequest: (message, response, requestId, awaitsContinue) => {
        this.#metrics?.requests.begin();
        this.#dispatcher?.dispatch(message, response, requestId, awaitsContinue);
      },
      onRefused: (requestId, problem, sender) => {
        this.#metrics?.requests.recordRefusal(problemTypes[problem.slug].status);
        const traceId = traceIdOf(sender.headers);
        logRefusal(log, requestId, problem, this.#clientOf(sender), traceId);
      },
      problemBase: () => this.#bases.problemBase,
      limits: { ...HTTP_LIMITS, keepAliveTimeoutMs: options.idleTimeoutS * 1_000 },
    });
  }

  /**
   * Opens the database and starts to accept requests; resolves with the URL, or with `unix:` and
   * the path of the socket. If a file, the database or the address cannot be used, rejects with the
   * error and leaves nothing open.
   */
  async listen(): Promise<string> {
    const options = this.#options;
    const documentation = await loadDocumentation();
    const keySource = keySourceOf(options);
    this.#keys = keySource && (await loadKeys(keySource));
    const needsLease = options.db.kind !== 'cluster';
    const onForeignLog = (kept: string) =>
      this.#log.write('warn', 'the log of another file was set aside', { kept });
    const open = () => openStorage('serve', options, onForeignLog);
    this.#database = await this.#siblings.openDatabase(open, needsLease);
    try {
      const memory = this.#createMemory(this.#database);
      this.#metrics = options.noMetrics ? undefined : await this.#createMetrics(memory);
      const routes = await this.#createFixedRoutes(this.#database);
      const url = await this.#listen();
      // Do not await below: a request could arrive before the dispatcher exists.
      this.#bases = resolveBases(options, url);
      routes.push(...this.#createBaseUrlRoutes(this.#database, memory, documentation));
      this.#dispatcher = this.#createDispatcher(routes);
      return url;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** How many keys are valid; 0 if the service requires none. */
  get keyCount(): number {
    return this.#keys?.count ?? 0;
  }

  /**
   * Reloads the key file and ends all streams, which need a valid key to begin again; resolves with
   * the number of keys. If it rejects, keeps the old keys.
   */
  async reloadKeys(): Promise<number> {
    const count = (await this.#keys?.reload()) ?? 0;
    this.#feed?.endTerm();
    return count;
  }

  /** Finishes requests in flight (within a time limit), then closes connections and database. */
  async close(): Promise<void> {
    this.#isStopping = true;
    this.#feed?.close();
    const serverClosed = this.#server.close();
    await this.#demonstrations.shutDown();
    await serverClosed;
    await this.#demonstrations.close();
    await this.#indexes?.close();
    await this.#database?.close();
    this.#metrics?.close();
  }

  async #listen(): Promise<string> {
    const { host, port, socket } = this.#options;
    if (socket === undefined) return formatUrl(await this.#server.listen(host, port));
    await this.#server.listenOnSocket(socket);
    return `unix:${socket}`;
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
        loopback: isLocal(options),
        createLimiter: this.#siblings.createLimiter,
      }),
      bodyLimitBytes: options.bodyLimitBytes,
      problemBase,
      onOutcome: (outcome, message) => this.#observe(outcome, message),
      networkOf: (sender) => clientNetwork(sender, options.trustProxy),
      toProblem,
    });
  }

  #observe(outcome: Outcome, sender: Sender): void {
    this.#metrics?.requests.end(outcome);
    const client = this.#clientOf(sender, outcome.key);
    logOutcome(this.#log, outcome, client, traceIdOf(sender.headers));
  }

  /** Returns the name of a client in the log. */
  #clientOf(sender: Sender, key?: number): string {
    return key === undefined ? addressOf(sender, this.#options.trustProxy) : `key ${key}`;
  }

  #createMemory({ freshness }: Database): FreshMemory {
    const { cacheSizeMib, processes } = this.#options;
    return new FreshMemory(freshness, (cacheSizeMib * MIB) / processes);
  }

  async #createMetrics(cache: FreshMemory): Promise<Metrics> {
    const { db } = this.#options;
    const { Metrics } = await import('./metrics/metrics.ts');
    const sources = {
      threads: () => this.#demonstrations.threads(),
      fileSizes: async () => (db.kind === 'file' ? fileSizes(db.name) : {}),
      cache,
    };
    return new Metrics(sources, this.#siblings.shareMetrics);
  }

  /** Returns the routes that do not depend on the base URL. */
  async #createFixedRoutes(database: Database): Promise<Route[]> {
    const metrics =
      this.#metrics && (await import('./routes/metrics.ts')).metricsRoute(this.#metrics);
    return [
      ...healthRoutes(database, () => this.#isStopping),
      ...(metrics ? [metrics] : []),
      ...this.#demonstrations.routes(),
    ];
  }

  /** Returns the routes whose answers contain the base URL or its path. */
  #createBaseUrlRoutes(
    database: Database,
    memory: FreshMemory,
    documentation: Documentation,
  ): Route[] {
    const meters = this.#metrics?.meters;
    const feed = new ChangeFeed(database);
    this.#feed = feed;
    this.#indexes = new SearchIndexes(database, {
      meter: meters?.write,
      memory,
      onWritten: () => feed.noticeWrites(),
    });
    const { write } = this.#indexes;
    const lane = new SlowLane(meters?.page);
    const tables = new Map(
      RESOURCES.map((resource) => [
        resource,
        createTable(resource, database, write, {
          meters,
          index: this.#indexes?.of(resource),
          memory,
          lane,
        }),
      ]),
    );
    const contract = contractAt(documentation, this.#bases);
    const linkMember = (resource: Resource) => {
      const { link, isFirst } = linkOf(resource) ?? {};
      return link && isFirst ? new LinkMember(link, createLinkedTable(link, write)) : undefined;
    };
    const findTable = (owner: Resource['owner']) => owner && tables.get(owner.resource);
    return [
      ...[...tables].flatMap(([resource, table]) =>
        recordRoutes(
          resource,
          table,
          findTable(resource.owner),
          this.#bases,
          memory,
          linkMember(resource),
        ),
      ),
      changesRoute(database, feed),
      ...LINKS.flatMap((link) => linkRoutes(link, createLinks(link, database, write))),
      ...docsRoutes(documentation, contract, this.#bases, this.#keys !== undefined),
      ...problemRoutes(contract),
    ];
  }
}

/** Shared instances: stack traces are too expensive for an overloaded service. */
const OVERLOADED = unavailable('Too many requests are waiting.', { heldBack: true });
const LATE = unavailable('Other searches have taken too long. Try again later.');
const TOO_SLOW = unavailable('The list takes too long to find. Ask for less, or try again later.');

/** Translates errors from storage and concurrency; returns undefined for any other error. */
function toProblem(error: unknown): Problem | undefined {
  if (error instanceof QueueFull) return OVERLOADED;
  if (error instanceof IndexBehind)
    return unavailable('The search index is catching up.', { retryAfterS: error.retryAfterS });
  if (error instanceof WaitedTooLong) return LATE;
  if (error instanceof ReadTooSlow) return TOO_SLOW;
  if (error instanceof NoThreads) return unavailable(error.message);
  if (error instanceof DatabaseUncertain) {
    return unavailable('The database did not confirm this write; it may have been carried out.', {
      cause: error,
    });
  }
  if (!(error instanceof DatabaseUnavailable || error instanceof DatabaseDamaged)) return undefined;
  return unavailable('The database cannot serve this request now.', { cause: error });
}

function resolveBases({ baseUrl, problemBase, socket }: Options, url: string): Bases {
  const base = baseUrl ?? (socket === undefined ? url : 'http://localhost');
  return { baseUrl: base, problemBase: problemBase ?? `${base}/problems` };
}

function formatUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
