// Records that links name, such as tags; those that do not exist are created with the links.
import { type Link, valuesOf } from '../../resources/resource.ts';
import type { RowSet, Values } from '../batches/writer.ts';
import { lastIdSql } from '../numbers.ts';
import { FIRST_FIELD } from './text.ts';
import { insertSql } from './writes.ts';

/** Returns SQL for the id of a second record, given its id or name; NULL for a new name. */
export function endIdSql({ byName, ends: [, { resource }] }: Link, end: string): string {
  const named = `SELECT min(id) FROM ${resource.table} WHERE ${byName.field} = ${end}`;
  return `(SELECT CASE typeof(${end}) WHEN 'text' THEN (${named}) ELSE ${end} END)`;
}

/** Returns what the statements of a write with links share: the links, and a row for each name. */
export function linkValues(link: Link, { links = [] }: RowSet) {
  const { resource } = link.ends[1];
  const names = new Set(links.map(([, end]) => end).filter((end) => typeof end === 'string'));
  const fieldsOf = (name: string) => valuesOf(resource, { [link.byName.field]: name });
  return [links, [...names].map((name): Values => [0, null, null, ...fieldsOf(name)])];
}

/** Returns the SQL that creates a record for each name that no record has, if `condition` holds. */
export function createNamedSql(link: Link, condition: string): string {
  // Renumbered, because the ids and numbers of the new records must be consecutive.
  const missing = `
    (SELECT row_number() OVER (ORDER BY named.key) - 1 AS key, named.value
     ${fromNewNames(link)} AND ${condition}) AS sent`;
  return insertSql(link.ends[1].resource, 'TRUE', missing);
}

/** Returns SQL that predicts the ids of new records, in JSON such as {"tag_id":12}, or NULL. */
export function newEndsSql(link: Link): string {
  const { table, idParameter } = link.ends[1].resource;
  const last = lastIdSql(table);
  const ids = `iif(count(*) = 1, ${last} + 1, json_array(${last} + 1, ${last} + count(*)))`;
  return `
    (SELECT '{"${idParameter}":' || ${ids} || '}' ${fromNewNames(link)} HAVING count(*) > 0)`;
}

function fromNewNames({ byName, ends: [, { resource }] }: Link): string {
  const { table, fields } = resource;
  const name = `named.value ->> ${FIRST_FIELD + Object.keys(fields).indexOf(byName.field)}`;
  return `FROM json_each(?1, '$[3]') AS named
     WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE ${byName.field} = ${name})`;
}
