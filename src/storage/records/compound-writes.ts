// Writes of several statements: creations with a key, and notes with tags.
import { notes } from '../../resources/notes.ts';
import type { Resource } from '../../resources/resource.ts';
import type { RowSet, WriteKind } from '../batches/writer.ts';
import type { Row } from '../database.ts';
import { lastIdSql, tagSql } from '../numbers.ts';
import { ANSWERS, FORGET_KEYS, NOW, SET_TIMES } from './answered-keys.ts';
import { createTagsSql, NEW_TAGS, tagIdSql, tagValues } from './named-tags.ts';
import { FIRST_FIELD, ownerExistsSql, recordSql } from './text.ts';
import {
  type Changed,
  type Created,
  changeStatement,
  createdTexts,
  insertSql,
  isTarget,
  member,
  newRecord,
  OWNER,
  POSITION,
  ROWS,
  readStatement,
  writtenIn,
} from './writes.ts';

/** A request that must not be carried out twice. */
export interface Once {
  readonly key: string;
  /** Of the content of the request; not empty. */
  readonly fingerprint: string;
}

/** A write was not carried out because some ids are not those of tags. */
export interface UnknownTags {
  /** Their positions among the tags of the write. */
  readonly unknown: readonly number[];
}

/** It reads its outcome before it writes: afterwards, a new key looks like a known one. */
type Creation = WriteKind<RowSet, Created | UnknownTags | undefined>;

/** The SQL of the key and, in the first row of a write, of the fingerprint; else NULL. */
const KEY = member(1);
const FINGERPRINT = member(2);

/** The SQL of the tags of a write, and of the id or name of one. */
const TAGS = `json_each(?1, '$[2]') AS given`;
const TAG = 'given.value ->> 1';
const TAG_ID = tagIdSql(TAG);

const UNKNOWN = `${TAGS} WHERE typeof(${TAG}) <> 'text'
  AND NOT EXISTS (SELECT 1 FROM tags WHERE id = ${TAG})`;
const ARE_KNOWN = `NOT EXISTS (SELECT 1 FROM ${UNKNOWN})`;

/** The SQL of what is known of the tags of a write. */
const TAG_COLUMNS = {
  // As a string, which json_object does not embed as JSON.
  unknown: `(SELECT json_group_array(given.key) FROM ${UNKNOWN}) || ''`,
  new_tags: NEW_TAGS,
};

/** Returns creations with a key or with tags; if they have tags, a run must have one write. */
export function compoundCreation(resource: Resource, hasTags = false): Creation {
  const { table } = resource;
  const { id, tag } = newRecord(resource);
  const ownerExists = ownerExistsSql(resource, OWNER);
  const isUnknown = `NOT EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = ${KEY})`;
  const isAdmitted = `${ownerExists} AND ${hasTags ? ARE_KNOWN : 'TRUE'} AND ${isUnknown}`;
  // After the records were created, and until the keys are: the id before the first row.
  const base = `
    (SELECT ${lastIdSql(table)} - max(${POSITION}) FROM ${ROWS} WHERE ${isAdmitted})`;
  return {
    statements: [
      FORGET_KEYS,
      readStatement(
        {
          position: POSITION,
          owner_exists: ownerExists,
          ...(hasTags ? TAG_COLUMNS : { unknown: `'[]'` }),
          fingerprint: 'known.fingerprint',
          id: `coalesce(known.id, ${id})`,
          tag: `coalesce(known.tag, ${tag})`,
        },
        `FROM ${ROWS} LEFT JOIN ${ANSWERS} AS known ON known.key = ${KEY}
         WHERE ${FINGERPRINT} IS NOT NULL`,
      ),
      { sql: insertSql(resource, isAdmitted) },
      ...(hasTags ? [...tagStatements(base), SET_TIMES] : []),
      {
        sql: `
          INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
          SELECT ${KEY}, ${FINGERPRINT}, ${table}.id, ${tagSql('number')}, ${NOW}
          FROM ${ROWS} CROSS JOIN ${table} ON ${table}.id = ${base} + ${POSITION}
          WHERE ${KEY} IS NOT NULL AND ${FINGERPRINT} IS NOT NULL AND ${isAdmitted}`,
      },
    ],
    ...(hasTags && { extra: ([write]) => (write ? tagValues(write) : []) }),
    outcomes(writes, rows) {
      const byPosition = new Map(rows.map((row) => [row.position, row]));
      let position = 0;
      return writes.map((write) => {
        const before = byPosition.get(position);
        position += write.rows.length;
        return before && outcomeOf(resource, write, before);
      });
    },
    changes: (_, outcome) =>
      outcome && 'id' in outcome && !outcome.isReplay ? [[table, outcome.id]] : [],
  };
}

