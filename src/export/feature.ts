// All data at /export, as the command `export` writes it: a backup over HTTP.
import { endpoint, type Input } from '../contract/endpoint.ts';
import type { Feature } from '../feature.ts';
import { type Problem, unavailable } from '../http/problem.ts';
import type { Chunk, Reply } from '../http/reply.ts';
import type { Call } from '../http/route.ts';
import type { StorageOptions } from '../open.ts';
import { type Database, DatabaseUnusable } from '../storage/database.ts';

/** The limits of exports; tests change them. */
export const EXPORT_LIMITS = {
  /** Each occupies one of the four threads on which SQLite works. */
  readers: 2,
  /** How long a client may take for a page. The log grows while its snapshot is open. */
  pageMs: 60_000,
  /** An export may take minutes. */
  retryAfterS: 30,
};

const HEADERS = ['content-type', 'application/x-ndjson', 'cache-control', 'no-store'];

/** What is exported by this process. */
interface Exported {
  readonly options: StorageOptions;
  readonly database: Database;
  /** The place of each client for one export, which all processes share; one alone has none. */
  readonly places?: {
    /** Resolves with false if it is taken. */
    take(client: string): Promise<boolean>;
    free(client: string): Promise<void>;
  };
}

/** The functions that end the export of each client. */
type Readers = Map<string, (reason: string) => Promise<void>>;

/** The export of the database of this process at /export. */
export function exported(source: Exported): Feature {
  const readers: Readers = new Map();

  async function answer({ call }: Input<unknown, unknown>): Promise<Reply> {
    const stream = read(source, readers, call);
    // Opens the snapshot before the status is sent; HEAD needs none.
    if (call.method !== 'HEAD') await stream.next();
    return { status: 200, headers: HEADERS, stream };
  }

  const route = endpoint('GET', '/export', answer);
  return {
    routes: () => [route],
    toProblem: (error) =>
      error instanceof DatabaseUnusable
        ? unavailable('The database cannot be exported now.', { cause: error })
        : undefined,
    stop() {
      for (const end of readers.values()) void end('The service is stopping.');
    },
  };
}

/** Yields nothing when the snapshot is open, and then the export. Throws 503 without a place. */
async function* read(
  { options, database, places }: Exported,
  readers: Readers,
  call: Call,
): AsyncGenerator<Chunk> {
  const client = call.clientId();
  const isTaken = places ? !(await places.take(client)) : readers.has(client);
  if (isTaken) throw busy('This client is reading an export already.');
  // From here to the entry in `readers`, nothing may wait: others would find the same place.
  if (readers.size >= EXPORT_LIMITS.readers) {
    await places?.free(client);
    throw busy(`This process is sending ${readers.size} exports already.`);
  }
  const over = new AbortController();
  const signal = AbortSignal.any([call.signal(), over.signal]);
  const opening = import('../commands/export.ts').then(({ openExport }) =>
    openExport(options, database, signal),
  );
  let late: NodeJS.Timeout | undefined;
  /** Releases the snapshot: reading the next page fails for this reason. */
  const end = async (reason = 'The export has ended.'): Promise<void> => {
    clearTimeout(late);
    over.abort(unavailable(reason));
    if (readers.get(client) === end) {
      readers.delete(client);
      // Before the client learns of the end, so that it can begin another one at once.
      await places?.free(client).catch(() => {});
    }
    await opening.then(({ close }) => close()).catch(() => {});
  };
  readers.set(client, end);
  try {
    const { texts } = await opening;
    signal.throwIfAborted();
    yield { bytes: Buffer.alloc(0), hasMore: true };
    for await (const { text } of texts) {
      if (call.key?.isOver) throw unavailable('The key has expired or was removed.');
      late = setTimeout(end, EXPORT_LIMITS.pageMs, 'The client has read too slowly.');
      yield { bytes: Buffer.from(text), hasMore: true };
      clearTimeout(late);
    }
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error;
  } finally {
    await end();
  }
}

function busy(detail: string): Problem {
  return unavailable(detail, {}, EXPORT_LIMITS.retryAfterS);
}
