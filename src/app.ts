// The composition root: assembles the service for the command line, the library and the tests.

import { changesRoute } from './changes/feature.ts';
import { ChangeFeed } from './changes/feed.ts';
import { isLocal, type Options } from './cli/options.ts';
import { demonstrationRoutes } from './concurrency/feature.ts';
import { TASKS } from './concurrency/tasks.ts';
import { NoThreads, ThreadPool } from './concurrency/thread-pool.ts';
import { type Documentation, docsRoutes, loadDocumentation } from './docs/feature.ts';
import { problemRoutes } from './docs/problems.ts';
import { addressOf, clientNetwork } from './guards/client-address.ts';
import { keyRoute } from './guards/feature.ts';
import { createGuard } from './guards/guard.ts';
import type { KeyEntry } from './guards/key-file.ts';
import { type Keys, loadKeys } from './guards/keys.ts';
import { healthRoutes, metricsRoute } from './health/feature.ts';
import { Dispatcher } from './http/dispatch.ts';
import type { Sender } from './http/exchange.ts';
import { HTTP_LIMITS } from './http/limits.ts';
import type { Bases } from './http/paths.ts';
import { type Problem, unavailable } from './http/problem.ts';
import type { Route } from './http/route.ts';
import { HttpServer } from './http/server.ts';
import { type Log, logRequest, traceIdOf } from './log/log.ts';
import { Metrics } from './metrics/metrics.ts';
import { NO_SIBLINGS, type Siblings } from './processes/siblings.ts';
import { createSocket } from './processes/socket-path.ts';
import type { Resource } from './resources/resource.ts';
import { RESOURCES } from './resources/resources.ts';
import { noteTagRoutes } from './routes/note-tags.ts';
import { recordRoutes } from './routes/records.ts';
import { QueueFull } from './storage/batches/batcher.ts';
import { FreshMemory } from './storage/batches/fresh-memory.ts';
import { type CommitObserver, createWriter } from './storage/batches/writer.ts';
import {
  type Database,
  DatabaseDamaged,
  DatabaseFull,
  DatabaseUnavailable,
  DatabaseUncertain,
  ReadTooSlow,
} from './storage/database.ts';
import { IndexBehind, IndexFull, SearchIndexes } from './storage/index/search-index.ts';
import { Pages } from './storage/lists/pages.ts';
import { SlowReads, WaitedTooLong } from './storage/lists/slow-reads.ts';
import { openStorage } from './storage/open.ts';
import { createNoteTags } from './storage/records/note-tags.ts';
import { Table } from './storage/records/table.ts';
import { fileSizes } from './storage/sqlite/files.ts';

/** The service. Call {@link App.listen} at most once. */
export class App {
  readonly #options: Options;
  readonly #log: Log;
  readonly #siblings: Siblings;
  readonly #threads: ThreadPool;
  readonly #server: HttpServer;
  #dispatcher: Dispatcher | undefined;
  #database: Database | undefined;
  #indexes: SearchIndexes | undefined;
  #feed: ChangeFeed | undefined;
  #keys: Keys | undefined;
  #metrics: Metrics | undefined;
  /** Known when the server listens: only then does port 0 have its number. */
  #bases: Bases = { baseUrl: '', problemBase: '' };
  #isStopping = false;

