// Prepares the steps of a search index: reads the texts of the records that come next, and finds
// their words without blocking the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Searchable } from '../../resources/resource.ts';
import { indexedSlices } from '../../search/words.ts';
import type { Values } from '../batches/writer.ts';
import type { Database } from '../database.ts';
import {
  type IndexPosition,
  type IndexState,
  type IndexStep,
  type IndexWork,
  isCurrent,
  stateOf,
  workOf,
  workSql,
} from './steps.ts';

/** How long to analyse texts before other events are handled. */
const SLICE_MS = 2;

/** A step that can be written, and the state of the index before it. */
export interface PreparedStep {
  readonly state: IndexState;
  /** Undefined if the index is up to date, or if all records must be indexed again. */
  readonly step?: IndexStep;
  readonly size: number;
  readonly isFull: boolean;
}

/** Reads the steps of one index. */
export class StepReader {
  readonly #database: Database;
  readonly #sql: string;

  constructor(resource: Searchable, database: Database) {
    this.#database = database;
    this.#sql = workSql(resource);
  }

  /** Resolves with the step from a position; by default, from where the index is. */
  async prepare(from?: IndexPosition): Promise<PreparedStep> {
    const parameter = JSON.stringify(from ? [from.number, from.id] : []);
    const [row] = await this.#database.read({ sql: this.#sql, parameter });
    if (!row) throw new Error('the search index has no position');
    const state = stateOf(row);
    if (isCurrent(state) || !state.reaches) return { state, size: 0, isFull: false };
    const { records, next, size, isFull } = workOf(row);
    return { state, step: { rows: await analyse(records), from: state, to: next }, size, isFull };
  }
}

async function analyse(records: IndexWork['records']): Promise<Values[]> {
  let sliceStarted = performance.now();
  const wordsOf = async (text: string) => {
    const slices = indexedSlices(text);
    for (;;) {
      const slice = slices.next();
      if (slice.done) return slice.value;
      if (performance.now() - sliceStarted < SLICE_MS) continue;
      await nextTurn();
      sliceStarted = performance.now();
    }
  };
  const rows: Values[] = [];
  for (const [id, texts] of records) {
    const words: (string | null)[] = [];
    for (const text of texts) words.push(text === null ? null : await wordsOf(text));
    rows.push([id, ...words]);
  }
  return rows;
}
