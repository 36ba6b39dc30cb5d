// What writes cost. A small request may rewrite a large record, so a batch is bounded by what its
// writes rewrite, too. Records are measured only if a batch may lack room for the writes that wait.
import { BATCH_LIMITS } from './batcher.ts';
import type { Database } from './database.ts';

/** What a write reads and writes again, however small its request is. */
export interface Rewriting {
  /** SQL of the bytes of the record; `sent.value` is its id. */
  readonly bytes: string;
  /** How many times the cost of writing such bytes it takes. Default: 1. */
  readonly factor?: number;
  /** What is assumed until the bytes are known. Default: {@link ASSUMED_BYTES}. */
  readonly assumedBytes?: number | undefined;
}

/** Who gets the answer to a write. */
export interface Recipient {
  /** Returns why an answer of about `bytes` could not be kept now; undefined if it could. */
  refusalFor(bytes: number): unknown;
}

/** A write, which may rewrite something. */
export interface Rewrite {
  readonly kind: { readonly rewrites?: Rewriting };
  readonly write: { readonly id?: number };
  readonly recipient: Recipient | undefined;
  /** The characters of its request. */
  readonly size: number;
  /** The bytes of the record, once they are known. */
  rewrittenBytes?: number;
}

/** A batch has room for the plain writes of 64 clients. */
const ASSUMED_BYTES = 24_576;
/** The largest write leaves room in its batch, so that small ones need not wait. */
const MAX_COST = 0.75 * BATCH_LIMITS.batchSize;

/** Returns the cost of a write, in characters of plain ones. */
export function costOf({ kind: { rewrites }, size, rewrittenBytes }: Rewrite): number {
  if (!rewrites) return Math.min(size, MAX_COST);
  const { factor = 1, assumedBytes = ASSUMED_BYTES } = rewrites;
  return Math.min(size + factor * (rewrittenBytes ?? assumedBytes), MAX_COST);
}

/** Returns why the answer to a write could not be kept; it is about as large as the record. */
export function refusalFor({ recipient, size, rewrittenBytes = 0 }: Rewrite): unknown {
  return recipient?.refusalFor(size + rewrittenBytes);
}

/** Reads what writes rewrite, if a batch may lack room for it, or memory for the answers. */
export function measure(database: Database, items: readonly Rewrite[]): Promise<void> | undefined {
  const unmeasured = new Map<Rewriting, Rewrite[]>();
  let assumed = 0;
  for (const item of items) {
    const { rewrites } = item.kind;
    if (!rewrites || item.rewrittenBytes !== undefined) continue;
    assumed += costOf(item);
    const others = unmeasured.get(rewrites);
    if (others) others.push(item);
    else unmeasured.set(rewrites, [item]);
  }
  const { recipient } = items.find((item) => item.recipient) ?? {};
  const hasRoom = recipient?.refusalFor(BATCH_LIMITS.queueSize) === undefined;
  if (assumed <= BATCH_LIMITS.batchSize && hasRoom) return undefined;
  const reads = Array.from(unmeasured, ([rewrites, each]) => measureAll(database, rewrites, each));
  return Promise.all(reads).then(() => {});
}

async function measureAll(
  { read }: Database,
  { bytes }: Rewriting,
  items: readonly Rewrite[],
): Promise<void> {
  const sql = `SELECT json_group_array(coalesce((${bytes}), 0) ORDER BY sent.key) AS bytes
               FROM json_each(?1) AS sent`;
  const ids = items.map(({ write }) => write.id);
  try {
    const [row] = await read({ sql, parameter: JSON.stringify(ids) });
    const measured: readonly number[] = JSON.parse(String(row?.bytes));
    for (const [index, item] of items.entries()) item.rewrittenBytes = measured[index] ?? 0;
  } catch {
    // What is wrong with the database, the writes will tell.
  }
}
