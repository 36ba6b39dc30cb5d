// Erases in the background what belonged to erased records. It stays where it is until then, so a
// request that erases costs the same whatever the record owned.
import { type Pace, workInBackground } from '../background.ts';
import type { Core } from '../feature.ts';
import {
  deletedNotes,
  FIRST_POSITION,
  keysOf,
  noteVersions,
  ownersOf,
  RELATIONS,
  typeOf,
} from '../relations.ts';
import { kindOf } from './writes.ts';

/** When to look for what is erased; tests change it. */
export const ERASURE_TIMES = {
  firstPauseMs: 0,
  everyMs: 10_000,
  failedPauseMs: 10_000,
  /** The pause after a step as a multiple of its time, so that others need not wait. */
  pauseFactor: 9,
};

/** How many rows of a table a step erases: as many as take about this time. */
const STEP = { first: 16, most: 4_096, minMs: 10, maxMs: 40 };

/** How many erased records a step looks at. */
const STEP_RECORDS = 1_024;

/** All that belongs to records: a table, its keys, and whether a row belongs to one of `gone`. */
const PARTS = RELATIONS.flatMap((relation) =>
  ownersOf(relation).map(({ resource, column }) => ({
    table: relation.table,
    keys: keysOf(relation).map((key) => `${relation.table}.${key}`),
    isGone: `gone.type = '${typeOf(resource)}' AND ${relation.table}.${column} = gone.id`,
  })),
);

const { table: VERSIONS } = noteVersions;
const OF_ERASED = `${VERSIONS}.note_id = erased_versions.note_id AND ${VERSIONS}.id <= last_id`;
const COUNT = '(SELECT _id FROM sent)';
const GONE = `gone AS MATERIALIZED (SELECT * FROM erased_records LIMIT ${STEP_RECORDS})`;

/** The query for whether something is left to erase. */
export const IS_LEFT = `
  SELECT EXISTS (SELECT 1 FROM erased_records) OR EXISTS (SELECT 1 FROM erased_versions)
    OR EXISTS (SELECT 1 FROM ${deletedNotes.table} WHERE position < ${FIRST_POSITION}) AS is_left`;

/** Erases up to a number of rows of each table. */
export const ERASE = kindOf(
  { count: '_id' },
  'FROM sent',
  {
    trash: `
      DELETE FROM ${deletedNotes.table} WHERE position IN (
        SELECT position FROM ${deletedNotes.table} WHERE position < ${FIRST_POSITION}
        ORDER BY position LIMIT ${COUNT})`,
    versions: `
      DELETE FROM ${VERSIONS} WHERE id IN (
        SELECT id FROM erased_versions CROSS JOIN ${VERSIONS} ON ${OF_ERASED} LIMIT ${COUNT})`,
    versionsEnd: `
      DELETE FROM erased_versions WHERE NOT EXISTS (SELECT 1 FROM ${VERSIONS} WHERE ${OF_ERASED})`,
    ...Object.fromEntries(PARTS.map((part, index) => [`part${index}`, erasing(part)])),
    end: `, ${GONE} DELETE FROM erased_records WHERE (type, id) IN (
        SELECT type, id FROM gone WHERE ${PARTS.map(isErased).join(' AND ')})`,
  },
  'erased_records',
);

function erasing({ table, keys, isGone }: (typeof PARTS)[number]): string {
  const names = keys.join(', ');
  return `, ${GONE} DELETE FROM ${table} WHERE (${names}) IN (
      SELECT ${names} FROM gone CROSS JOIN ${table} ON ${isGone} LIMIT ${COUNT})`;
}

function isErased({ table, isGone }: (typeof PARTS)[number]): string {
  return `NOT EXISTS (SELECT 1 FROM ${table} WHERE ${isGone})`;
}

/** Erases what is left of erased records, whenever there is something; the result ends this. */
export function startErasure(core: Core): () => Promise<void> {
  let count = STEP.first;

  async function erase({ isEnding, pause }: Pace): Promise<number> {
    while (!isEnding()) {
      const [row] = await core.database.read({ sql: IS_LEFT });
      if (!row?.is_left) break;
      const startedMs = performance.now();
      await core.write(ERASE, 0, { rows: [[count]] });
      const tookMs = performance.now() - startedMs;
      if (tookMs < STEP.minMs) count = Math.min(count * 2, STEP.most);
      if (tookMs > STEP.maxMs) count = Math.max(count >> 1, 1);
      await pause(tookMs * ERASURE_TIMES.pauseFactor);
    }
    return ERASURE_TIMES.everyMs;
  }

  return workInBackground('erasure', core, ERASURE_TIMES, erase).end;
}
