// What a write of a record rewrites, which bounds how many share a transaction.
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { RELATIONS } from '../storage/schema/steps.ts';

/** What is assumed of a record with all that it owns, of which there may be much. */
export const ASSUMED_WITH_OWNED = 524_288;

/** What a write takes for each record that is owned, or each row that joins two, in bytes. */
const OWNED_BYTES = 512;

/** Returns the SQL of the bytes of a record, as the kinds of its writes have it. */
export function bytesSql({ table, fields }: Pick<Resource, 'table' | 'fields'>): string {
  const texts = Object.keys(fields).filter((name) => fields[name]?.type === 'text');
  const bytes = ['0', ...texts.map((name) => `octet_length(${name})`)].join(' + ');
  return `SELECT ${bytes} FROM ${table} WHERE id = sent.value`;
}

/** Returns the same with what the record owns: a deletion and a restore log or move it. */
export function bytesWithOwnedSql(
  resource: Resource,
  table = resource.table,
  joined = joinedSql(resource),
): string {
  const owned = RESOURCES.flatMap(({ blocks, owner }) =>
    owner?.resource === resource
      ? `SELECT total(count) FROM ${blocks} WHERE ${owner.column} = sent.value`
      : [],
  );
  const counts = [...owned, ...joined].map((sql) => `${OWNED_BYTES} * coalesce((${sql}), 0)`);
  return `SELECT ${[`(${bytesSql({ ...resource, table })})`, ...counts].join(' + ')}`;
}

/** Returns the queries for the number of rows that join a record to others, such as its tags. */
function joinedSql(resource: Resource): string[] {
  return RELATIONS.flatMap((relation) => {
    const [first] = 'references' in relation ? relation.references : [];
    if (first?.resource !== resource) return [];
    return `SELECT count(*) FROM ${relation.table} WHERE ${first.column} = sent.value`;
  });
}
