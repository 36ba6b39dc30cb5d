// Creations of several statements: with a key, or of notes with tags.

import { ownerExistsSql } from '../records/text.ts';
import {
  type Created,
  createdRows,
  createdTexts,
  insertSql,
  NUMBER,
  newIdSql,
  newRecords,
  readStatement,
} from '../records/writes.ts';
import type { Resource } from '../resources/resource.ts';
import type { Row } from '../storage/database.ts';
import { lastIdSql, tagSql } from '../storage/numbers.ts';
import { NOW, SET_TIMES } from '../storage/parameter.ts';
import type { RowSet, WriteKind } from '../storage/writer.ts';
import {
  CREATE_TAGS,
  newTagsIn,
  TAG_COLUMNS,
  TAGS,
  tagValues,
  type UnknownTags,
} from '../tags/tagged-notes.ts';
import { ANSWERS } from './key-clock.ts';

/** A request that must not be carried out twice. */
export interface Once {
  readonly key: string;
  /** Of the content of the request; not empty. */
  readonly fingerprint: string;
}

/** It reads its outcome before it writes: afterwards, a new key looks like a known one. */
type Creation = WriteKind<RowSet, Created | UnknownTags | undefined>;

/** A key is kept for this time, unless this many others follow. */
const KEPT_MS = 86_400_000;
const KEPT_KEYS = 100_000;

/** The SQL that forgets the oldest keys. */
export const FORGET_KEYS = `
  DELETE FROM ${ANSWERS} WHERE answered_at <= (${NOW}) - ${KEPT_MS}
    OR position <= (SELECT max(position) FROM ${ANSWERS}) - ${KEPT_KEYS}`;

/** Returns creations with a key or with tags; if they have tags, a run must have one write. */
export function compoundCreation(resource: Resource, hasTags = false): Creation {
  return {
    statements: creationStatements(resource, hasTags),
    ...(hasTags && { extra: tagValues }),
    outcomes(writes, { before = [] }) {
      const byPosition = new Map(before.map((row) => [row.position, row]));
      let position = 0;
      return writes.map((write) => {
        const row = byPosition.get(position);
        position += write.rows.length;
        return row && outcomeOf(resource, write, row);
      });
    },
    changes: (_, outcome) =>
      outcome && 'id' in outcome && !outcome.isReplay ? [[resource.table, outcome.id]] : [],
  };
}

function creationStatements(resource: Resource, hasTags: boolean) {
  const { table } = resource;
  const ownerExists = ownerExistsSql(resource, '_owner');
  const areKnown = hasTags ? 'NOT EXISTS (SELECT 1 FROM unknown) AND' : '';
  // After the records were created, and until the keys are, `created` has the id of the first.
  const named = `${createdRows(resource)},${hasTags ? TAGS : ''}
    admitted AS (
      SELECT * FROM sent
      WHERE ${ownerExists} AND ${areKnown} NOT EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = _key)),
    created AS (SELECT ${lastIdSql(table)} - max(_position) AS first_id FROM admitted)`;
  const statement = (sql: string) => ({ sql: `WITH ${named} ${sql}` });
  const tagging = {
    createTags: statement(CREATE_TAGS),
    tag: statement(`
      INSERT INTO note_tags (note_id, tag_id)
      SELECT first_id + _row, tag_id FROM created CROSS JOIN chosen WHERE first_id IS NOT NULL`),
    setTimes: SET_TIMES,
  };
  return {
    forget: { sql: FORGET_KEYS },
    before: readStatement(
      named,
      {
        position: '_position',
        owner_exists: ownerExists,
        ...(hasTags ? TAG_COLUMNS : { unknown: `'[]'`, new_tags: '0' }),
        fingerprint: 'known.fingerprint',
        id: `coalesce(known.id, ${newIdSql(resource)})`,
        tag: `coalesce(known.tag, ${tagSql(NUMBER)})`,
      },
      `FROM sent LEFT JOIN ${ANSWERS} AS known ON known.key = _key
       WHERE _fingerprint IS NOT NULL`,
    ),
    insert: statement(insertSql(resource, newRecords(resource, 'FROM admitted'))),
    ...(hasTags && tagging),
    remember: statement(`
      INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
      SELECT _key, _fingerprint, ${table}.id, ${tagSql(`${table}.number`)}, ${NOW}
      FROM sent CROSS JOIN ${table} ON ${table}.id = (SELECT first_id FROM created) + _position
      WHERE _key IS NOT NULL AND _fingerprint IS NOT NULL`),
  };
}

function outcomeOf(resource: Resource, write: RowSet, row: Row): Created | UnknownTags | undefined {
  const { owner_exists, unknown, fingerprint, id, tag } = row;
  const isReplay = fingerprint !== null;
  if (!isReplay && !owner_exists) return undefined;
  if (!isReplay && unknown !== '[]') return { unknown: JSON.parse(String(unknown)) };
  return {
    id: Number(id),
    tag: String(tag),
    texts: createdTexts(resource, Number(id), write),
    isReplay,
    isReuse: isReplay && fingerprint !== write.rows[0]?.[2],
    ...(!isReplay && newTagsIn(row)),
  };
}
