// Writes of records together with their links, such as notes with their tags.
import type { Link, Resource } from '../../resources/resource.ts';
import type { NewLink, RowSet, Values, Write, WriteKind } from '../batches/writer.ts';
import { lastIdSql, tagSql } from '../changes/numbers.ts';
import type { Row } from '../database.ts';
import { ANSWERS, FORGET_KEYS, NOW } from './answered-keys.ts';
import type { Condition } from './condition.ts';
import { ownerExistsSql, recordSql } from './text.ts';
import {
  answerIn,
  type Created,
  type CreatedOnce,
  changeStatement,
  createdBy,
  createStatement,
  creationOf as creationChange,
  isTarget,
  member,
  type Once,
  ROWS,
  readStatement,
  type Stored,
} from './writes.ts';
import { writtenIn } from './written-rows.ts';

/** The outcome of a write that was not carried out because a link names no record. */
export interface NoSuchEnds {
  /** The positions of such links among those of the write. */
  readonly missing: readonly number[];
}

/** The records at the first end of a link. Every call rejects as those of `Table` do. */
export interface LinkedTable {
  /** As `create` and `createOnce` of `Table`, with links, whose positions are those of records. */
  create(
    records: readonly Values[],
    links: readonly NewLink[],
    once?: Once,
    owner?: number,
  ): Promise<Created | CreatedOnce | NoSuchEnds | undefined>;
  /** As `patch` of `Table`; replaces the links of the record, which do not change its tag. */
  change(
    id: number,
    values: Values,
    links: readonly NewLink[],
    owner?: number,
    condition?: Condition,
  ): Promise<Stored | NoSuchEnds | undefined>;
}

interface LinkedRows extends RowSet {
  readonly links: readonly NewLink[];
  readonly once?: Once | undefined;
}

type Creation = WriteKind<LinkedRows, Created | CreatedOnce | NoSuchEnds | undefined>;
type Change = WriteKind<LinkedRows, Stored | NoSuchEnds | undefined>;

/** The key of all writes, so that the statements of each see only its rows. */
const ALONE = 0;

/** The SQL of all links of a write, and of the members of the current one. */
const LINKS = `json_each(?1, '$[2]') AS link`;
const ROW = 'link.value ->> 0';
const END = 'link.value ->> 1';

/** The SQL of the key and of the fingerprint of a request, NULL if it has none. */
const KEY = `(SELECT ?1 ->> '$[3]')`;
const FINGERPRINT = `(SELECT ?1 ->> '$[4]')`;

/** Returns the records at the first end of `link`, whose writes go through `write`. */
export function createLinkedTable(link: Link, write: Write): LinkedTable {
  const creation = creationOf(link);
  const change = changeOf(link);
  const isOwned = link.ends[0].resource.owner !== undefined;
  const rowsOf = (records: readonly Values[], owner = 0) =>
    isOwned ? records.map((each) => [owner, ...each]) : records;
  return {
    create: (records, links, once, owner) =>
      write(creation, ALONE, { rows: rowsOf(records, owner), links, once }),
    change: (id, values, links, owner, condition = null) =>
      write(change, ALONE, { rows: rowsOf([[id, condition, ...values]], owner), links }),
  };
}

/** Returns the SQL of the positions of links that name no record, and of whether there are none. */
function missingEnds({ ends: [, { resource }] }: Link) {
  const from = `${LINKS} WHERE NOT EXISTS (SELECT 1 FROM ${resource.table} WHERE id = ${END})`;
  return {
    // As a string, which json_object does not embed as JSON.
    missing: `(SELECT json_group_array(link.key) FROM ${from}) || ''`,
    isComplete: `NOT EXISTS (SELECT 1 FROM ${from})`,
  };
}

