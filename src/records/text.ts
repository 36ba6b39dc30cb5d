// The JSON text of a record, which SQLite makes for reads, and `recordText` for new records alike.
import type { Resource } from '../resources/resource.ts';
import type { Values } from '../storage/writer.ts';
import { membersSql, ownMembers } from './members.ts';

/** A row to write is [owner or 0, id or key, condition or fingerprint, ...fields]. */
export const FIRST_FIELD = 3;

/** Returns the SQL of a record's JSON text. */
export function recordSql(resource: Resource): string {
  return `json_object(${membersSql(ownMembers(resource))})`;
}

/** Returns a record as JSON text, given the row that was written. */
export function recordText({ fields, owner }: Resource, id: number, row: Values): string {
  let text = owner ? `{"id":${id},"${owner.column}":${row[0]}` : `{"id":${id}`;
  let index = FIRST_FIELD;
  for (const name in fields) text += `,"${name}":${JSON.stringify(row[index++])}`;
  return `${text}}`;
}

/** Returns the SQL condition that the owner with this `id` (SQL) exists; TRUE without owners. */
export function ownerExistsSql({ owner }: Resource, id: string): string {
  return owner ? `EXISTS (SELECT 1 FROM ${owner.resource.table} WHERE id = ${id})` : 'TRUE';
}
