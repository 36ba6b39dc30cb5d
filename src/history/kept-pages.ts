// The pages of what is kept of notes. They take the way of other lists: from keys as well as from
// offsets, as parts if they are large, and in the queue of slow reads if they are deep.
import type { Input } from '../contract/endpoint.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call } from '../http/route.ts';
import { checkListQuery, type ListQuery, linkHeader, type QueriedParts } from '../lists/query.ts';
import { membersSql } from '../records/text.ts';
import {
  bytesOf,
  MAX_PAGE_BYTES,
  type Row,
  readLargeRows,
  readReserving,
  type Source,
} from '../storage/database.ts';
import { type KeptList, wordForms } from './kept.ts';

export type KeptInput = Input<
  ListQuery & { readonly note_id?: number; readonly title?: string },
  unknown
>;

/** Runs reads whose time grows with the data one by one. */
export interface SlowQueue {
  run<Answer>(read: () => Promise<Answer>, call: Call): Promise<Answer>;
}

/** The only order: the latest first. */
const PARTS: QueriedParts = {
  orders: { id: { key: 'id', isDescending: true } },
  checks: [],
};

/** From this offset on, skipping rows takes long. */
const DEEP_OFFSET = 2_048;

/** Resolves with a page of the list at `url`, and the number of all its rows. */
export async function listKept(
  source: Source,
  slow: SlowQueue,
  kept: KeptList,
  { parameters, call }: KeptInput,
  url: string,
): Promise<{ reply: Reply; total: number }> {
  const { note_id = 0, limit, offset, after, before } = parameters;
  const sent = new URLSearchParams(call.query);
  checkListQuery(PARTS, parameters, sent);
  const isSlow = kept.isSlow || offset >= DEEP_OFFSET;
  const key = after ?? before;
  const parameter = JSON.stringify([note_id, limit, offset, key, wordForms(parameters.title)]);
  const read = (isLarge: boolean) => {
    call.ensureSendable();
    const statement = { sql: pageSql(kept, parameters, isLarge), parameter, isSlow };
    if (isLarge) return readLargeRows(source, statement);
    return source.read({ ...statement, maxBytes: MAX_PAGE_BYTES });
  };
  const readInTurn = (isLarge: boolean) =>
    isSlow ? slow.run(() => read(isLarge), call) : read(isLarge);
  const [page, ...rows] = await readReserving(readInTurn, () => call.reserveLarge());
  const total = Number(page?.total);
  const isAtKey = after !== undefined || before !== undefined;
  const links = linkHeader(url, PARTS, parameters, sent, { total, ...(isAtKey && keysOf(page)) });
  const position = isAtKey ? '' : `"offset":${offset},`;
  const [start, end] = ['{"items":[', `],"limit":${limit},${position}"total":${total}}`];
  const json =
    rows.length === 0
      ? `${start}${page?.items}${end}`
      : [Buffer.from(start), ...separated(rows), Buffer.from(end)];
  return { reply: jsonReply(200, json, ['cache-control', 'no-store', ...links]), total };
}

function separated(rows: readonly Row[]): Buffer[] {
  const comma = Buffer.from(',');
  return rows.flatMap((row, index) => (index > 0 ? [comma, bytesOf(row)] : [bytesOf(row)]));
}

function keysOf({ low, high, has_lower, has_higher }: Row = {}) {
  const keys = {
    low: has_lower ? Number(low) : undefined,
    high: has_higher ? Number(high) : undefined,
  };
  return { keys };
}

/**
 * Returns the query of a page, whose parameter is [note, limit, offset, key]. If it is large, a row
 * for each item follows that of the page.
 */
function pageSql(
  { named, table, isListed, order, key, members, total }: KeptList,
  { after, before, fields = [] }: KeptInput['parameters'],
  isLarge: boolean,
): string {
  const chosen = members.filter(({ name }) => !fields[0] || fields.includes(name));
  const [isBeyond, low, high] =
    after !== undefined
      ? [`${key} < ?1 ->> 3`, 'min(key)', 'coalesce(max(key), max((?1 ->> 3) - 1, 0))']
      : before !== undefined
        ? [`${key} > ?1 ->> 3`, 'coalesce(min(key), (?1 ->> 3) + 1)', 'max(key)']
        : ['TRUE', 'min(key)', 'max(key)'];
  const exists = (condition: string) =>
    `EXISTS (SELECT 1 FROM ${table} WHERE ${isListed} AND ${key} ${condition})`;
  const item = `(SELECT json_object(${membersSql(chosen)}) FROM ${table} WHERE ${order} = place)`;
  const items = isLarge ? "''" : `coalesce(group_concat(${item}, ',' ORDER BY place DESC), '')`;
  const page = `
    ${named ? `${named},` : 'WITH'} found (place, key) AS MATERIALIZED (
      SELECT ${order}, ${key} FROM ${table} WHERE ${isListed} AND ${isBeyond}
      ORDER BY ${order} ${before === undefined ? 'DESC' : 'ASC'} LIMIT ?1 ->> 1 OFFSET ?1 ->> 2)
    SELECT (${total}) AS total, count, low, high, ${exists('< low')} AS has_lower,
      ${exists('> high')} AS has_higher, items
    FROM (SELECT count(*) AS count, ${low} AS low, ${high} AS high, ${items} AS items FROM found)`;
  if (!isLarge) return page;
  return `${page}
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, CAST(${item} AS BLOB)
    FROM (SELECT place FROM found ORDER BY place DESC)`;
}
