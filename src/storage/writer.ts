// All writes of the service. A batch becomes one transaction of runs; a run is one set-based
// statement for consecutive writes of one kind to different records. Writes keep their order.
import { randomUUID } from 'node:crypto';
import type { FieldValue } from '../resources/resource.ts';
import { Batcher, type BatchMeter } from './batcher.ts';
import type { Database, Row, Statement } from './database.ts';

/** The values of one write: one element of the JSON array that its statement unpacks. */
export type Values = readonly FieldValue[];

/**
 * A kind of write. `sql` takes a JSON array with the values of each write, and no write can make it
 * fail. `outcomes` returns the outcome of each write, given the rows of RETURNING in any order.
 */
export interface WriteKind<Outcome> {
  readonly sql: string;
  /** See {@link Statement}. */
  readonly rows: string;
  readonly outcomes: (writes: readonly Values[], rows: readonly Row[]) => Outcome[];
}

/** Submits a write; resolves once it is durable. `key` is the record's id; a new one has none. */
export type Write = <Outcome>(
  kind: WriteKind<Outcome>,
  key: number | undefined,
  values: Values,
) => Promise<Outcome>;

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

/** Returns the writer of `database`, which rejects as the batcher does. */
export function createWriter(database: Database, meter?: BatchMeter): Write {
  const batcher = new Batcher<Item, unknown>({
    run: (items) => commit(database, items),
    ready: database.writable,
    meter,
    size: ({ values }) => values.reduce<number>((sum, value) => sum + String(value).length, 0),
  });
  return <Outcome>(kind: WriteKind<Outcome>, key: number | undefined, values: Values) =>
    batcher.submit({ kind, key, values }) as Promise<Outcome>;
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
