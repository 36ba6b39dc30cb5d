// Erases in the background what belonged to erased records. It stays where it is until then, so a
// request that erases costs the same whatever the record owned.
import { type Pace, workInBackground } from '../background.ts';
import type { Core } from '../feature.ts';
import { keysOf, ownersOf, type Relation, typeOf } from '../resources/relation.ts';
import { RELATIONS } from '../storage/schema/steps.ts';
import { deletedNotes, FIRST_POSITION, noteVersions } from './schema.ts';
import { kindOf, onRows } from './writes.ts';

/** When to look for what is erased; tests change it. */
export const ERASURE_TIMES = {
  firstPauseMs: 0,
  everyMs: 10_000,
  failedPauseMs: 10_000,
  /** The pause after a step as a multiple of its time, so that others need not wait. */
  pauseFactor: 9,
};

/** What a step erases of a table, at most; the first row may exceed `bytes`. */
const STEP = { rows: 1_024, bytes: 1_048_576 };

const GONE = `gone AS MATERIALIZED (SELECT * FROM erased_records LIMIT ${STEP.rows})`;

/** All that belongs to records, and whether a row belongs to one of `gone`. */
const PARTS = RELATIONS.flatMap((relation) =>
  ownersOf(relation).map(({ resource, column }) => ({
    relation,
    isGone: `gone.type = '${typeOf(resource)}' AND ${relation.table}.${column} = gone.id`,
  })),
);

/** The query for whether something is left to erase. */
export const IS_LEFT = `
  SELECT EXISTS (SELECT 1 FROM erased_records) OR EXISTS (SELECT 1 FROM erased_versions)
    OR EXISTS (SELECT 1 FROM ${deletedNotes.table} WHERE position < ${FIRST_POSITION}) AS is_left`;

const GONE_VERSIONS = `
  gone_versions AS MATERIALIZED (SELECT * FROM erased_versions LIMIT ${STEP.rows})`;

/** Whether a version is one of `gone_versions`. */
const IS_GONE = `
  ${noteVersions.table}.note_id = gone_versions.note_id AND ${noteVersions.table}.id <= last_id`;

/** Erases a part of what is left. */
export const ERASE = kindOf(
  { _id: '_id' },
  'FROM sent',
  {
    trash: erasing(deletedNotes, `${deletedNotes.table} WHERE position < ${FIRST_POSITION}`),
    versions: `, ${GONE_VERSIONS} ${erasing(
      noteVersions,
      `gone_versions CROSS JOIN ${noteVersions.table} ON ${IS_GONE}`,
    )}`,
    versionsEnd: `, ${GONE_VERSIONS} DELETE FROM erased_versions WHERE note_id IN (
        SELECT note_id FROM gone_versions
        WHERE NOT EXISTS (SELECT 1 FROM ${noteVersions.table} WHERE ${IS_GONE}))`,
    ...Object.fromEntries(
      PARTS.map(({ relation, isGone }, index) => [
        `part${index}`,
        `, ${GONE} ${erasing(relation, `gone CROSS JOIN ${relation.table} ON ${isGone}`)}`,
      ]),
    ),
    end: `, ${GONE} DELETE FROM erased_records WHERE (type, id) IN (
        SELECT type, id FROM gone WHERE ${PARTS.map(hasNone).join(' AND ')})`,
  },
  'erased_records',
);

/** Returns the statement that erases the first rows of a table that a FROM clause finds. */
function erasing(relation: Relation, from: string): string {
  const { table, fields } = relation;
  const names = keysOf(relation).join(', ');
  const keys = keysOf(relation).map((key) => `${table}.${key}`);
  const texts = Object.keys(fields).map((name) => ` + octet_length(${table}.${name})`);
  return `
    DELETE FROM ${table} WHERE (${names}) IN (
      SELECT ${names} FROM (
        SELECT ${names}, sum(size) OVER (ROWS UNBOUNDED PRECEDING) - size AS before
        FROM (SELECT ${keys.join(', ')}, 0${texts.join('')} AS size FROM ${from}
              LIMIT ${STEP.rows}))
      WHERE before < ${STEP.bytes})`;
}

function hasNone({ relation: { table }, isGone }: (typeof PARTS)[number]): string {
  return `NOT EXISTS (SELECT 1 FROM ${table} WHERE ${isGone})`;
}

/** Erases what is left of erased records, whenever there is something; the result ends this. */
export function startErasure(core: Core): () => Promise<void> {
  async function erase({ isEnding, pause }: Pace): Promise<number> {
    while (!isEnding()) {
      const [row] = await core.database.read({ sql: IS_LEFT });
      if (!row?.is_left) break;
      const startedMs = performance.now();
      await core.write(ERASE, onRows([0]));
      const tookMs = performance.now() - startedMs;
      await pause(tookMs * ERASURE_TIMES.pauseFactor);
    }
    return ERASURE_TIMES.everyMs;
  }

  return workInBackground('erasure', core, ERASURE_TIMES, erase).end;
}
