// The named queries of creations with parts: which requests are refused, and the ids that the
// records of the others get.
import type { Resource } from '../resources/resource.ts';
import { lastIdSql } from '../storage/numbers.ts';
import { namedRows } from '../storage/parameter.ts';
import { queriesOf, type WritePart } from './parts.ts';
import { ownerExistsSql } from './text.ts';

/** Returns the named queries of creations with parts. */
export function creationQueries(resource: Resource, parts: readonly WritePart[]): string {
  const fields = Object.keys(resource.fields);
  const ofRequest = parts.flatMap((part) => part.ofRequest ?? []);
  const ofRecords = parts.flatMap((part) => part.ofRecords ?? []);
  const conditions = parts.flatMap(({ admits }) => admits ?? []);
  if (resource.owner) conditions.push(ownerExistsSql(resource, '_owner'));
  const columns = ['sent._owner', ...fields, ...ofRecords].join(', ');
  const mayRefuse = conditions.length > 0;
  // The rows of a list whose requests are carried out.
  const admitted = (list: string, request: string) =>
    mayRefuse ? `${list} WHERE ${request} NOT IN (SELECT _position FROM refused)` : list;
  // The place of a record among all that are created, given that among all that are sent.
  const placeOf = (place: string, request: string) =>
    mayRefuse
      ? `${place} - iif(EXISTS (SELECT 1 FROM refused),
        (SELECT _refused FROM refused_until WHERE _position = ${request}), 0)`
      : place;
  const createdOf = (list: string, request: string) => {
    const place = placeOf('_place', `${list}.${request}`);
    return `created_${list} AS (
      SELECT *, (SELECT _last_id FROM created) + 1 + ${place} AS _id
      FROM ${admitted(list, request)})`;
  };
  const refused = `refused AS MATERIALIZED (
      SELECT _position FROM requests WHERE NOT (${conditions.join(' AND ')}))`;
  // How many records are not created, up to each request.
  const refusedUntil = `refused_until AS MATERIALIZED (
      SELECT _position, sum(iif(_position IN (SELECT _position FROM refused), _count, 0))
        OVER (ORDER BY _position) AS _refused
      FROM requests)`;
  return [
    namedRows('requests', ['_owner', '_count', '_place', ...ofRequest]),
    namedRows('sent', ['_owner', ...fields, '_request', ...ofRecords]),
    ...queriesOf(parts),
    ...(mayRefuse ? [refused, refusedUntil] : []),
    `admitted AS (SELECT * FROM ${admitted('requests', '_position')})`,
    `admitted_records AS (
      SELECT ${placeOf('sent._position', '_request')} AS _position, ${columns}
      FROM ${admitted('sent', '_request')})`,
    // The last id before the records, once they are there.
    `created AS (SELECT ${lastIdSql(resource.table)} - sum(_count) AS _last_id FROM admitted)`,
    createdOf('requests', '_position'),
    ...parts.flatMap(({ lists = {} }) =>
      Object.keys(lists).map((list) => createdOf(list, '_request')),
    ),
  ].join(',\n    ');
}
