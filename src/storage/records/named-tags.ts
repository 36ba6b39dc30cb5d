// Tags that writes name; those that do not exist are created.
import { valuesOf } from '../../resources/resource.ts';
import { tags } from '../../resources/tags.ts';
import type { RowSet, Values } from '../batches/writer.ts';
import { lastIdSql } from '../numbers.ts';
import { FIRST_FIELD } from './text.ts';
import { insertSql } from './writes.ts';

/** Returns SQL for the id of a tag, given its id or name; NULL for a new name. */
export function tagIdSql(tag: string): string {
  const named = `SELECT min(id) FROM tags WHERE name = ${tag}`;
  return `(SELECT CASE typeof(${tag}) WHEN 'text' THEN (${named}) ELSE ${tag} END)`;
}

/** Returns what the statements of a write with tags share: the tags, and a row for each name. */
export function tagValues({ tags: given = [] }: RowSet) {
  const names = new Set(given.map(([, tag]) => tag).filter((tag) => typeof tag === 'string'));
  return [given, [...names].map((name): Values => [0, null, null, ...valuesOf(tags, { name })])];
}

/** Returns the SQL that creates a tag for each name that no tag has, if `condition` holds. */
export function createTagsSql(condition: string): string {
  // Renumbered, because the ids and numbers of the new records must be consecutive.
  const missing = `
    (SELECT row_number() OVER (ORDER BY named.key) - 1 AS key, named.value
     ${NEW_NAMES} AND ${condition}) AS sent`;
  return insertSql(tags, 'TRUE', missing);
}

const NAME = `named.value ->> ${FIRST_FIELD + Object.keys(tags.fields).indexOf('name')}`;
const NEW_NAMES = `FROM json_each(?1, '$[3]') AS named
  WHERE NOT EXISTS (SELECT 1 FROM tags WHERE name = ${NAME})`;

const LAST = lastIdSql('tags');
const IDS = `iif(count(*) = 1, ${LAST} + 1, json_array(${LAST} + 1, ${LAST} + count(*)))`;

/** The SQL that predicts the ids of new tags, in JSON such as {"tag_id":12}, or NULL. */
export const NEW_TAGS = `
  (SELECT '{"tag_id":' || ${IDS} || '}' ${NEW_NAMES} HAVING count(*) > 0)`;
