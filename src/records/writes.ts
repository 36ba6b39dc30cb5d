// The kinds of writes on records. A write checks its condition in its own statement. `npm run sql`
// prints the statements of the service.
import { type Resource, rowColumnsOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { CHANGE_COLUMNS, LAST_NUMBER, lastIdSql, tagSql } from '../storage/numbers.ts';
import { type Lists, NOW, namedRows, SET_TIMES } from '../storage/parameter.ts';
import type { Columns, Step } from '../storage/step.ts';
import type { RowSet, Values, WriteKind } from '../storage/writer.ts';
import { type Condition, satisfiesSql } from './condition.ts';
import { ASSUMED_WITH_OWNED, bytesSql, bytesWithOwnedSql } from './rewritten.ts';
import { ifReachable, ownerExistsSql, recordSql, recordText } from './text.ts';

/** A record as it is stored: its JSON text, and its entity tag without quotes. */
export interface Stored {
  readonly text: string;
  readonly tag: string;
}

/** A change or a deletion of a record. Its row has the values of the fields; null keeps one. */
export interface Change extends RowSet {
  readonly id: number;
  readonly owner: number;
  readonly condition: Condition;
  /** The name by which the record was found, and which it must still have. */
  readonly at?: string | undefined;
}

/** Returns the named query for the rows of changes. */
export function changedRows({ fields }: Resource): string {
  return namedRows('sent', ['_owner', '_id', '_condition', '_at', ...Object.keys(fields)]);
}

/** Returns the list that it reads. */
export function sentBy(writes: readonly Change[]): Lists & { readonly sent: readonly Values[] } {
  const rowOf = ({ owner, id, condition, at, rows: [values = []] }: Change) => [
    owner,
    id,
    condition,
    at ?? null,
    ...values,
  ];
  return { sent: writes.map(rowOf) };
}

/** Returns the step of creations that nothing is added to; rows are [owner, ...values]. */
export function insertion(resource: Resource): Step {
  const { fields, owner } = resource;
  const columns = ['_owner', ...Object.keys(fields)];
  // Those without an owner take no id.
  const from = owner
    ? `FROM (
      SELECT row_number() OVER (ORDER BY _position) - 1 AS _position, ${columns.join(', ')}
      FROM sent WHERE ${ownerExistsSql(resource, '_owner')})`
    : 'FROM sent';
  const records = newRecords(resource, from);
  return reporting(resource, namedRows('sent', columns), insertSql(resource, records), records, {
    id: 'id',
    tag: tagSql('number'),
    ...(owner && { owner: owner.column }),
  });
}

/** Returns the kinds of writes that take one step. */
export function recordKinds(resource: Resource) {
  const { table } = resource;
  const change = (isPatch: boolean): WriteKind<Change, Stored | undefined> => {
    const steps = { update: updating(resource, isPatch) };
    return {
      steps: () => steps,
      lists: sentBy,
      outcomes(writes, { update = [] }) {
        const byId = new Map(update.map((row) => [row.id, row]));
        return writes.map(({ id, owner, rows: [values = []] }) => {
          const found = byId.get(id);
          if (!found) return undefined;
          const text = String(found.text ?? recordText(resource, id, owner, values));
          return { text, tag: String(found.tag) };
        });
      },
      changes: ({ id }, now) => (now ? [[table, id, now]] : []),
      rewrites: { bytes: bytesSql(resource) },
    };
  };
  const owned = ownedBy(resource).map((each) => [each] as const);
  const removing = { remove: deletion(resource), setTimes: SET_TIMES };
  const removal: WriteKind<Change, boolean> = {
    steps: () => removing,
    lists: sentBy,
    outcomes(writes, { remove = [] }) {
      const ids = new Set(remove.map((row) => row.id));
      return writes.map(({ id }) => ids.has(id));
    },
    changes: ({ id }, isRemoved) => (isRemoved ? [[table, id], ...owned] : []),
    rewrites: {
      bytes: bytesWithOwnedSql(resource),
      assumedBytes: ownedBy(resource).length > 0 ? ASSUMED_WITH_OWNED : undefined,
    },
  };
  return { replacement: change(false), patch: change(true), removal };
}

/** The SQL of the number of a change: explicit, because RETURNING has no order. */
const NUMBER = `(${LAST_NUMBER} + _position + 1)`;

/** Returns the SQL of the id of a new record. */
function newIdSql({ table }: Resource): string {
  return `${lastIdSql(table)} + _position + 1`;
}

/** The SQL of the times of a record that is written. */
const TIMES = { created_at: NOW, updated_at: NOW };

/** Returns the query for the records that rows become; `from` is its FROM clause. */
export function newRecords(resource: Resource, from: string, times = TIMES): string {
  const { owner, fields } = resource;
  const ownerId = owner ? `_owner AS ${owner.column}, ` : '';
  return `
    SELECT ${newIdSql(resource)} AS id, ${ownerId}${Object.keys(fields).join(', ')},
      ${NUMBER} AS number, ${times.created_at} AS created_at, ${times.updated_at} AS updated_at
    ${from}`;
}

/** Returns the SQL that creates the records of a query. */
export function insertSql(resource: Resource, records: string): string {
  const columns = [...rowColumnsOf(resource), ...CHANGE_COLUMNS];
  return `INSERT INTO ${resource.table} (${columns.join(', ')}) ${records}`;
}

/**
 * Returns the step that replaces values; as a patch, only those that are given. A record that stays
 * as it is keeps its number and its time, so that the log ignores the write; `differs` are SQL
 * conditions of what else is a change.
 */
export function updating(
  resource: Resource,
  isPatch: boolean,
  named = changedRows(resource),
  where = 'TRUE',
  differs: readonly string[] = [],
) {
  const { table, owner, fields } = resource;
  const values: [name: string, sql: string][] = Object.keys(fields).map((name) => [
    name,
    isPatch ? `coalesce(sent.${name}, ${table}.${name})` : `sent.${name}`,
  ]);
  const changes = [...values.map(([name, sql]) => `${sql} IS NOT ${table}.${name}`), ...differs];
  const ifDiffers = (sql: string, name: string) =>
    `iif(${changes.join(' OR ')}, ${sql}, ${table}.${name})`;
  values.push(['number', ifDiffers(NUMBER, 'number')]);
  // The clock may have been corrected since the record was created.
  const time = `max(coalesce(${table}.created_at, 0), ${NOW})`;
  values.push(['updated_at', ifDiffers(time, 'updated_at')]);
  const target = `${isTarget(resource)} AND ${where}`;
  const kept = owner ? ['id', owner.column] : ['id'];
  const columns = [
    ...kept.map((name) => `${table}.${name}`),
    ...values.map(([name, sql]) => `${sql} AS ${name}`),
  ];
  return reporting(
    resource,
    named,
    `UPDATE ${table} SET ${values.map(([name, sql]) => `${name} = ${sql}`).join(', ')}
     FROM sent WHERE ${target}`,
    `SELECT ${columns.join(', ')} FROM sent CROSS JOIN ${table} ON ${target}`,
    { id: 'id', tag: tagSql('number'), ...(isPatch && { text: `${recordSql(resource)} || ''` }) },
  );
}

function deletion(resource: Resource) {
  const { table } = resource;
  const records = `SELECT ${table}.id FROM sent CROSS JOIN ${table} ON ${isTarget(resource)}`;
  const remove = `DELETE FROM ${table} WHERE id IN (${records})`;
  return reporting(resource, changedRows(resource), remove, records, { id: 'id' });
}

/** Returns the SQL that tests whether the current row names this record and admits its tag. */
export function isTarget(resource: Resource, sent = 'sent'): string {
  const { table, owner } = resource;
  const isOwner = owner
    ? ` AND ${table}.${owner.column} = ${sent}._owner${ifReachable(resource)}`
    : '';
  const isAdmitted = satisfiesSql(`${sent}._condition`, tagSql(`${table}.number`));
  return `${table}.id = ${sent}._id${isOwner}${ifNamed(resource, sent)} AND ${isAdmitted}`;
}

/** Returns the SQL that follows a condition on a record: it has the name by which it was found. */
export function ifNamed({ names, table }: Resource, sent: string): string {
  if (!names) return '';
  return ` AND (${sent}._at IS NULL OR EXISTS (
    SELECT 1 FROM ${names} AS own WHERE own.note_id = ${table}.id AND own.name = ${sent}._at))`;
}

/** Makes a write return columns; `records` is the query of the records as they will be. */
function reporting(
  { table }: Resource,
  named: string,
  write: string,
  records: string,
  returns: Columns,
): Step {
  return { named, write, records, returns, from: `FROM new AS ${table}` };
}

function ownedBy(resource: Resource): string[] {
  const owned = RESOURCES.filter(({ owner }) => owner?.resource === resource);
  return owned.flatMap((each) => [each.table, ...ownedBy(each)]);
}
