// The composition root: everything the service is made of, put together in one place. The launcher and the tests both
// start here.
import type { AddressInfo } from 'node:net';
import { collectionRoutes } from './collections/collection.ts';
import { comments } from './collections/comments.ts';
import { notes } from './collections/notes.ts';
import { tags } from './collections/tags.ts';
import { createDemonstrations, type Demonstrations } from './concurrency/demonstrations.ts';
import { type Bases, basePath, type Documentation, describe, docsRoutes, loadDocumentation } from './docs.ts';
import { createGuard } from './guards/guard.ts';
import { type Keys, loadKeys } from './guards/keys.ts';
import { healthRoutes } from './health.ts';
import { createDispatcher, type Outcome, type Route } from './http/dispatch.ts';
import { type Problem, problemTypes, unavailable } from './http/problem.ts';
import { createRouter } from './http/router.ts';
import { createHttpServer, type RequestListener } from './http/server.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { isLoopback, type Options } from './options.ts';
import { problemRoute } from './problems.ts';
import { ALONE, type Siblings } from './processes/siblings.ts';
import {
  type Database,
  DatabaseDamaged,
  DatabaseOverloaded,
  DatabaseUnavailable,
  DatabaseUncertain,
} from './storage/database.ts';
import { fileSizes } from './storage/file-sizes.ts';
import { openStorage } from './storage/open.ts';
import { parseCluster } from './storage/rqlite-address.ts';
import { createTable } from './storage/table.ts';
import { createWriter } from './storage/writer.ts';

/** The service, ready to be started once. */
export interface App {
  /**
   * Opens the database and accepts requests; resolves with the URL it listens on. Rejects with DatabaseUnusable, or
   * with Node's error if the address cannot be had; nothing stays open then.
   */
  listen(): Promise<string>;
  /** Reads the file of keys again and says how many there are; rejects, and the old ones stay, if that cannot be done. */
  reloadKeys(): Promise<number>;
  /** Lets requests in flight finish (for a bounded time), closes the connections and then the database. */
  close(): Promise<void>;
}

/** Returns the service made of `options`, telling `log` what happens; maybe one of several. Nothing is opened yet. */
export function createApp(options: Options, log: Log, siblings: Siblings = ALONE): App {
  let database: Database | undefined;
  let keys: Keys | undefined;
  let bases: Bases = { baseUrl: '', problemBase: '' };
  let dispatch: RequestListener | undefined;
  let metrics: Metrics | undefined;
  let stopping = false;
  const demonstrations = createDemonstrations(options.maxThreads);

  const server = createHttpServer({
    onRequest(message, response, requestId, awaitsContinue) {
      metrics?.begun();
      dispatch?.(message, response, requestId, awaitsContinue);
    },
    onRefused(requestId, problem) {
      metrics?.refused(problemTypes[problem.slug].status);
      logRefusal(log, requestId, problem);
    },
    problemBase: () => bases.problemBase,
  });

  return {
    async listen() {
      const documentation = await loadDocumentation();
      keys = await keysOf(options);
      database = await siblings.share(() => openStorage(options), parseCluster(options.db) === undefined);
      try {
        metrics = await metricsOf(options, demonstrations, siblings);
        const address = await server.listen(options.host, options.port);
        const url = urlOf(address);
        bases = basesOf(options, url);
        // From here to the end there is no pause in which a request could arrive.
        dispatch = createDispatcher({
          router: createRouter(routesOf(database, demonstrations, documentation, bases, metrics, () => stopping)),
          guard: createGuard({
            ...options,
            keys,
            baseUrl: bases.baseUrl,
            loopback: isLoopback(options.host),
            createLimiter: siblings.createLimiter,
          }),
          bodyLimitBytes: options.bodyLimitBytes,
          problemBase: bases.problemBase,
          onOutcome(outcome) {
            metrics?.ended(outcome);
            logOutcome(log, outcome);
          },
          toProblem,
        });
        return url;
      } catch (error) {
        await close();
        throw error;
      }
    },
    reloadKeys: async () => (await keys?.reload()) ?? 0,

    close,
  };

  async function close(): Promise<void> {
    stopping = true;
    const served = server.close();
    await demonstrations.shutDown();
    await served;
    await demonstrations.close();
    await database?.close();
    metrics?.close();
  }
}

async function keysOf({ apiKeys, apiKeysFile }: Options): Promise<Keys | undefined> {
  return apiKeys.length > 0 || apiKeysFile !== undefined ? loadKeys({ texts: apiKeys, file: apiKeysFile }) : undefined;
}

/** Loaded only where they are wanted, for that takes a while. */
async function metricsOf(
  { metrics, db }: Options,
  { threads }: Demonstrations,
  { shareCounts }: Siblings,
): Promise<Metrics | undefined> {
  if (!metrics) return undefined;
  const { createMetrics } = await import('./metrics.ts');
  const isFile = db !== ':memory:' && parseCluster(db) === undefined;
  return createMetrics({ threads, fileSizes: async () => (isFile ? fileSizes(db) : {}) }, shareCounts);
}

function routesOf(
  database: Database,
  demonstrations: Demonstrations,
  documentation: Documentation,
  bases: Bases,
  metrics: Metrics | undefined,
  isStopping: () => boolean,
): Route[] {
  const meters = metrics?.meters;
  const write = createWriter(database, meters?.write);
  const noteTable = createTable(notes.shape, database, write, meters);
  const tagTable = createTable(tags.shape, database, write, meters);
  const commentTable = createTable(comments.shape, database, write, meters);
  const prefix = basePath(bases);
  const contract = describe(documentation, bases);
  return [
    ...collectionRoutes(notes, noteTable, undefined, prefix),
    ...collectionRoutes(tags, tagTable, undefined, prefix),
    ...collectionRoutes(comments, commentTable, noteTable, prefix),
    ...healthRoutes(database, isStopping),
    ...docsRoutes(documentation, contract, bases),
    problemRoute(contract),
    ...(metrics ? [metrics.route] : []),
    ...demonstrations.routes,
  ];
}

/** Made once, as the error is that it stands for. */
const OVERLOADED = unavailable('Too many requests wait for the database.', { heldBack: true });

function toProblem(error: unknown): Problem | undefined {
  if (error instanceof DatabaseOverloaded) return OVERLOADED;
  if (error instanceof DatabaseUncertain) {
    return unavailable('The database has not confirmed this write: it may have been carried out.', { cause: error });
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

function logOutcome(log: Log, outcome: Outcome): void {
  const { requestId, method, template, status, milliseconds, error, reason } = outcome;
  const failed = status === 500 || error !== undefined;
  log.write(failed ? 'error' : levelOf(status), 'request', {
    request_id: requestId,
    method,
    route: template,
    status,
    ms: Math.round(milliseconds * 1_000) / 1_000,
    error,
    reason,
  });
}

function logRefusal(log: Log, requestId: string, { slug, cause }: Problem): void {
  const { status } = problemTypes[slug];
  log.write(levelOf(status), 'refused', { request_id: requestId, status, reason: cause });
}

function levelOf(status = 0): 'warn' | 'info' {
  return status >= 400 ? 'warn' : 'info';
}
