// The writes on what is kept of notes: they restore a note, and erase. No two share statements.
import { type Condition, satisfiesSql } from '../records/condition.ts';
import { ASSUMED_WITH_OWNED, bytesSql, bytesWithOwnedSql } from '../records/rewritten.ts';
import { recordSql } from '../records/text.ts';
import { notes } from '../resources/notes.ts';
import { typeOf } from '../resources/relation.ts';
import { type Resource, rowColumnsOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { Row } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER, tagSql } from '../storage/numbers.ts';
import { NOW, namedRows } from '../storage/parameter.ts';
import type { Columns } from '../storage/step.ts';
import type { Claim, RowSet, WriteKind } from '../storage/writer.ts';
import { SETTINGS, TRASH } from './kept.ts';
import { deletedNotes, isCrowded, noteVersions, thinning } from './schema.ts';

/** Greater than all keys and times. */
export const NO_END = Number.MAX_SAFE_INTEGER;

const SENT = namedRows('sent', ['_id', '_condition']);
const ID = '(SELECT _id FROM sent)';
const ALONE: readonly Claim[] = [[0]];

/** Resolves with what it has read before it writes; `changed` is the area of what it changes. */
export function kindOf(
  returns: Columns,
  from: string,
  writes: Columns,
  changed?: string,
): WriteKind<RowSet, Row | undefined> {
  const writing = Object.entries(writes).map(([name, write]) => [name, { named: SENT, write }]);
  const steps = { before: { named: SENT, returns, from }, ...Object.fromEntries(writing) };
  return {
    steps: () => steps,
    outcomes: (_, { before = [] }) => [before[0]],
    changes: (_, found) => (found && changed ? [[changed]] : []),
  };
}

/** Returns a write on a note; no other shares its steps. */
export function onNote(id: number, condition: Condition = null): RowSet {
  return { id, rows: [[id, condition]], claims: ALONE };
}

/** Returns a write on these rows; no other shares its steps. */
export function onRows(keys: readonly number[]): RowSet {
  return { rows: keys.map((key) => [key]), claims: ALONE };
}

/** Resolves with whether the tag of the note in `table` is admitted, and with the tag. */
function erasingOf(
  { table, number, isListed }: Pick<typeof TRASH, 'table' | 'number' | 'isListed'>,
  erase: (ids: string) => string,
) {
  const tag = tagSql(number);
  const isErased = satisfiesSql('_condition', tag);
  const from = `FROM sent CROSS JOIN ${table} ON ${table}.id = _id AND ${isListed}`;
  return kindOf({ tag, isErased }, from, {
    erase: erase(`SELECT ${table}.id ${from} WHERE ${isErased}`),
  });
}

/** Erases a note in the trash. */
export const ERASE_NOTE = {
  ...erasingOf(TRASH, (ids) => `DELETE FROM ${TRASH.table} WHERE id IN (${ids})`),
  rewrites: { bytes: bytesSql(deletedNotes) },
};

/** Erases the versions of a note. */
export const ERASE_VERSIONS = erasingOf(
  { table: notes.table, number: 'number', isListed: 'TRUE' },
  (ids) => `
    INSERT OR REPLACE INTO erased_versions (note_id, last_id)
    SELECT note_id, max(id) FROM ${noteVersions.table} WHERE note_id IN (${ids}) GROUP BY note_id`,
);

/** Erases all notes in the trash: the next one gets the first position of another block. */
export const EMPTY_TRASH = kindOf({ id: ID }, 'FROM sent', {
  leaveBlock: `
    UPDATE sqlite_sequence SET seq = seq | 1023 WHERE name = '${TRASH.table}'`,
  erase: `
    UPDATE ${SETTINGS} SET first_position = seq + 1
    FROM sqlite_sequence WHERE name = '${TRASH.table}'`,
});

/**
 * Erases rows by keys, which are never used again. Given [time, now, after], `find` reads some of
 * them, and after which place more may be.
 */
function erasing({ table }: Pick<Resource, 'table'>, key: string, find: string) {
  const from = `FROM sent CROSS JOIN ${table} ON ${table}.${key} = _id`;
  const erase = `DELETE FROM ${table} WHERE ${key} IN (SELECT _id FROM sent)`;
  return { find, ...kindOf({ key: '_id' }, from, { erase }, table) };
}

/**
 * Finds keys up to `time`. Later keys have later times, unless the clock was set: then a row may go
 * with later ones, or stay until its time in the future.
 */
const dueOf = ({ table }: Pick<Resource, 'table'>, key: string, time: string) => `
  SELECT
    json_group_array(${key}) FILTER (WHERE coalesce(${time}, ${NO_END}) <= ?1 ->> 0) AS keys,
    iif(max(${time} BETWEEN ?1 ->> 0 AND ?1 ->> 1), NULL, max(${key})) AS next
  FROM (SELECT ${key}, ${time} FROM ${table} WHERE ${key} > ?1 ->> 2 ORDER BY ${key} LIMIT 4096)`;

