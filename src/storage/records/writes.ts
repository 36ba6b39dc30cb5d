// The kinds of writes on the records of a resource: their statements and their outcomes. A write
// checks its condition in its own statement, so that no other write comes in between.
import { columnsOf, type Resource } from '../../resources/resource.ts';
import { RESOURCES } from '../../resources/resources.ts';
import type { Change } from '../batches/fresh-memory.ts';
import type { RowSet, WriteKind } from '../batches/writer.ts';
import { LAST_NUMBER, lastIdSql, tagSql } from '../changes/numbers.ts';
import type { Row } from '../database.ts';
import { ANSWERS, FORGET_KEYS, NOW } from './answered-keys.ts';
import { satisfiesSql } from './condition.ts';
import { ownerExistsSql, recordSql, recordText } from './text.ts';
import { type Written, writtenIn, writtenSql } from './written-rows.ts';

/** A record as it is stored. */
export interface Stored {
  /** Its JSON text. */
  readonly text: string;
  /** Its entity tag, without quotes. */
  readonly tag: string;
}

/** The records of one creation, which have consecutive ids. */
export interface Created {
  /** The id and the entity tag of the first record. */
  readonly id: number;
  readonly tag: string;
  /** The JSON text of each record. */
  readonly texts: readonly string[];
}

/** A request that must not be carried out twice. */
export interface Once {
  readonly key: string;
  /** Identifies the content of the request. */
  readonly fingerprint: string;
}

/** The outcome of a creation with a key. */
export interface CreatedOnce extends Created {
  /** Whether an earlier request with this key has created the records. */
  readonly isReplay: boolean;
  /** Whether that request had another content. */
  readonly isReuse: boolean;
}

/** The rows of a creation with a key. Each ends with the key. */
export interface OnceRows extends RowSet {
  readonly once: Once;
}

/** The SQL of the rows of all writes. */
export const ROWS = `json_each(?1, '$[1]') AS sent`;
/** The SQL of the keys as {@link keysOf} returns them. */
const KEYS = `json_each(?1, '$[2]') AS sent`;

/** The SQL of the position of the current row. */
const POSITION = 'sent.key';

/** The SQL of a member of the current row. */
export const member = (index: number) => `sent.value ->> ${index}`;

/**
 * Returns the kinds of writes on `resource`. A row is [owner, ...fields] to create, [owner, id,
 * condition] to remove, and [owner, id, condition, ...fields] to replace and to patch. Without
 * owners, the first member is left out. The conditions count only with `isConditional`.
 */
export function createKinds(resource: Resource, isConditional: boolean) {
  const { table } = resource;
  const isOwned = resource.owner !== undefined;
  const idIn = ({ rows: [row] }: RowSet) => Number(row?.[isOwned ? 1 : 0]);
  const find = (writes: readonly RowSet[], rows: readonly Row[] = []) => {
    const byId = new Map(rows.map(writtenIn).map((written) => [written.id, written]));
    return writes.map((write) => byId.get(idIn(write)));
  };
  const creation: WriteKind<RowSet, Created | undefined> = {
    statements: [createStatement(resource)],
    outcomes: (writes, rows) => firstCreated(resource, writes, rows),
    changes: (_, created) => creationOf(resource, created),
  };
  const creationOnce: WriteKind<OnceRows, CreatedOnce | undefined> = {
    statements: onceStatements(resource),
    extra: (writes) => [keysOf(writes, isOwned)],
    outcomes: (writes, _, answers, created) => answersTo(resource, writes, answers, created),
    changes: (_, created) => creationOf(resource, created?.isReplay ? undefined : created),
  };
  const replacement: WriteKind<RowSet, Stored | undefined> = {
    statements: [changeStatement(resource, { isPatch: false, isConditional })],
    outcomes: (writes, rows) =>
      find(writes, rows).map((found, index) => found && replaced(resource, found, writes[index])),
    changes: (write, now) => (now ? [[table, idIn(write), now]] : []),
  };
  const patch: WriteKind<RowSet, Stored | undefined> = {
    statements: [changeStatement(resource, { isPatch: true, isConditional })],
    outcomes: (writes, rows) =>
      find(writes, rows).map((found) => found && { text: found.rest, tag: found.tag }),
    changes: (write, now) => (now ? [[table, idIn(write), now]] : []),
  };
  const removal: WriteKind<RowSet, boolean> = {
    statements: [removeStatement(resource, isConditional)],
    outcomes: (writes, rows) => find(writes, rows).map((row) => row !== undefined),
    changes: (write, isRemoved) =>
      isRemoved ? [[table, idIn(write)], ...ownedBy(resource).map((each) => [each] as const)] : [],
  };
  return { creation, creationOnce, replacement, patch, removal };
}

