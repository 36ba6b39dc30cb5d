// All data at /export, as the command `export` writes it: a backup over HTTP.
import { endpoint, type Input } from '../contract/endpoint.ts';
import type { Feature, Places } from '../feature.ts';
import { unavailable } from '../http/problem.ts';
import type { Chunk, Reply } from '../http/reply.ts';
import type { Call } from '../http/route.ts';
import type { StorageOptions } from '../open.ts';
import { type Database, DatabaseUnusable } from '../storage/database.ts';

/** How many a process sends. Each occupies one of the four threads on which SQLite works. */
const MAX_READERS = 2;

/** The limits of an export; tests change them. */
export const EXPORT_LIMITS = {
  /** How long a client may take to read, beside the time for what it has read at the least rate. */
  graceMs: 60_000,
  bytesPerSecond: 524_288,
};

const HEADERS = ['content-type', 'application/x-ndjson', 'cache-control', 'no-store'];

interface Exported {
  readonly options: StorageOptions;
  readonly database: Database;
  /** All processes share them; one alone has none. */
  readonly places?: Places;
}

/** The export of the database of this process at /export. */
export function exported(source: Exported): Feature {
  /** The clients to which this process sends an export, and when it has ended. */
  const readers = new Map<string, Promise<void>>();

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
    // Before the database, which removes its log if nobody else has opened it.
    close: async () => void (await Promise.all(readers.values())),
  };
}

/** Yields nothing when the snapshot is open, and then the export. Throws 503 without a place. */
async function* read(
  { options, database, places }: Exported,
  readers: Map<string, Promise<void>>,
  call: Call,
): AsyncGenerator<Chunk> {
  const client = call.clientId();
  const isTaken = places ? !(await places.take(client)) : readers.has(client);
  if (isTaken) throw unavailable('This client is reading an export already.');
  let end = () => {};
  try {
    if (readers.size >= MAX_READERS)
      throw unavailable(`This process is sending ${readers.size} exports already.`);
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    readers.set(client, ended);
    const { exportTexts } = await import('../commands/export.ts');
    const { openSnapshot } = await import('../commands/snapshot.ts');
    await using snapshot = await openSnapshot(options, database, call.signal());
    yield { bytes: Buffer.alloc(0), hasMore: true };
    let leftMs = EXPORT_LIMITS.graceMs;
    for await (const text of exportTexts(snapshot)) {
      if (call.key?.isOver) throw unavailable('The key has expired or was removed.');
      // The log of the database grows as long as the snapshot is open.
      if (leftMs < 0) throw unavailable('The client has read too slowly.');
      const bytes = Buffer.from(text);
      const sentMs = performance.now();
      yield { bytes, hasMore: true };
      leftMs += (1_000 * bytes.length) / EXPORT_LIMITS.bytesPerSecond;
      leftMs -= performance.now() - sentMs;
    }
  } finally {
    end();
    readers.delete(client);
    await places?.free(client);
  }
}
