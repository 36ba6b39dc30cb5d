// All writes of the service. A batch becomes one transaction of runs; a run holds consecutive
// writes of one kind, which its statements carry out as a set. Those in a batch keep their order.
import type { FieldValue } from '../resources/resource.ts';
import { BATCH_LIMITS, Batcher, type BatchMeter } from './batcher.ts';
import type { Database, PreparedStep, Row, Statement } from './database.ts';
import { type Lists, parameterOf } from './parameter.ts';
import {
  costOf,
  measure,
  type Recipient,
  type Rewrite,
  type Rewriting,
  refusalFor,
} from './rewrites.ts';
import type { Step } from './step.ts';

/** A row as a statement unpacks it; null stands for a value that is not given. */
export type Values = readonly (FieldValue | null)[];

/** What a write gives to its kind, which can ask for more. */
export interface RowSet {
  /** The rows that its steps read as `sent`; see parameter.ts. */
  readonly rows: readonly Values[];
  /** The record that it rewrites, if its kind rewrites any. */
  readonly id?: number;
  readonly claims?: readonly Claim[];
  /** The size of what its kind sends beside the rows; see {@link sizeOf}. */
  readonly moreSize?: number;
}

/** Steps by name, in the order in which they are carried out. */
export type Steps = Readonly<Record<string, Step>>;

/** The rows that each step of a run has returned, in any order. */
export type RowsByStep = Readonly<Record<string, readonly Row[]>>;

/**
 * What a write wants for itself, such as an id, and in which mode. Two writes that claim the same
 * share no steps, unless it is in the same mode.
 */
export type Claim = readonly [key: number | string, mode?: string];

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

/** A kind of writes, several of which share their steps. No write can make them fail. */
export interface WriteKind<Content extends RowSet, Outcome> {
  /** Returns the steps that carry out the writes. */
  readonly steps: (writes: readonly Content[]) => Steps;
  /** Returns what the steps read; see parameter.ts. Default: the rows of all writes as `sent`. */
  readonly lists?: (writes: readonly Content[]) => Lists;
  readonly outcomes: (writes: readonly Content[], rows: RowsByStep) => Outcome[];
  /** What memory must forget or replace; [] if perhaps nothing changed. */
  readonly changes: (write: Content, outcome: Outcome) => readonly Change[];
  readonly rewrites?: Rewriting;
}

/**
 * Submits a write; resolves once it is durable. Rejects with the refusal of the recipient, before
 * anything is written.
 */
export type Write = <Content extends RowSet, Outcome>(
  kind: WriteKind<Content, Outcome>,
  write: Content,
  recipient?: Recipient,
) => Promise<Outcome>;

interface Item extends Rewrite {
  readonly kind: WriteKind<RowSet, unknown>;
  readonly write: RowSet;
}

/** Consecutive writes of one kind, which share their steps. */
export interface Run {
  readonly kind: WriteKind<RowSet, unknown>;
  /** The mode of each claim. */
  readonly claimed: Map<number | string, string | undefined>;
  readonly writes: RowSet[];
}

/** The cost of a row, in characters. */
const ROW_SIZE = 256;

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
    const before: (Statement | PreparedStep)[] = observers.flatMap((each) => each.begin?.() ?? []);
    const steps = runs.map(({ kind, writes }) => kind.steps(writes));
    const prepared = runs.flatMap((run, index) => prepare(run, steps[index] ?? {}, now));
    let next = before.length;
    let changes: readonly Change[] = [];
    let isDurable = false;
    try {
      const all = await database.transact([...before, ...prepared]);
      isDurable = true;
      const outcomes: unknown[] = [];
      for (const [index, { kind, writes }] of runs.entries()) {
        const rows: Record<string, readonly Row[]> = {};
        for (const name in steps[index]) {
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
  return (kind, write, recipient) => {
    const size = sizeOf(write.rows) + (write.moreSize ?? 0);
    const item: unknown = { kind, write, recipient, size };
    return batcher.submit(item as Item) as Promise<never>;
  };
}

/** Returns what rows cost, in characters. */
export function sizeOf(rows: readonly Values[]): number {
  let size = rows.length * ROW_SIZE;
  for (const row of rows)
    for (const value of row) if (typeof value === 'string') size += value.length;
  return size;
}

function inRuns(items: readonly Item[]): Run[] {
  const runs: Run[] = [];
  let current: Run | undefined;
  for (const { kind, write } of items) {
    const { claims = [] } = write;
    if (current?.kind !== kind || isTaken(current, claims)) {
      current = { kind, claimed: new Map(), writes: [] };
      runs.push(current);
    }
    for (const [key, mode] of claims) current.claimed.set(key, mode);
    current.writes.push(write);
  }
  return runs;
}

function isTaken({ claimed }: Run, claims: readonly Claim[]): boolean {
  for (const [key, mode] of claims)
    if (claimed.has(key) && (mode === undefined || claimed.get(key) !== mode)) return true;
  return false;
}

function prepare({ kind, writes }: Run, steps: Steps, now: number): PreparedStep[] {
  const lists = kind.lists?.(writes) ?? { sent: writes.flatMap(({ rows }) => rows) };
  const all = Object.values(steps);
  const parameter = parameterOf(now, lists);
  const isShorter = all.some(({ ignoresRows }) => ignoresRows);
  const withoutRows = isShorter ? parameterOf(now, { ...lists, sent: [] }) : parameter;
  return all.map((step) => ({ step, parameter: step.ignoresRows ? withoutRows : parameter }));
}