/** Returns the statement that reads columns, given as SQL by name, inside a write. */
export function readStatement(columns: Readonly<Record<string, string>>, from: string) {
  const sqls = Object.entries(columns);
  const members = sqls.map(([name, sql]) => `'${name}', ${sql}`);
  return {
    sql: `SELECT ${sqls.map(([name, sql]) => `${sql} AS ${name}`).join(', ')} ${from}`,
    rows: `(SELECT json_group_array(json_object(${members.join(', ')})) ${from})`,
  };
}

/** Returns the SQL of the values that a write assigns: explicit, because RETURNING has no order. */
export function newRecord({ table }: Resource, position: string) {
  const lastId = lastIdSql(table);
  const number = `(${LAST_NUMBER} + ${position} + 1)`;
  return { lastId, id: `(${lastId} + ${position} + 1)`, number, tag: tagSql(number) };
}

/** Returns the statement that creates the rows that satisfy `where`. */
export function createStatement(resource: Resource, where = ownerExistsSql(resource, member(0))) {
  const { table, owner } = resource;
  const columns = columnsOf(resource);
  const values = columns.map((_, index) => member(index));
  const { id, number, tag } = newRecord(resource, POSITION);
  return {
    sql: `
      INSERT INTO ${table} (id, ${columns.join(', ')}, number, created_at, updated_at)
      SELECT ${id}, ${values.join(', ')}, ${number}, ${NOW}, ${NOW} FROM ${ROWS} WHERE ${where}
      RETURNING ${writtenSql('id', tagSql('number'), owner?.column)} AS written`,
    rows: `
      (SELECT json_group_array(
         json_object('written', ${writtenSql(id, tag, owner && `(${member(0)})`)}))
       FROM ${ROWS} WHERE ${where})`,
  };
}

/** Returns the statements that forget old keys, answer the keys, and create what is new. */
function onceStatements(resource: Resource) {
  const [key, fingerprint, position, owner] = [0, 1, 2, 3].map(member);
  const { lastId, id, tag } = newRecord(resource, `(${position})`);
  const isKnown = `EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = ${key})`;
  const isAnswered = `(${ownerExistsSql(resource, `${owner}`)} OR ${isKnown})`;
  const ownKey = member(columnsOf(resource).length);
  const isNew = `EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = ${ownKey} AND id > ${lastId})`;
  return [
    FORGET_KEYS,
    {
      // The update changes nothing, but RETURNING omits rows that are not written.
      sql: `
        INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
        SELECT ${key}, ${fingerprint}, ${id}, ${tag}, ${NOW} FROM ${KEYS} WHERE ${isAnswered}
        ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING key, fingerprint, id, tag`,
      rows: `
        (SELECT json_group_array(json_object('key', ${key},
           'fingerprint', coalesce(known.fingerprint, ${fingerprint}),
           'id', coalesce(known.id, ${id}), 'tag', coalesce(known.tag, ${tag})))
         FROM ${KEYS} LEFT JOIN ${ANSWERS} AS known ON known.key = ${key} WHERE ${isAnswered})`,
    },
    createStatement(resource, isNew),
  ];
}

/**
 * Returns the statement that replaces values, if `where` holds; as a patch, it keeps those that are
 * not given.
 */
export function changeStatement(
  resource: Resource,
  {
    isPatch,
    isConditional,
    where = 'TRUE',
  }: Record<'isPatch' | 'isConditional', boolean> & {
    readonly where?: string;
  },
) {
  const target = `${isTarget(resource, isConditional)} AND ${where}`;
  const { table, fields, owner } = resource;
  const first = owner ? 3 : 2;
  const newValues = new Map(
    Object.keys(fields).map((column, index) => {
      const value = member(first + index);
      return [column, isPatch ? `coalesce(${value}, ${table}.${column})` : value];
    }),
  );
  const set = [...newValues].map(([column, value]) => `${column} = ${value}`);
  const { number, tag } = newRecord(resource, POSITION);
  const columnSql = (column: string) => newValues.get(column) ?? `${table}.${column}`;
  // The clock may have been corrected since the record was created.
  const updatedAt = `max(coalesce(${table}.created_at, 0), ${NOW})`;
  const written = isPatch ? recordSql(resource) : undefined;
  const foretold = isPatch ? recordSql(resource, columnSql) : undefined;
  return {
    sql: `
      UPDATE ${table} SET ${set.join(', ')}, number = ${number}, updated_at = ${updatedAt}
      FROM ${ROWS} WHERE ${target}
      RETURNING ${writtenSql(`${table}.id`, tagSql(`${table}.number`), written)} AS written`,
    rows: `
      (SELECT json_group_array(
         json_object('written', ${writtenSql(`${table}.id`, tag, foretold)}))
       FROM ${ROWS} CROSS JOIN ${table} ON ${target})`,
  };
}