/** Returns the statements that tag the created notes; `base` is the id before the first. */
function tagStatements(base: string) {
  const tagNew = `
    INSERT INTO note_tags (note_id, tag_id) SELECT notes.id, ${TAG_ID}
    FROM ${TAGS} CROSS JOIN notes ON notes.id = ${base} + (given.value ->> 0)`;
  return [{ sql: createTagsSql(`${base} IS NOT NULL`) }, { sql: tagNew }];
}

function outcomeOf(
  resource: Resource,
  write: RowSet,
  { owner_exists, unknown, new_tags, fingerprint, id, tag }: Row,
): Created | UnknownTags | undefined {
  const isReplay = fingerprint !== null;
  if (!isReplay && !owner_exists) return undefined;
  if (!isReplay && unknown !== '[]') return { unknown: JSON.parse(String(unknown)) };
  return {
    id: Number(id),
    tag: String(tag),
    texts: createdTexts(resource, Number(id), write),
    isReplay,
    isReuse: isReplay && fingerprint !== write.rows[0]?.[2],
    ...(!isReplay && new_tags && { newTags: JSON.parse(String(new_tags)) }),
  };
}

/** Returns changes of notes with tags. The tags go first, while the condition can be tested. */
export function taggedChange(): WriteKind<RowSet, Changed | UnknownTags | undefined> {
  const target = `FROM ${ROWS} CROSS JOIN notes ON ${isTarget(notes)}`;
  const isGiven = Object.keys(notes.fields).map(
    (_, index) => `${member(FIRST_FIELD + index)} IS NOT NULL`,
  );
  const isTagged = `
    EXISTS (SELECT 1 FROM note_tags WHERE note_id = notes.id AND tag_id = ${TAG_ID})`;
  return {
    statements: [
      readStatement(
        { ...TAG_COLUMNS, tag: tagSql('notes.number'), text: `${recordSql(notes)} || ''` },
        target,
      ),
      { sql: createTagsSql(`${ARE_KNOWN} AND EXISTS (SELECT 1 ${target})`) },
      {
        sql: `
          DELETE FROM note_tags WHERE note_id IN (SELECT notes.id ${target})
            AND tag_id NOT IN (SELECT ${TAG_ID} FROM ${TAGS}) AND ${ARE_KNOWN}`,
      },
      {
        sql: `
          INSERT INTO note_tags (note_id, tag_id)
          SELECT notes.id, ${TAG_ID} ${target} CROSS JOIN ${TAGS}
          WHERE ${ARE_KNOWN} AND NOT ${isTagged}`,
      },
      changeStatement(notes, true, `${ARE_KNOWN} AND (${isGiven.join(' OR ')})`),
      SET_TIMES,
    ],
    extra: ([write]) => (write ? tagValues(write) : []),
    outcomes: (_, rows) => [changedBy(Object.assign({}, ...rows))],
    changes({ rows: [row = []] }, outcome) {
      if (!outcome || 'unknown' in outcome) return [];
      // New tags may be the same as before.
      if (row.slice(FIRST_FIELD).every((value) => value === null)) return undefined;
      const { text, tag } = outcome;
      return [['notes', Number(row[1]), { text, tag }]];
    },
  };
}

function changedBy(row: Row): Changed | UnknownTags | undefined {
  const { unknown, new_tags, tag, text, written } = row;
  if (unknown === undefined) return undefined;
  if (unknown !== '[]') return { unknown: JSON.parse(String(unknown)) };
  const now = written === undefined ? { rest: text, tag } : writtenIn(row);
  const newTags = new_tags && { newTags: JSON.parse(String(new_tags)) };
  return { text: String(now.rest), tag: String(now.tag), ...newTags };
}