/** How many rows are looked at at once, and how many notes are thinned, which takes up to 15 ms. */
const STEP = { rows: 1_024, thinned: 4 };

/** Finds versions beyond those that are shown, of the notes that a query reads from a place on. */
function surplusOf(place: string, read: string): string {
  const hidden =
    'SELECT json_group_array(hidden ORDER BY place) FROM thinned WHERE hidden NOT NULL';
  return `
    WITH few (note_id, place) AS MATERIALIZED (
      SELECT ${read}, ${place} FROM note_versions
      WHERE ${place} > ?1 ->> 2 ORDER BY ${place} LIMIT ${STEP.rows})
    SELECT
      (SELECT json_group_array(value ORDER BY note_id, key)
       FROM (SELECT DISTINCT note_id FROM few WHERE ${isCrowded('few.note_id')}
             LIMIT ${STEP.thinned}) AS crowded
         CROSS JOIN json_each((${thinning('crowded.note_id', hidden)}))) AS keys,
      iif(count(*) < ${STEP.rows}, NULL, max(place)) AS next
    FROM few`;
}

/** The id of the latest version. */
export const LAST_VERSION = 'SELECT coalesce(max(id), 0) AS last FROM note_versions';

/** What erases rows that are due. */
export const ERASURES = {
  notes: erasing(deletedNotes, 'position', dueOf(deletedNotes, 'position', 'deleted_at')),
  versions: erasing(noteVersions, 'id', dueOf(noteVersions, 'id', 'replaced_at')),
};

/** What erases versions beyond those that are shown: of all notes, and of those with later ones. */
export const THINNING = {
  all: erasing(noteVersions, 'id', surplusOf('note_id', 'DISTINCT note_id')),
  later: erasing(noteVersions, 'id', surplusOf('id', 'note_id')),
};

/** The note in the trash, if there is one. */
const RESTORED = `FROM ${TRASH.table} WHERE ${TRASH.table}.id = ${ID} AND ${TRASH.isListed}`;

const RESTORING = kindOf(
  { text: `${recordSql(notes)} || ''`, tag: tagSql(`(${LAST_NUMBER} + 1)`) },
  `FROM ${TRASH.table} AS notes WHERE id = ${ID} AND ${TRASH.isListed}`,
  {
    begin: `UPDATE ${SETTINGS} SET restored = ${ID}`,
    note: restoring(notes),
    ...Object.fromEntries(ownedRecords(notes, `(SELECT id ${RESTORED})`)),
    tags: `
      INSERT OR IGNORE INTO note_tags (note_id, tag_id)
      SELECT ${ID}, id FROM tags
      WHERE id IN (SELECT value FROM json_each((SELECT tag_ids ${RESTORED})))`,
    name: `
      INSERT OR IGNORE INTO note_names (note_id, name)
      SELECT id, name ${RESTORED} AND name IS NOT NULL`,
    // The triggers log the time of the note, and none of the tags.
    logNow: `
      UPDATE ${CHANGES} SET at = ${NOW}
      WHERE number >= (SELECT number FROM ${notes.table} WHERE id = (SELECT id ${RESTORED}))
        AND at IS NOT ${NOW}`,
    remove: `DELETE FROM ${TRASH.table} WHERE id = (SELECT id ${RESTORED})`,
    end: `UPDATE ${SETTINGS} SET restored = NULL`,
  },
  'note_names',
);

/** The number of tags of a note in the trash. */
const TAGS = `SELECT json_array_length(tag_ids) FROM ${TRASH.table} WHERE id = sent.value`;

/**
 * Takes a note out of the trash; what it owns has stayed where it is. Resolves with its text and
 * its tag. Memory has no text of it, but may know its name as that of another note.
 */
export const RESTORE = {
  ...RESTORING,
  rewrites: {
    bytes: bytesWithOwnedSql(notes, TRASH.table, [TAGS]),
    assumedBytes: ASSUMED_WITH_OWNED,
  },
};

function restoring(resource: Resource): string {
  const columns = [...rowColumnsOf(resource), 'created_at', 'updated_at'].join(', ');
  return `
    INSERT INTO ${resource.table} (${columns}, number)
    SELECT ${columns}, ${LAST_NUMBER} + 1 ${RESTORED}`;
}

/** Returns the statements that log what records own, at any depth, as created. */
function ownedRecords(owner: Resource, ids: string): [name: string, sql: string][] {
  const owned = RESOURCES.filter((each) => each.owner?.resource === owner);
  return owned.flatMap((each) => {
    const column = each.owner?.column;
    const records = `FROM ${each.table} WHERE ${column} IN ${ids}`;
    const log = `
      INSERT INTO ${CHANGES} (type, id, other_id, at)
      SELECT '${typeOf(each)}.created', id, ${column}, ${NOW} ${records} ORDER BY id`;
    return [[each.table, log], ...ownedRecords(each, `(SELECT id ${records})`)];
  });
}
