// Writes of several statements: creations with a key, and records with links.
import type { Link, Resource } from '../../resources/resource.ts';
import type { RowSet, WriteKind } from '../batches/writer.ts';
import type { Row } from '../database.ts';
import { lastIdSql, tagSql } from '../numbers.ts';
import { ANSWERS, FORGET_KEYS, NOW, SET_TIMES } from './answered-keys.ts';
import { createNamedSql, endIdSql, linkValues, newEndsSql } from './named-ends.ts';
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

/** A write was not carried out because a link names no record. */
export interface MissingEnds {
  /** Their positions among the links of the write. */
  readonly missing: readonly number[];
}

/** It reads its outcome before it writes: afterwards, a new key looks like a known one. */
type Creation = WriteKind<RowSet, Created | MissingEnds | undefined>;

/** The SQL of the key and, in the first row of a write, of the fingerprint; else NULL. */
const KEY = member(1);
const FINGERPRINT = member(2);

/** The SQL of the links of a write, and of the id or name of the record at the other end. */
const LINKS = `json_each(?1, '$[2]') AS link`;
const END = 'link.value ->> 1';

/** Returns the SQL of what is known of the ends of links, and of whether all their ids are. */
function endsSql(link: Link | undefined) {
  if (!link) return { columns: { missing: `'[]'` }, isComplete: 'TRUE' };
  const { table } = link.ends[1].resource;
  const from = `${LINKS} WHERE typeof(${END}) <> 'text'
    AND NOT EXISTS (SELECT 1 FROM ${table} WHERE id = ${END})`;
  // As a string, which json_object does not embed as JSON.
  const missing = `(SELECT json_group_array(link.key) FROM ${from}) || ''`;
  return {
    columns: { missing, new_ends: newEndsSql(link) },
    isComplete: `NOT EXISTS (SELECT 1 FROM ${from})`,
  };
}

/** Returns creations with a key and, with `link`, with links; then a run must have one write. */
export function compoundCreation(resource: Resource, link?: Link): Creation {
  const { table } = resource;
  const { columns, isComplete } = endsSql(link);
  const { id, tag } = newRecord(resource);
  const ownerExists = ownerExistsSql(resource, OWNER);
  const isUnknown = `NOT EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = ${KEY})`;
  const isAdmitted = `${ownerExists} AND ${isComplete} AND ${isUnknown}`;
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
          ...columns,
          fingerprint: 'known.fingerprint',
          id: `coalesce(known.id, ${id})`,
          tag: `coalesce(known.tag, ${tag})`,
        },
        `FROM ${ROWS} LEFT JOIN ${ANSWERS} AS known ON known.key = ${KEY}
         WHERE ${FINGERPRINT} IS NOT NULL`,
      ),
      { sql: insertSql(resource, isAdmitted) },
      ...(link ? [...linkNewStatements(link, base), SET_TIMES] : []),
      {
        sql: `
          INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
          SELECT ${KEY}, ${FINGERPRINT}, ${table}.id, ${tagSql('number')}, ${NOW}
          FROM ${ROWS} CROSS JOIN ${table} ON ${table}.id = ${base} + ${POSITION}
          WHERE ${KEY} IS NOT NULL AND ${FINGERPRINT} IS NOT NULL AND ${isAdmitted}`,
      },
    ],
    ...(link && { extra: ([write]) => (write ? linkValues(link, write) : []) }),
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

/** Returns the statements that link the created records; `base` is the id before the first. */
function linkNewStatements(link: Link, base: string) {
  const [own, other] = link.ends;
  const records = own.resource.table;
  const linkNew = `
    INSERT INTO ${link.table} (${own.column}, ${other.column})
    SELECT ${records}.id, ${endIdSql(link, END)}
    FROM ${LINKS} CROSS JOIN ${records} ON ${records}.id = ${base} + (link.value ->> 0)`;
  return [{ sql: createNamedSql(link, `${base} IS NOT NULL`) }, { sql: linkNew }];
}

function outcomeOf(
  resource: Resource,
  write: RowSet,
  { owner_exists, missing, new_ends, fingerprint, id, tag }: Row,
): Created | MissingEnds | undefined {
  const isReplay = fingerprint !== null;
  if (!isReplay && !owner_exists) return undefined;
  if (!isReplay && missing !== '[]') return { missing: JSON.parse(String(missing)) };
  return {
    id: Number(id),
    tag: String(tag),
    texts: createdTexts(resource, Number(id), write),
    isReplay,
    isReuse: isReplay && fingerprint !== write.rows[0]?.[2],
    ...(!isReplay && new_ends && { newEnds: JSON.parse(String(new_ends)) }),
  };
}

/** The links go first, while the condition can be tested. A run must have only one write. */
export function linkedChange(link: Link): WriteKind<RowSet, Changed | MissingEnds | undefined> {
  const [{ resource, column }, { column: otherColumn }] = link.ends;
  const { table, fields } = resource;
  const { columns, isComplete } = endsSql(link);
  const target = `FROM ${ROWS} CROSS JOIN ${table} ON ${isTarget(resource)}`;
  const isGiven = Object.keys(fields).map((_, at) => `${member(FIRST_FIELD + at)} IS NOT NULL`);
  const end = endIdSql(link, END);
  const isLinked = `
    EXISTS (SELECT 1 FROM ${link.table} WHERE ${column} = ${table}.id AND ${otherColumn} = ${end})`;
  return {
    statements: [
      readStatement(
        { ...columns, tag: tagSql(`${table}.number`), text: `${recordSql(resource)} || ''` },
        target,
      ),
      { sql: createNamedSql(link, `${isComplete} AND EXISTS (SELECT 1 ${target})`) },
      {
        sql: `
          DELETE FROM ${link.table} WHERE ${column} IN (SELECT ${table}.id ${target})
            AND ${otherColumn} NOT IN (SELECT ${end} FROM ${LINKS}) AND ${isComplete}`,
      },
      {
        sql: `
          INSERT INTO ${link.table} (${column}, ${otherColumn})
          SELECT ${table}.id, ${end} ${target} CROSS JOIN ${LINKS}
          WHERE ${isComplete} AND NOT ${isLinked}`,
      },
      changeStatement(resource, true, `${isComplete} AND (${isGiven.join(' OR ')})`),
      SET_TIMES,
    ],
    extra: ([write]) => (write ? linkValues(link, write) : []),
    outcomes: (_, rows) => [changedBy(Object.assign({}, ...rows))],
    changes({ rows: [row = []] }, outcome) {
      if (!outcome || 'missing' in outcome) return [];
      // New links may be the same as before.
      if (row.slice(FIRST_FIELD).every((value) => value === null)) return undefined;
      const { text, tag } = outcome;
      return [[table, Number(row[1]), { text, tag }]];
    },
  };
}

function changedBy(row: Row): Changed | MissingEnds | undefined {
  const { missing, new_ends, tag, text, written } = row;
  if (missing === undefined) return undefined;
  if (missing !== '[]') return { missing: JSON.parse(String(missing)) };
  const now = written === undefined ? { rest: text, tag } : writtenIn(row);
  const newEnds = new_ends && { newEnds: JSON.parse(String(new_ends)) };
  return { text: String(now.rest), tag: String(now.tag), ...newEnds };
}
