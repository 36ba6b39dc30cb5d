// What is kept of notes, as answers show it: notes in the trash, and the versions of a note.
import type { Input } from '../contract/endpoint.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import { linkHeader } from '../lists/query.ts';
import { membersSql, ownMembers } from '../records/text.ts';
import type { Stored } from '../records/writes.ts';
import { deletedNotes, IS_VERSION_KEPT, MAX_VERSIONS } from '../relations.ts';
import { notes } from '../resources/notes.ts';
import { MAX_PAGE_BYTES, readReserving, type Source } from '../storage/database.ts';
import { tagSql } from '../storage/numbers.ts';
import { timeSql } from '../time.ts';

/** The table with the number of days for which texts are kept. */
export const SETTINGS = 'notes_server_history';

/** The trash. In SQL, `?1 ->> 0` is the id of a note. */
export const TRASH = {
  table: 'deleted_notes',
  /** The condition of the rows of a list, and the column of which the greatest comes first. */
  isListed: deletedNotes.isShown,
  order: 'position',
  /** The condition of a single row. */
  isWanted: 'id = ?1 ->> 0',
  /** What identifies the state, by number: when it is erased depends on the days, too. */
  number: `(deleted_notes.number || format('%05d', (SELECT days FROM ${SETTINGS})))`,
  members: [
    ...ownMembers({ ...notes, table: 'deleted_notes' }).map(({ name, sql }) => ({ name, sql })),
    { name: 'deleted_at', sql: timeSql('deleted_at') },
    { name: 'erased_at', sql: timeSql(`(deleted_at + (SELECT days FROM ${SETTINGS}) * 86400000)`) },
  ],
};

type KeptList = typeof TRASH;

/** The versions of a note, unless it is in the trash. */
export const VERSIONS: KeptList = {
  table: 'note_versions',
  isListed: `id IN (
    SELECT id FROM note_versions WHERE note_id = (SELECT id FROM ${notes.table} WHERE id = ?1 ->> 0)
      AND ${IS_VERSION_KEPT} ORDER BY id DESC LIMIT ${MAX_VERSIONS})`,
  order: 'id',
  isWanted: 'version = ?1 ->> 1',
  number: 'version',
  members: [
    ...['version', 'title', 'body'].map((name) => ({ name, sql: name })),
    ...['updated_at', 'replaced_at'].map((name) => ({ name, sql: timeSql(name) })),
  ],
};

/** What a note has of versions, in words. */
export const LATEST = `
  SELECT coalesce('latest first: ' || group_concat(
    format('%d (replaced at %s)', version, at), ', ' ORDER BY id DESC), 'but it has none') AS texts
  FROM (SELECT id, version, coalesce(${timeSql('replaced_at')}, 'an unknown time') AS at
        FROM note_versions WHERE ${VERSIONS.isListed} ORDER BY id DESC LIMIT 5)`;

/** Resolves with a text as JSON, and with the tag that its note had. */
export async function readKept(
  { read }: Source,
  { table, isListed, isWanted, number, members }: KeptList,
  ...key: [id: number, version?: number]
): Promise<Stored | undefined> {
  const sql = `
    SELECT json_object(${membersSql(members)}) AS text, ${tagSql(number)} AS tag
    FROM ${table} WHERE ${isListed} AND ${isWanted}`;
  const [row] = await read({ sql, parameter: JSON.stringify(key) });
  return row && { text: String(row.text), tag: String(row.tag) };
}

/** A request for a list. */
export type KeptInput = Input<
  { note_id?: number; limit: number; offset: number; fields?: readonly string[] },
  unknown
>;

/** Resolves with a page of the list at `url`, and the number of all its rows. */
export async function listKept(
  { read }: Source,
  { table, isListed, order, members }: KeptList,
  { parameters, call }: KeptInput,
  url: string,
): Promise<{ reply: Reply; total: number }> {
  const { note_id = 0, limit, offset, fields = [] } = parameters;
  const chosen = members.filter(({ name }) => !fields[0] || fields.includes(name));
  const page = `
    SELECT ${order} AS place, json_object(${membersSql(chosen)}) AS item FROM ${table}
    WHERE ${isListed} ORDER BY ${order} DESC LIMIT ?1 ->> 1 OFFSET ?1 ->> 2`;
  const statement = {
    sql: `SELECT (SELECT count(*) FROM ${table} WHERE ${isListed}) AS total,
      (SELECT group_concat(item, ',' ORDER BY place DESC) FROM (${page})) AS items`,
    parameter: JSON.stringify([note_id, limit, offset]),
    // Skipping many rows may take long.
    isSlow: offset >= 2_048,
  };
  const [row] = await readReserving(
    (isLarge) => read({ ...statement, ...(!isLarge && { maxBytes: MAX_PAGE_BYTES }) }),
    () => call.reserveLarge(),
  );
  const total = Number(row?.total);
  const frame = `"limit":${limit},"offset":${offset},"total":${total}`;
  const sent = new URLSearchParams(call.query);
  const links = linkHeader(url, { orders: {} }, parameters, sent, { total });
  const headers = ['cache-control', 'no-store', ...links];
  return { reply: jsonReply(200, `{"items":[${row?.items ?? ''}],${frame}}`, headers), total };
}