function removeStatement(resource: Resource, isConditional: boolean) {
  const { table } = resource;
  const targets = `FROM ${ROWS} CROSS JOIN ${table} ON ${isTarget(resource, isConditional)}`;
  return {
    sql: `
      DELETE FROM ${table} WHERE id IN (SELECT ${table}.id ${targets})
      RETURNING ${writtenSql('id')} AS written`,
    rows: `
      (SELECT json_group_array(json_object('written', ${writtenSql(`${table}.id`)})) ${targets})`,
  };
}

/** Returns the SQL that tests whether the current row names this record and admits its tag. */
export function isTarget({ table, owner }: Resource, isConditional: boolean): string {
  const idPosition = owner ? 1 : 0;
  const isOwner = owner ? ` AND ${table}.${owner.column} = ${member(0)}` : '';
  const key = `${table}.id = ${member(idPosition)}${isOwner}`;
  const condition = satisfiesSql(`(${member(idPosition + 1)})`, tagSql(`${table}.number`));
  return isConditional ? `${key} AND ${condition}` : key;
}

/** Returns the change for the memory: new records are not in it. */
export function creationOf({ table }: Resource, created: Created | undefined): readonly Change[] {
  return created ? [[table, created.id]] : [];
}

/** Returns the tables whose records are removed with their owners in the table of `resource`. */
function ownedBy(resource: Resource): string[] {
  const owned = RESOURCES.filter(({ owner }) => owner?.resource === resource);
  return owned.flatMap((each) => [each.table, ...ownedBy(each)]);
}

function replaced(resource: Resource, { id, tag }: Written, write?: RowSet): Stored {
  return { text: recordText(resource, id, write?.rows[0] ?? [], resource.owner ? 3 : 2), tag };
}

/** Returns what a write has created, given the first record. */
export function createdBy(
  resource: Resource,
  { id, tag }: Pick<Created, 'id' | 'tag'>,
  { rows }: RowSet,
): Created {
  const first = resource.owner ? 1 : 0;
  const texts = rows.map((row, index) => recordText(resource, id + index, row, first));
  return { id, tag, texts };
}

/** Returns the answer in a row of the table of answers. */
export function answerIn({ id = null, tag = null }: Row): Pick<Created, 'id' | 'tag'> {
  return { id: Number(id), tag: String(tag) };
}

/** Returns the first record of each write, or undefined if its owner is missing. */
function firstCreated(
  resource: Resource,
  writes: readonly RowSet[],
  rows: readonly Row[] = [],
): (Created | undefined)[] {
  const created = rows.map(writtenIn).sort((one, other) => one.id - other.id);
  const owners = new Set(created.map(({ rest }) => rest));
  let next = 0;
  return writes.map((write) => {
    if (resource.owner && !owners.has(String(write.rows[0]?.[0]))) return undefined;
    const first = created[next];
    next += write.rows.length;
    return first && createdBy(resource, first, write);
  });
}

/** Returns the keys for the statements: [key, fingerprint, position of the first row, owner]. */
function keysOf(writes: readonly OnceRows[], isOwned: boolean): unknown[] {
  let next = 0;
  return writes.map(({ once, rows }) => {
    const position = next;
    next += rows.length;
    return [once.key, once.fingerprint, position, isOwned ? rows[0]?.[0] : null];
  });
}

function answersTo(
  resource: Resource,
  writes: readonly OnceRows[],
  answers: readonly Row[] = [],
  created: readonly Row[] = [],
): (CreatedOnce | undefined)[] {
  const byKey = new Map(answers.map((answer) => [answer.key, answer]));
  const newIds = new Set<unknown>(created.map((row) => writtenIn(row).id));
  return writes.map((write) => {
    const answer = byKey.get(write.once.key);
    if (!answer) return undefined;
    const isReuse = answer.fingerprint !== write.once.fingerprint;
    const isReplay = !newIds.has(answer.id);
    return { ...createdBy(resource, answerIn(answer), write), isReplay, isReuse };
  });
}
