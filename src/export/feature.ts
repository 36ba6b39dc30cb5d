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

/** The place of each client for one export, which all processes share. */
interface Places {
  /** Resolves with false if it is taken. */
  take(client: string): Promise<boolean>;
  free(client: string): Promise<void>;
}

/** The export of the database of this process at /export; a process that is alone has no places. */
export function exported(options: StorageOptions, database: Database, places?: Places): Feature {
  const exports = new Exports(options, database, places);
  const route = endpoint('GET', '/export', exports.answer);
  return {
    routes: () => [route],
    toProblem: (error) =>
      error instanceof DatabaseUnusable
        ? unavailable('The database cannot be exported now.', { cause: error })
        : undefined,
    stop: () => exports.stop(),
  };
}

/** The exports that are being read. */
class Exports {
  readonly #options: StorageOptions;
  readonly #database: Database;
  readonly #places: Places | undefined;
  /** The functions that end the export of each client. */
  readonly #readers = new Map<string, (reason: string) => Promise<void>>();

  constructor(options: StorageOptions, database: Database, places?: Places) {
    this.#options = options;
    this.#database = database;
    this.#places = places;
  }

  readonly answer = async ({ call }: Pick<Input<unknown, unknown>, 'call'>): Promise<Reply> => {
    const client = call.clientId();
    const stream = this.#read(client, call);
    const reply = { status: 200, headers: HEADERS, stream };
    if (call.method === 'HEAD') return reply;
    await this.#takePlace(client);
    // Opens the snapshot before the status is sent.
    await stream.next();
    return reply;
  };

  stop(): void {
    for (const end of this.#readers.values()) void end('The service is stopping.');
  }

  /** Rejects with 503 if there is no place for the client. */
  async #takePlace(client: string): Promise<void> {
    const readers = this.#readers;
    const places = this.#places;
    const isTaken = places ? !(await places.take(client)) : readers.has(client);
    if (isTaken) throw busy('This client is reading an export already.');
    if (readers.size < EXPORT_LIMITS.readers) return;
    await places?.free(client);
    throw busy(`This process is sending ${readers.size} exports already.`);
  }

  /** Yields nothing when the snapshot is open, and then the export. */
  async *#read(client: string, call: Call): AsyncGenerator<Chunk> {
    const readers = this.#readers;
    const over = new AbortController();
    const signal = AbortSignal.any([call.signal(), over.signal]);
    const opening = import('../commands/export.ts').then(({ openExport }) =>
      openExport(this.#options, this.#database, signal),
    );
    let late: NodeJS.Timeout | undefined;
    /** Releases the snapshot: reading the next page fails for this reason. */
    const end = async (reason = 'The export has ended.'): Promise<void> => {
      clearTimeout(late);
      over.abort(unavailable(reason));
      if (readers.get(client) === end) {
        readers.delete(client);
        // Before the client learns of the end, so that it can begin another one at once.
        await this.#places?.free(client).catch(() => {});
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
}

function busy(detail: string): Problem {
  return unavailable(detail, {}, EXPORT_LIMITS.retryAfterS);
}
