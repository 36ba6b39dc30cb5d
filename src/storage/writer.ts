// All writes of the service pass here: a batch becomes one transaction, made of runs. A run is the consecutive writes
// of one kind and is ONE set-based statement; order is kept, and everyone is answered after the commit.
import { randomUUID } from 'node:crypto';
import { type BatchMeter, createBatcher } from './batcher.ts';
import type { Database, Row, Statement } from './database.ts';

/** What a write carries: the members of one element of the JSON array its statement unpacks. */
export type Values = readonly (string | number)[];

/**
 * A kind of write. `sql` takes a JSON array with one array of values for each write and cannot fail because of one of
 * them; `outcomes` tells from the rows that RETURNING brought (in any order) what became of each.
 */
export interface WriteKind<Outcome> {
  readonly sql: string;
  /** The rows that `sql` will return, as a {@link Statement} tells them. */
  readonly rows: string;
  readonly outcomes: (writes: readonly Values[], rows: readonly Row[]) => Outcome[];
}

/** Submits a write. Two writes with the same key take effect in their order. Resolves once the write is durable. */
export type Write = <Outcome>(kind: WriteKind<Outcome>, key: number | undefined, values: Values) => Promise<Outcome>;

interface Item {
  readonly kind: WriteKind<unknown>;
  readonly key: number | undefined;
  readonly values: Values;
}

interface Run {
  readonly kind: WriteKind<unknown>;
  readonly keys: Set<number>;
  readonly writes: Values[];
}

/** Returns the one way to write to `database`, measured by `meter`. Rejects as its batcher does; nothing was written then. */
export function createWriter(database: Database, meter?: BatchMeter): Write {
  const submit = createBatcher<Item, unknown>({
    run: (items) => commit(database, items),
    ready: database.writable,
    meter,
    size: ({ values }) => values.reduce<number>((sum, value) => sum + String(value).length, 0),
  });
  return <Outcome>(kind: WriteKind<Outcome>, key: number | undefined, values: Values) =>
    submit({ kind, key, values }) as Promise<Outcome>;
}

async function commit(database: Database, items: readonly Item[]): Promise<unknown[]> {
  const runs = inRuns(items);
  const results = await database.transact(randomUUID(), runs.map(toStatement));
  return runs.flatMap(({ kind, writes }, index) => kind.outcomes(writes, results[index] ?? []));
}

function inRuns(items: readonly Item[]): Run[] {
  const runs: Run[] = [];
  let current: Run | undefined;
  for (const { kind, key, values } of items) {
    if (current?.kind !== kind || (key !== undefined && current.keys.has(key))) {
      current = { kind, keys: new Set(), writes: [] };
      runs.push(current);
    }
    if (key !== undefined) current.keys.add(key);
    current.writes.push(values);
  }
  return runs;
}

function toStatement({ kind, writes }: Run): Statement {
  return { sql: kind.sql, rows: kind.rows, parameter: JSON.stringify(writes) };
}
