// All writes of the service. A batch becomes one transaction of runs; a run holds consecutive
// writes of one kind, which its statements carry out as a set. Those in a batch keep their order.
import type { FieldValue } from '../resources/resource.ts';
import { BATCH_LIMITS, Batcher, type BatchMeter } from './batcher.ts';
import type { Database, Row, Statement } from './database.ts';
import {
  costOf,
  measure,
  type Recipient,
  type Rewrite,
  type Rewriting,
  refusalFor,
} from './rewrites.ts';

/** A row as a statement unpacks it; null stands for a value that is not given. */
export type Values = readonly (FieldValue | null)[];

/** The rows of a write, and lists that its statements read, too; see parameter.ts. */
export interface RowSet {
  readonly rows: readonly Values[];
  readonly extra?: readonly (readonly unknown[])[] | undefined;
}

/** With `ignoresRows`, it gets no rows, because unpacking them takes time. */
type WriteStatement = Pick<Statement, 'sql' | 'rows'> & { readonly ignoresRows?: boolean };

/** The rows that each statement of a run has returned, in any order. */
type RowsByStatement = Readonly<Record<string, readonly Row[]>>;

/** A text and its entity tag, as memory keeps them. */
export interface Kept {
  readonly tag?: string;
  readonly text: string | undefined;
}

/** A change in the database: to one text of an area, or, without a key, to all of them. */
export type Change = readonly [area: string, key?: number | string, now?: Kept | undefined];

/** Texts that are returned only while they are the latest ones. */
export interface Memory {
  find<Value extends Kept>(area: string, key: number | string): Value | undefined;
  /** Returns the revision before a read whose results will be kept; undefined if none will be. */
  check(): string | undefined;
  /** Keeps copies of what was read since `check` returned `revision`. */
  keep(
    revision: string | undefined,
    area: string,
    values: Iterable<readonly [key: number | string, value: Kept | undefined]>,
  ): void;
}

/** The area of texts that depend on the whole database: each change empties it. */
export const PAGES = 'pages';

/** Keeps nothing. */
export const NO_MEMORY: Memory = { find: () => undefined, check: () => undefined, keep() {} };

/** Its statements share a parameter; see parameter.ts. No write can make them fail. */
export interface WriteKind<Content extends RowSet, Outcome> {
  /** By name, in the order in which they are carried out. */
  readonly statements: Readonly<Record<string, WriteStatement>>;
  readonly outcomes: (writes: readonly Content[], rows: RowsByStatement) => Outcome[];
  /** What memory must forget or replace; [] if perhaps nothing changed. */
  readonly changes: (write: Content, outcome: Outcome) => readonly Change[];
  readonly rewrites?: Rewriting;
}

/**
 * Submits a write; resolves once it is durable. Those with the same key share no statement. Rejects
 * with the refusal of the recipient, before anything is written.
 */
export type Write = <Content extends RowSet, Outcome>(
  kind: WriteKind<Content, Outcome>,
  key: number | string | undefined,
  write: Content,
  recipient?: Recipient,
) => Promise<Outcome>;

interface Item extends Rewrite {
  readonly kind: WriteKind<RowSet, unknown>;
  readonly key: number | string | undefined;
  readonly write: RowSet;
}

/** Consecutive writes of one kind, which share their statements. */
export interface Run {
  readonly kind: WriteKind<RowSet, unknown>;
  readonly keys: Set<number | string>;
  readonly writes: RowSet[];
}

/** The cost of a row, and of statements that no other write shares, in characters. */
const ROW_SIZE = 256;
const UNSHARED_SIZE = 8_192;

/** Observes the transactions of a writer. */
export interface CommitObserver {
  /** Called right before a transaction; may return statements that precede those of the runs. */
  begin?(): readonly Statement[] | undefined;
  /** Called after it. A failed transaction may have been committed, too. */
  end(commit: Commit): void;
}

/** A transaction that has ended. */
export interface Commit {
  readonly runs: readonly Run[];
  /** [] if perhaps nothing changed. */
  readonly changes: readonly Change[];
  readonly isDurable: boolean;
}

/** Returns the writer of `database`, which rejects as the batcher does. */
export function createWriter(
  database: Database,
  observers: readonly CommitObserver[] = [],
  meter?: BatchMeter,
): Write {
  async function commit(items: readonly Item[]): Promise<unknown[]> {
    const now = Date.now();
    const runs = inRuns(items);
    const statements = observers.flatMap((each) => each.begin?.() ?? []);
    let next = statements.length;
    for (const run of runs) addStatements(statements, run, now);
    let changes: readonly Change[] = [];
    let isDurable = false;
    try {
      const all = await database.transact(statements);
      isDurable = true;
      const outcomes: unknown[] = [];
      for (const { kind, writes } of runs) {
        const rows: Record<string, readonly Row[]> = {};
        for (const name in kind.statements) {
          rows[name] = all[next] ?? [];
          next += 1;
        }
        outcomes.push(...kind.outcomes(writes, rows));
      }
      changes = items.flatMap(({ kind, write }, index) => kind.changes(write, outcomes[index]));
      return outcomes;
    } finally {
      for (const each of observers) each.end({ runs, changes, isDurable });
    }
  }

  function ready(waiting: () => readonly Item[]): Promise<void> | undefined {
    const measuring = measure(database, waiting());
    return measuring ? measuring.then(() => database.writable?.()) : database.writable?.();
  }

  const batcher = new Batcher<Item, unknown>({
    ...{ run: commit, ready, meter, size: (item) => item.size, cost: costOf, refusalFor },
    // Those of a whole batch: whether they wait long depends on what the others rewrite.
    limits: { ...BATCH_LIMITS, guaranteedItems: BATCH_LIMITS.batchItems },
  });
  return (kind, key, write, recipient) => {
    const item: unknown = { kind, key, write, recipient, size: sizeOf(write) };
    return batcher.submit(item as Item) as Promise<never>;
  };
}

function sizeOf({ rows, extra }: RowSet): number {
  let size = rows.length * ROW_SIZE;
  if (extra) size += UNSHARED_SIZE + extra.flat().length * ROW_SIZE;
  for (const row of rows)
    for (const value of row) if (typeof value === 'string') size += value.length;
  return size;
}

function inRuns(items: readonly Item[]): Run[] {
  const runs: Run[] = [];
  let current: Run | undefined;
  for (const { kind, key, write } of items) {
    if (current?.kind !== kind || (key !== undefined && current.keys.has(key))) {
      current = { kind, keys: new Set(), writes: [] };
      runs.push(current);
    }
    if (key !== undefined) current.keys.add(key);
    current.writes.push(write);
  }
  return runs;
}

function addStatements(statements: Statement[], { kind, writes }: Run, now: number): void {
  const rows = writes.flatMap((write) => write.rows);
  const extra = writes[0]?.extra ?? [];
  const withRows = JSON.stringify([now, rows, ...extra]);
  for (const { sql, rows, ignoresRows } of Object.values(kind.statements)) {
    const parameter = ignoresRows ? JSON.stringify([now, [], ...extra]) : withRows;
    statements.push(rows === undefined ? { sql, parameter } : { sql, parameter, rows });
  }
}
