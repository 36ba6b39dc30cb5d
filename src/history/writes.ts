// The writes on what is kept of notes: they restore a note, and erase. No two share statements.
import { satisfiesSql } from '../records/condition.ts';
import { recordSql } from '../records/text.ts';
import { readStatement } from '../records/writes.ts';
import { noteNames, noteTags } from '../relations.ts';
import { comments } from '../resources/comments.ts';
import { notes } from '../resources/notes.ts';
import { type Resource, rowColumnsOf } from '../resources/resource.ts';
import { tags } from '../resources/tags.ts';
import type { Row } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER, tagSql } from '../storage/numbers.ts';
import { NOW, namedRows } from '../storage/parameter.ts';
import type { RowSet, WriteKind } from '../storage/writer.ts';
import { MAX_VERSIONS, TRASH, VERSIONS } from './kept.ts';

/** Greater than all keys and times. */
export const NO_END = Number.MAX_SAFE_INTEGER;

const SENT = namedRows('sent', ['_id', '_condition']);
const ID = '(SELECT _id FROM sent)';

/** Resolves with what it has read before it writes. */
function kindOf(
  columns: Readonly<Record<string, string>>,
  from: string,
  writes: Readonly<Record<string, string>>,
) {
  const named = Object.entries(writes).map(([name, sql]) => [name, { sql: `WITH ${SENT} ${sql}` }]);
  return {
    statements: { before: readStatement(SENT, columns, from), ...Object.fromEntries(named) },
    outcomes: (_: unknown, { before = [] }: { before?: readonly Row[] }) => [before[0]],
    // Memory has no text of these notes, but may know the name of one that is restored without it.
    changes: (_, found) => (found?.isFree ? [[noteNames.table]] : []),
  } satisfies WriteKind<RowSet, Row | undefined>;
}

/** Erases what `erased` has of a note if the tag of the note in `table` is admitted. */
function erasingOf(erased: string, key: string, table: string, number: string) {
  const tag = tagSql(number);
  const isErased = satisfiesSql('_condition', tag);
  const from = `FROM sent CROSS JOIN ${table} ON ${table}.id = _id`;
  return kindOf({ tag, isErased }, from, {
    erase: `DELETE FROM ${erased} WHERE ${key} IN (SELECT ${table}.id ${from} WHERE ${isErased})`,
  });
}

/** Erases a note in the trash; a trigger erases its comments and versions. */
export const ERASE_NOTE = erasingOf(TRASH.table, 'id', TRASH.table, TRASH.number);

/** Erases the versions of a note. */
export const ERASE_VERSIONS = erasingOf(VERSIONS.table, 'note_id', notes.table, 'number');

/**
 * Erases rows by keys, which are never used again. Given [time, now, after, last], `find` reads
 * some of them, and after which place more may be.
 */
function erasing({ table, order: key }: typeof TRASH, find: string) {
  const erase = `DELETE FROM ${table} WHERE ${key} IN (SELECT _id FROM sent)`;
  return { find, ...kindOf({ key: '_id' }, 'FROM sent', { erase }) };
}

/**
 * Finds keys up to `time`. Later keys have later times, unless the clock was set: then a row may go
 * with later ones, or stay until its time in the future.
 */
const dueOf = ({ table, order: key }: typeof TRASH, time: string) => `
  SELECT
    json_group_array(${key}) FILTER (WHERE coalesce(${time}, ${NO_END}) <= ?1 ->> 0) AS keys,
    iif(max(${time} BETWEEN ?1 ->> 0 AND ?1 ->> 1), NULL, max(${key})) AS next
  FROM (SELECT ${key}, ${time} FROM ${table}
        WHERE ${key} > ?1 ->> 2 AND ${key} <= ?1 ->> 3 ORDER BY ${key} LIMIT 4096)`;

/** Finds versions of notes that have too many. The last note of a step may have more. */
const SURPLUS = `
  SELECT
    json_group_array(id) FILTER (WHERE later IS NOT NULL) AS keys,
    iif(count(*) < 4096, NULL, max(note_id) - 1) AS next
  FROM (SELECT *, lead(id, ${MAX_VERSIONS}) OVER (PARTITION BY note_id ORDER BY id) AS later
        FROM (SELECT note_id, id FROM note_versions
              WHERE note_id > ?1 ->> 2 ORDER BY note_id, id LIMIT 4096))`;

/** What erases rows that are due, or too many. */
export const ERASURES = {
  notes: erasing(TRASH, dueOf(TRASH, 'deleted_at')),
  versions: erasing(VERSIONS, dueOf(VERSIONS, 'replaced_at')),
  surplus: erasing(VERSIONS, SURPLUS),
};

/** Whether no record has the id of the note, or that of one of its comments. */
const IS_FREE = `NOT EXISTS (
  SELECT 1 FROM ${notes.table} WHERE id = ${ID}
  UNION ALL SELECT 1 FROM deleted_comments AS kept
  CROSS JOIN ${comments.table} ON ${comments.table}.id = kept.id WHERE kept.note_id = ${ID})`;

/** The note in the trash, if it is being restored. */
const RESTORED = `FROM ${TRASH.table} AS kept WHERE kept.id = ${ID} AND kept.number = -1`;

/** Takes a note out of the trash if it is free. Resolves with its text and its tag. */
export const RESTORE = kindOf(
  { text: `${recordSql(notes)} || ''`, tag: tagSql(`(${LAST_NUMBER} + 1)`), isFree: IS_FREE },
  `FROM ${TRASH.table} AS notes WHERE id = ${ID}`,
  {
    mark: `UPDATE ${TRASH.table} SET number = -1 WHERE id = ${ID} AND ${IS_FREE}`,
    note: restoring(notes, RESTORED),
    comments: restoring(comments, `FROM deleted_comments WHERE note_id = (SELECT id ${RESTORED})`),
    tags: `
      INSERT OR IGNORE INTO ${noteTags.table} (note_id, tag_id)
      SELECT ${ID}, id FROM ${tags.table}
      WHERE id IN (SELECT value FROM json_each((SELECT tag_ids ${RESTORED})))`,
    name: `
      INSERT OR IGNORE INTO ${noteNames.table} (note_id, name)
      SELECT id, name ${RESTORED} AND name IS NOT NULL`,
    // The triggers log the times of the records, and none of the tags.
    logNow: `
      UPDATE ${CHANGES} SET at = ${NOW}
      WHERE number >= (SELECT number FROM ${notes.table} WHERE id = (SELECT id ${RESTORED}))`,
    remove: `DELETE FROM ${TRASH.table} WHERE id = (SELECT id ${RESTORED})`,
  },
);

function restoring(resource: Resource, from: string): string {
  const columns = [...rowColumnsOf(resource), 'created_at', 'updated_at'].join(', ');
  return `
    INSERT INTO ${resource.table} (${columns}, number)
    SELECT ${columns}, ${LAST_NUMBER} + row_number() OVER (ORDER BY id) ${from}`;
}