  /** Opens and starts nothing. `siblings` gives access to the service's other processes, if any. */
  constructor(options: Options, log: Log, siblings = NO_SIBLINGS) {
    this.#options = options;
    this.#log = log;
    this.#siblings = siblings;
    this.#threads = new ThreadPool(TASKS, options.maxThreads);
    this.#server = new HttpServer({
      onRequest: (arrival) => {
        this.#metrics?.beginRequest();
        this.#dispatcher?.dispatch(arrival);
      },
      onRefused: (requestId, problem, sender) => {
        const { status, cause } = problem;
        this.#metrics?.recordRefusal(status);
        log.write('warn', 'refused', {
          request_id: requestId,
          trace_id: traceIdOf(sender.headers),
          client: this.#clientOf(sender),
          status,
          reason: cause,
        });
      },
      problemBase: () => this.#bases.problemBase,
      limits: { ...HTTP_LIMITS, keepAliveTimeoutMs: options.idleTimeoutS * 1_000 },
    });
  }

  /** Resolves with the URL or `unix:` and the path. If it rejects, it leaves nothing open. */
  async listen(): Promise<string> {
    const options = this.#options;
    const { host, port, socket } = options;
    // First, so that a broken installation creates no database.
    const documentation = await loadDocumentation();
    this.#keys = await loadKeys(options, this.#siblings.keys);
    const open = () =>
      openStorage('serve', options, (message, fields) =>
        this.#log.write('warn', message, { ...fields }),
      );
    this.#database = await this.#siblings.openDatabase(open, options.db.kind !== 'cluster');
    try {
      const memoryBytes = (options.cacheSizeMib * 1_048_576) / options.processes;
      const memory = new FreshMemory(this.#database.freshness, memoryBytes);
      if (!options.noMetrics) this.#startMetrics(memory);
      let url = `unix:${socket}`;
      if (socket === undefined) url = await this.#server.listen({ host, port });
      else await createSocket(socket, (hidden) => this.#server.listen({ path: hidden }));
      // Do not await below: a request could arrive before the dispatcher exists.
      const baseUrl = options.baseUrl ?? (socket === undefined ? url : 'http://localhost');
      this.#bases = { baseUrl, problemBase: options.problemBase ?? `${baseUrl}/problems` };
      const routes = this.#createRoutes(this.#database, memory, documentation);
      this.#dispatcher = this.#createDispatcher(routes, memory);
      return url;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  get keyCount(): number {
    return this.#keys?.entries.length ?? 0;
  }

  /** Reloads the key file, or uses `entries`; resolves with the number of keys. */
  async reloadKeys(entries?: readonly KeyEntry[]): Promise<number> {
    const count = (await this.#keys?.reload(entries)) ?? 0;
    this.#feed?.beginRoundSoon();
    return count;
  }

  /** Finishes requests in flight (within a time limit), then closes connections and database. */
  async close(): Promise<void> {
    this.#isStopping = true;
    // First, because the server waits for all answers, and streams do not end by themselves.
    this.#feed?.close();
    this.#database?.stopSoon?.();
    const serverClosed = this.#server.close();
    this.#threads.shutDown();
    await serverClosed;
    await this.#threads.close();
    // After the last answer: until then, handlers use them.
    await this.#indexes?.close();
    await this.#database?.close();
    this.#metrics?.close();
  }

  #createDispatcher(routes: readonly Route[], { inOneRun }: FreshMemory): Dispatcher {
    const options = this.#options;
    return new Dispatcher({
      routes,
      guard: createGuard({
        ...options,
        keys: this.#keys,
        baseUrl: this.#bases.baseUrl,
        loopback: isLocal(options),
        createLimiter: this.#siblings.createLimiter,
      }),
      bodyLimitBytes: options.bodyLimitBytes,
      problemBase: this.#bases.problemBase,
      onEnd: (ending) => {
        this.#metrics?.endRequest(ending);
        const { message, admission } = ending.exchange;
        logRequest(this.#log, ending, () => this.#clientOf(message, admission.key?.label));
      },
      networkOf: (sender) => clientNetwork(sender, options.trustProxy),
      toProblem,
      inOneRun,
    });
  }

  #clientOf(sender: Sender, key?: string): string {
    return key === undefined ? addressOf(sender, this.#options.trustProxy) : `key ${key}`;
  }

  #startMetrics(cache: FreshMemory): void {
    const { db } = this.#options;
    const threads = () => this.#threads.counts();
    const sizes = async () => (db.kind === 'file' ? fileSizes(db.name) : {});
    const keys = () => (this.#keys?.entries ?? []).map(({ label }) => label);
    const sources = { threads, fileSizes: sizes, cache, keys };
    this.#metrics = new Metrics(sources, this.#siblings.shareMetrics);
  }

  #createRoutes(database: Database, memory: FreshMemory, documentation: Documentation): Route[] {
    const meters = this.#metrics?.meters;
    const feed = new ChangeFeed(database);
    this.#feed = feed;
    // All tables share both: writes of all kinds form batches, and slow reads have one limit.
    const observers: CommitObserver[] = [memory, { end: () => feed.beginRoundSoon() }];
    const write = createWriter(database, observers, meters?.write);
    this.#indexes = new SearchIndexes(database, write);
    observers.push(this.#indexes);
    const slow = new SlowReads(meters?.page, database.patienceMs);
    const tables = new Map<Resource, Table>();
    for (const resource of RESOURCES) {
      tables.set(resource, new Table(resource, database, write, { meter: meters?.read, memory }));
    }
    return [
      ...healthRoutes(database, () => this.#isStopping),
      ...(this.#metrics ? [metricsRoute(this.#metrics)] : []),
      keyRoute(this.#keys),
      ...demonstrationRoutes(this.#threads),
      ...[...tables].flatMap(([resource, table]) => {
        const ownerTable = resource.owner && tables.get(resource.owner.resource);
        const index = this.#indexes?.of(resource);
        const pages = new Pages(resource, database, { meter: meters?.page, index, slow });
        return recordRoutes({ resource, table, pages, ownerTable, memory, bases: this.#bases });
      }),
      changesRoute(feed, this.#bases),
      ...noteTagRoutes(createNoteTags(database, write)),
      ...docsRoutes(documentation, this.#bases, this.#keys !== undefined),
      ...problemRoutes(this.#bases.problemBase),
    ];
  }
}

/** Shared instances: stack traces are too expensive for an overloaded service. */
const OVERLOADED = unavailable('Too many requests are waiting.', { heldBack: true });
const LATE = unavailable('Other searches have taken too long. Try again later.');
const TOO_SLOW = unavailable('The list takes too long to find. Ask for less, or try again later.');

const INDEX_FULL = 'The disk is full: the search index cannot follow the notes; other reads go on.';

const UNCERTAIN =
  'The database did not confirm this write; it may still be carried out. ' +
  'Repeat it with the same idempotency-key or if-match, or see the guide to clusters.';

/** Translates errors from storage and concurrency; returns undefined for any other error. */
function toProblem(error: unknown): Problem | undefined {
  if (error instanceof QueueFull) return OVERLOADED;
  if (error instanceof IndexBehind)
    return unavailable('The search index is catching up.', {}, error.retryAfterS);
  if (error instanceof WaitedTooLong) return LATE;
  if (error instanceof ReadTooSlow) return TOO_SLOW;
  if (error instanceof NoThreads) return unavailable(error.message);
  if (error instanceof DatabaseUncertain) return unavailable(UNCERTAIN, { cause: error });
  if (error instanceof DatabaseFull)
    return unavailable('The disk is full: writes are refused, reads go on.', { cause: error });
  if (error instanceof IndexFull) return unavailable(INDEX_FULL, { cause: error });
  if (!(error instanceof DatabaseUnavailable || error instanceof DatabaseDamaged)) return undefined;
  return unavailable('The database cannot serve this request now.', { cause: error });
}
