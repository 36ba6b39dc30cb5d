// The members of a record, and its JSON text: SQLite makes that of what is read.
import { type Resource, rowColumnsOf } from '../resources/resource.ts';
import type { Values } from '../storage/writer.ts';

/** Returns the SQL of a record's JSON text. */
export function recordSql(resource: Resource): string {
  return `json_object(${membersSql(ownMembers(resource))})`;
}

/** Returns a record as JSON text, given the id of its owner and the values of its fields. */
export function recordText(
  { fields, owner }: Resource,
  id: number,
  ownerId: number,
  values: Values,
): string {
  let text = owner ? `{"id":${id},"${owner.column}":${ownerId}` : `{"id":${id}`;
  let index = 0;
  for (const name in fields) text += `,"${name}":${JSON.stringify(values[index++])}`;
  return `${text}}`;
}

/** Returns the SQL condition that the owner with this `id` (SQL) exists; TRUE without owners. */
export function ownerExistsSql({ owner }: Resource, id: string): string {
  if (!owner) return 'TRUE';
  const { table } = owner.resource;
  return `EXISTS (SELECT 1 FROM ${table} WHERE ${table}.id = ${id}${ifReachable(owner.resource)})`;
}

/** Returns the SQL that follows a condition on rows of a resource: what they belong to exists. */
export function ifReachable(resource: Resource): string {
  const { owner, table } = resource;
  return owner ? ` AND ${ownerExistsSql(resource, `${table}.${owner.column}`)}` : '';
}

/** A member of a record. */
export interface Member {
  readonly name: string;
  /** The columns that its value needs. */
  readonly columns: readonly string[];
  /** The SQL of its value, for `json_object`. */
  readonly sql: string;
  /** Whether a change of another record can change it. */
  readonly dependsOnOthers?: boolean;
}

/** Which members records have: their own (all, if `fields` is empty), and those to add. */
export interface Choice {
  readonly fields: readonly string[];
  readonly include: readonly string[];
  /** Which characters of the body; all, if both are undefined. */
  readonly body_offset?: number | undefined;
  readonly body_limit?: number | undefined;
}

/** Returns the members that each record has, in order: all, or those of `fields` if it has any. */
export function ownMembers(resource: Resource, fields: readonly string[] = []): Member[] {
  const names = rowColumnsOf(resource).filter((name) => !fields[0] || fields.includes(name));
  return names.map((name) => memberOf(resource, name));
}

/** Returns the member that has the value of a column. */
export function memberOf({ table, fields }: Pick<Resource, 'table' | 'fields'>, name: string) {
  const isBoolean = fields[name]?.type === 'boolean';
  const sql = isBoolean ? `json(iif(${table}.${name}, 'true', 'false'))` : `${table}.${name}`;
  return { name, columns: [name], sql };
}

/** Returns the arguments of `json_object` for the members, whose columns are those of the table. */
export function membersSql(members: readonly Pick<Member, 'name' | 'sql'>[]): string {
  return members.map(({ name, sql }) => `'${name}', ${sql}`).join(', ');
}
