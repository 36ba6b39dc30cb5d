// The records at the other end of links that are given by name, such as tags. Those that do not
// exist are created in the transaction of the links.
import { type Link, valuesOf } from '../../resources/resource.ts';
import type { RowSet, Values } from '../batches/writer.ts';
import { FIRST_FIELD } from './text.ts';
import { insertSql } from './writes.ts';

/** Returns the SQL of the id of a second record, given the SQL of its id or name; else NULL. */
export function endIdSql({ byName, ends: [, { resource }] }: Link, end: string): string {
  const named = `SELECT min(id) FROM ${resource.table} WHERE ${byName.field} = ${end}`;
  return `(SELECT CASE typeof(${end}) WHEN 'text' THEN (${named}) ELSE ${end} END)`;
}

/** Returns what the statements of a write with links share: the links, and a row for each name. */
export function linkValues(link: Link, { links = [] }: RowSet) {
  const { resource } = link.ends[1];
  const names = new Set(links.map(([, end]) => end).filter((end) => typeof end === 'string'));
  const rowOf = (name: string): Values => {
    return [0, null, null, ...valuesOf(resource, { [link.byName.field]: name })];
  };
  return [links, [...names].map(rowOf)];
}

/** Returns the SQL that creates a record for each name that no record has, if `condition` holds. */
export function createNamedSql({ byName, ends: [, { resource }] }: Link, condition: string) {
  const { table, fields } = resource;
  const name = `named.value ->> ${FIRST_FIELD + Object.keys(fields).indexOf(byName.field)}`;
  // Counted anew, because the ids and numbers of the new records must follow each other.
  const missing = `
    (SELECT row_number() OVER (ORDER BY named.key) - 1 AS key, named.value
     FROM json_each(?1, '$[3]') AS named WHERE ${condition}
       AND NOT EXISTS (SELECT 1 FROM ${table} WHERE ${byName.field} = ${name})) AS sent`;
  return insertSql(resource, 'TRUE', missing);
}
