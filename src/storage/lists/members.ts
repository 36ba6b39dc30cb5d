// The members of the records in a list, in SQL: the fields, and those that a request includes.
import { type Resource, rowColumnsOf, type SearchTables } from '../../resources/resource.ts';
import { linkOf, type ResourceLink } from '../../resources/resources.ts';
import { timeSql } from '../changes/numbers.ts';
import { membersSql } from '../records/text.ts';

const TIMES = ['created_at', 'updated_at'];

/** Returns the tables of the search index. Throws if there is none. */
export function searchOf({ search, table }: Resource): SearchTables {
  if (!search) throw new Error(`${table} cannot be searched`);
  return search;
}

/** Returns the SQL of the columns that the members need. */
export function listColumns(resource: Resource, include: readonly string[]): string {
  const columns = [...rowColumnsOf(resource), ...(include.includes('times') ? TIMES : [])];
  return columns.map((column) => `${resource.table}.${column}`).join(', ');
}

/** Returns the SQL of a record as JSON. Names in `include` that are no members have no effect. */
export function listRecord(resource: Resource, include: readonly string[]): string {
  const { table } = resource;
  const members = membersSql(resource, (column) => `${table}.${column}`);
  const link = linkOf(resource);
  if (link) members.push(...linkMembers(link, `${table}.id`, include));
  if (include.includes('times'))
    members.push(...TIMES.map((column) => `'${column}', ${timeSql(`${table}.${column}`)}`));
  return `json_object(${members.join(', ')})`;
}

function linkMembers(
  { link, own, other, isFirst }: ResourceLink,
  id: string,
  include: readonly string[],
): string[] {
  const isOwn = `${own.column} = ${id}`;
  const [name, sql] = isFirst
    ? [
        link.member,
        `json((SELECT json_group_array(linked) FROM (
           SELECT ${other.column} AS linked FROM ${link.table} WHERE ${isOwn} ORDER BY linked)))`,
      ]
    : [link.countMember, `(SELECT coalesce(sum(count), 0) FROM ${link.blocks} WHERE ${isOwn})`];
  return include.includes(name) ? [`'${name}', ${sql}`] : [];
}
