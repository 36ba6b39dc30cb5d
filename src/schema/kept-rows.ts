// Which rows are kept: neither they nor the records that they belong to are erased.

import { type KeptTable, keysOf, ownersOf, type Relation, typeOf } from '../resources/relation.ts';
import type { Resource } from '../resources/resource.ts';
import { RELATIONS } from '../storage/schema/steps.ts';

const exists = (table: string, condition: string) =>
  `EXISTS (SELECT 1 FROM ${table} AS each WHERE ${condition})`;

const isTrash = (relation: Relation): relation is KeptTable =>
  'columns' in relation && !relation.owner;

/** Returns the table of the deleted records of a resource, if they are kept. */
function trashOf(resource: Resource): KeptTable | undefined {
  return RELATIONS.filter(isTrash).find((each) => each.of === resource);
}

/**
 * Returns the SQL condition that neither a row nor a record that it belongs to is erased. Only rows
 * that satisfy the condition `rows` need an answer.
 */
export function isKeptSql(relation: Relation, rows = 'TRUE'): string {
  const conditions = 'isShown' in relation ? [relation.isShown(rows)] : [];
  for (const { resource, column } of ownersOf(relation)) {
    const isOwner = `each.id = ${relation.table}.${column}`;
    conditions.push(`NOT ${isErasedSql(resource, isOwner)}`);
    const trash = trashOf(resource);
    if (!trash) continue;
    const isErased = `${isOwner} AND NOT (${trash.isShown('TRUE')})`;
    conditions.push(`NOT ${exists(trash.table, isErased)}`);
  }
  return conditions.join(' AND ') || 'TRUE';
}

function isErasedSql(resource: Resource, isOwner: string): string {
  return exists('erased_records', `each.type = '${typeOf(resource)}' AND ${isOwner}`);
}

/** Returns the queries of faults for rows whose record is neither there nor kept nor erased. */
export function orphansQueries(relation: Relation): string[] {
  const { table } = relation;
  const [key] = keysOf(relation);
  if (isTrash(relation)) {
    const { of } = relation;
    const isHere = exists(of.table, `each.id = ${table}.id`);
    const line = `'${table}: ${typeOf(of)} %d is not deleted'`;
    return [`SELECT format(${line}, id) FROM ${table} WHERE ${isHere}`];
  }
  return ownersOf(relation).map(({ resource, column }) => {
    const isOwner = `each.id = ${table}.${column}`;
    // Tags and names leave a note that goes to the trash.
    const trash = 'references' in relation ? undefined : trashOf(resource);
    const homes = [
      exists(resource.table, isOwner),
      isErasedSql(resource, isOwner),
      ...(trash ? [exists(trash.table, isOwner)] : []),
    ];
    return `
      SELECT format('${table}: record %d has no ${typeOf(resource)}', ${key}) FROM ${table}
      WHERE NOT (${homes.join(' OR ')})`;
  });
}