/** The request is answered after its records are created: until then, its key is unknown. */
function creationOf(link: Link): Creation {
  const [{ resource, column }, { column: otherColumn }] = link.ends;
  const { missing, isComplete } = missingEnds(link);
  const ownerExists = ownerExistsSql(resource, `(SELECT ?1 ->> '$[1][0][0]')`);
  const isUnknown = `NOT EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = ${KEY})`;
  const isAdmitted = `${ownerExists} AND ${isComplete} AND ${isUnknown}`;
  const firstId = `(SELECT ${lastIdSql(resource.table)} - json_array_length(?1, '$[1]') + 1)`;
  return {
    statements: [
      FORGET_KEYS,
      readStatement(
        {
          owner_exists: ownerExists,
          missing,
          fingerprint: 'known.fingerprint',
          id: 'known.id',
          tag: 'known.tag',
        },
        `FROM (SELECT 1) LEFT JOIN ${ANSWERS} AS known ON known.key = ${KEY}`,
      ),
      createStatement(resource, isAdmitted),
      {
        sql: `
          INSERT INTO ${link.table} (${column}, ${otherColumn})
          SELECT ${firstId} + (${ROW}), ${END} FROM ${LINKS} WHERE ${isAdmitted}`,
      },
      {
        sql: `
          INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
          SELECT ${KEY}, ${FINGERPRINT}, id, ${tagSql('number')}, ${NOW} FROM ${resource.table}
          WHERE id = ${firstId} AND ${KEY} IS NOT NULL AND ${isAdmitted}`,
      },
    ],
    extra: ([first]) => [first?.links, first?.once?.key, first?.once?.fingerprint],
    outcomes: ([write], _, [before] = [], created = []) => [
      write && outcomeOf(resource, write, before, created),
    ],
    changes: (_, outcome) =>
      creationChange(resource, outcome && isNew(outcome) ? outcome : undefined),
  };
}

function outcomeOf(
  resource: Resource,
  write: LinkedRows,
  before: Row | undefined,
  created: readonly Row[],
): Created | CreatedOnce | NoSuchEnds | undefined {
  if (write.once && before?.fingerprint) {
    const isReuse = before.fingerprint !== write.once.fingerprint;
    return { ...createdBy(resource, answerIn(before), write), isReplay: true, isReuse };
  }
  if (!before?.owner_exists) return undefined;
  if (before.missing !== '[]') return { missing: JSON.parse(String(before.missing)) };
  const all = created.map(writtenIn);
  const first = all.reduce((one, other) => (other.id < one.id ? other : one));
  return createdBy(resource, first, write);
}

function isNew(outcome: Created | CreatedOnce | NoSuchEnds): outcome is Created {
  return 'id' in outcome && !('isReplay' in outcome);
}

/** The links go first, because they do not change the tag, which the condition is about. */
function changeOf(link: Link): Change {
  const [{ resource, column }, { column: otherColumn }] = link.ends;
  const { table, fields } = resource;
  const { missing, isComplete } = missingEnds(link);
  const target = `FROM ${ROWS} CROSS JOIN ${table} ON ${isTarget(resource, true)}`;
  const first = resource.owner ? 3 : 2;
  const isGiven = Object.keys(fields).map((_, index) => `${member(first + index)} IS NOT NULL`);
  const isLinked = `
    EXISTS (SELECT 1 FROM ${link.table} WHERE ${column} = ${table}.id AND ${otherColumn} = ${END})`;
  return {
    statements: [
      readStatement(
        { tag: tagSql(`${table}.number`), text: `${recordSql(resource)} || ''`, missing },
        target,
      ),
      {
        sql: `
          DELETE FROM ${link.table} WHERE ${column} IN (SELECT ${table}.id ${target})
            AND ${otherColumn} NOT IN (SELECT ${END} FROM ${LINKS}) AND ${isComplete}`,
      },
      {
        sql: `
          INSERT INTO ${link.table} (${column}, ${otherColumn})
          SELECT ${table}.id, ${END} ${target} CROSS JOIN ${LINKS}
          WHERE ${isComplete} AND NOT ${isLinked}`,
      },
      changeStatement(resource, {
        isPatch: true,
        isConditional: true,
        where: `${isComplete} AND (${isGiven.join(' OR ')})`,
      }),
    ],
    extra: ([first]) => [first?.links],
    outcomes: (_, [before] = [], __, ___, [changed] = []) => [changedBy(before, changed)],
    changes({ rows: [row = []] }, outcome) {
      if (!outcome || 'missing' in outcome) return [];
      // New links may be the same as before.
      if (row.slice(first).every((value) => value === null)) return undefined;
      return [[table, Number(row[first - 2]), outcome]];
    },
  };
}

function changedBy(
  before: Row | undefined,
  changed: Row | undefined,
): Stored | NoSuchEnds | undefined {
  if (!before) return undefined;
  if (before.missing !== '[]') return { missing: JSON.parse(String(before.missing)) };
  if (!changed) return { text: String(before.text), tag: String(before.tag) };
  const { rest, tag } = writtenIn(changed);
  return { text: rest, tag };
}
