// The composition root: assembles the service for the command line, the library and the tests.
import { chmodSync } from 'node:fs';
import { assistants } from './assistants/feature.ts';
import { changes } from './changes/feature.ts';
import { isLocal, type Options } from './cli/options.ts';
import { demonstrations } from './concurrency/feature.ts';
import { docs } from './docs/feature.ts';
import { edits } from './edits/feature.ts';
import { exported } from './export/feature.ts';
import type { Core, EarlyFeature, Feature, Places } from './feature.ts';
import { type Guarded, guards, type SharedGuards } from './guards/feature.ts';
import type { KeyEntry } from './guards/key-file.ts';
import { health } from './health/feature.ts';
import { history, keepFor } from './history/feature.ts';
import { Dispatcher } from './http/dispatch.ts';
import { HTTP_LIMITS } from './http/limits.ts';
import type { Bases } from './http/paths.ts';
import { type Problem, unavailable } from './http/problem.ts';
import type { Route } from './http/route.ts';
import { HttpServer } from './http/server.ts';
import { createSlowReads, lists } from './lists/feature.ts';
import { requestLog } from './log/feature.ts';
import type { Log } from './log/log.ts';
import { memory } from './memory/feature.ts';
import { metrics } from './metrics/feature.ts';
import { names } from './names/feature.ts';
import { openStorage } from './open.ts';
import { type RecordFeature, records } from './records/feature.ts';
import { retries } from './retries/feature.ts';
import { search } from './search/feature.ts';
import { QueueFull } from './storage/batcher.ts';
import {
  type Database,
  DatabaseDamaged,
  DatabaseFull,
  DatabaseUnavailable,
  DatabaseUncertain,
} from './storage/database.ts';
import { createWriter, NO_MEMORY } from './storage/writer.ts';
import { tags } from './tags/feature.ts';
import { texts } from './text/feature.ts';
import { times } from './times/feature.ts';

/** What the processes of one service share. One that is alone has none of it. */
interface Siblings extends SharedGuards {
  /** Opens a database, whose `ping` pings those of all processes; a file needs the write lease. */
  openDatabase?(open: () => Promise<Database>, needsLease: boolean): Promise<Database>;
  /** Shares a report of this process; returns a function that combines those of all. */
  shareMetrics?<Report extends object>(own: () => Promise<Report>): () => Promise<Report>;
  readonly places?: Places;
}

/** The service while it runs. */
export type App = Awaited<ReturnType<typeof startApp>>;

/** Starts the service; `siblings` are its other processes. If it rejects, nothing stays open. */
export async function startApp(options: Options, log: Log, siblings: Siblings = {}) {
  const access = { loopback: isLocal(options), hasBaseUrl: options.baseUrl !== undefined };
  const guarded = await guards({ ...options, ...access }, siblings);
  // Before the database, so that a broken installation creates none.
  const documentation = await docs(guarded.requiresKey);
  const database = await openDatabase(options, log, siblings);
  let isStopping = false;
  const early: EarlyFeature[] = [
    guarded,
    documentation,
    requestLog(log, guarded.nameOf),
    memory(database.freshness, (options.cacheSizeMib * 1_048_576) / options.processes),
    options.noMetrics ? {} : metrics(options.db, guarded.keyLabels, siblings.shareMetrics),
    // A key is around all other parts of a write: a replay wins.
    retries(),
    search(database),
    changes(database),
    health(database, () => isStopping),
    demonstrations(options.maxThreads),
    exported({ ...siblings, options, database }),
    options.noMcp ? {} : assistants(),
  ];
  const core = coreOf(early, { database, takeWork: siblings.places?.take });
  const features = withCore(core, early);
  for (const { start } of early) start?.(core);
  const serving = serve(features, options, guarded);

  /** Finishes requests in flight (within a time limit), then closes connections and database. */
  async function close(): Promise<void> {
    isStopping = true;
    // First, because the server waits for all answers, and streams do not end by themselves.
    for (const { stop } of features) stop?.();
    database.stopSoon?.();
    await (await serving.catch(() => undefined))?.close();
    // After the last answer: until then, handlers use them.
    await Promise.all(features.map((each) => each.close?.()));
    await database.close();
  }

  const { address } = await serving.catch(async (error) => {
    await close();
    throw error;
  });
  return {
    /** Its URL, or `unix:` and the path of its socket. */
    address,
    get keyCount() {
      return guarded.keyLabels().length;
    },
    /** Reloads the key file, or uses `entries`; resolves with the number of keys. */
    async reloadKeys(entries?: readonly KeyEntry[]) {
      const count = await guarded.reloadKeys(entries);
      for (const { onKeysChanged } of features) onKeysChanged?.();
      return count;
    },
    close,
  };
}

/** Listens, and answers requests by the routes of `features`. */
async function serve(
  features: readonly Feature[],
  options: Options,
  { guardAt, networkOf }: Guarded,
) {
  const { host, port, socket, bodyLimitBytes, idleTimeoutS } = options;
  const arrivalObservers = features.flatMap(({ onArrival = [] }) => onArrival);
  const endObservers = features.flatMap(({ onEnd = [] }) => onEnd);
  // Known when the server listens: only then does port 0 have its number.
  let bases: Bases;
  let dispatcher: Dispatcher;
  const server = new HttpServer({
    onRequest(arrival) {
      for (const onArrival of arrivalObservers) onArrival();
      dispatcher.dispatch(arrival);
    },
    mend: (...input) => features.some(({ mend }) => mend?.(...input)),
    onRefused(...refusal) {
      for (const { onRefused } of features) onRefused?.(...refusal);
    },
    networkOf,
    problemBase: () => bases.problemBase,
    limits: { ...HTTP_LIMITS, keepAliveTimeoutMs: idleTimeoutS * 1_000 },
  });
  try {
    const address = await server.listen(socket === undefined ? { host, port } : { path: socket });
    if (socket !== undefined) chmodSync(socket, 0o660);
    // Do not await below: a request could arrive before the dispatcher exists.
    const baseUrl = options.baseUrl ?? (socket === undefined ? address : 'http://localhost');
    bases = { baseUrl, problemBase: options.problemBase ?? `${baseUrl}/problems` };
    const readings = Object.assign({}, ...features.map((each) => each.readings));
    const selects = features.find((each) => each.selects)?.selects;
    const all = { routes: () => routes, readings, selects };
    const routes: Route[] = features.flatMap((each) => each.routes?.(bases, all) ?? []);
    dispatcher = new Dispatcher({
      routes,
      guard: guardAt(baseUrl),
      bodyLimitBytes,
      problemBase: bases.problemBase,
      accepted: server.accepted,
      onEnd(ending) {
        for (const onEnd of endObservers) onEnd(ending);
      },
      networkOf,
      toProblem: (error) => problemOf(error, features),
    });
    return { address, close: () => server.close() };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Opens the database, whose history is kept as the options say. */
async function openDatabase(options: Options, log: Log, siblings: Siblings): Promise<Database> {
  const open = () =>
    openStorage('serve', options, (text, fields) => log.write('warn', text, { ...fields }));
  const needsLease = options.db.kind !== 'cluster';
  const database = await (siblings.openDatabase?.(open, needsLease) ?? open());
  await keepFor(options.historyDays, database);
  return database;
}

/** Returns the core with what features give to it. */
function coreOf(features: readonly EarlyFeature[], given: Pick<Core, 'database' | 'takeWork'>) {
  const meters = features.find((each) => each.meters)?.meters;
  const memory = features.find((each) => each.memory)?.memory ?? NO_MEMORY;
  const observers = features.flatMap(({ commits = [] }) => commits);
  const write = createWriter(given.database, observers, meters?.write);
  return { ...given, memory, meters, write } satisfies Core;
}

/** Returns all features: these, and those that need the core. */
function withCore(core: Core, early: readonly EarlyFeature[]): readonly Feature[] {
  const edited = edits(core);
  const slow = createSlowReads(core);
  const added: RecordFeature[] = [
    ...early,
    tags(core),
    edited,
    names(core, edited),
    history(core, slow),
    times(),
    texts(),
  ];
  const listed = [...added, lists(core, added, slow)];
  return [...listed, records(core, listed)];
}

/** A shared instance: stack traces are too expensive for an overloaded service. */
const OVERLOADED = unavailable('Too many requests are waiting.', { heldBack: true });

const UNCERTAIN =
  'The database did not confirm this write; it may have been carried out. ' +
  'Repeat it with the same idempotency-key or if-match, or look whether it was, and only then ' +
  'repeat it; see the guide to clusters.';

/** Translates errors of the storage and of features; returns undefined for any other error. */
function problemOf(error: unknown, features: readonly Feature[]): Problem | undefined {
  for (const { toProblem } of features) {
    const problem = toProblem?.(error);
    if (problem) return problem;
  }
  if (error instanceof QueueFull) return OVERLOADED;
  if (error instanceof DatabaseUncertain) return unavailable(UNCERTAIN, { cause: error });
  if (error instanceof DatabaseFull)
    return unavailable('The disk is full: writes are refused, most reads go on.', { cause: error });
  if (!(error instanceof DatabaseUnavailable || error instanceof DatabaseDamaged)) return undefined;
  return unavailable('The database cannot serve this request now.', { cause: error });
}
