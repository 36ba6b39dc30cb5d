// Changes of the body of a note that are made from the body as it is. Appends to one note that wait
// become one change, unless one of them must be refused: then they are carried out one by one.
import { MAX_BODY_LENGTH } from '../contract/generated.js';
import { type Condition, satisfiesSql } from '../records/condition.ts';
import type { Given } from '../records/creation.ts';
import { bytesSql } from '../records/rewritten.ts';
import { membersSql, ownMembers } from '../records/text.ts';
import { readStatement, type Stored } from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import { ANSWERS, FORGET_KEYS } from '../retries/feature.ts';
import { LAST_NUMBER, tagSql } from '../storage/numbers.ts';
import { NOW, namedRows } from '../storage/parameter.ts';
import type { RowSet, Write, WriteKind } from '../storage/writer.ts';

/** The reasons why a note is left as it is, as SQL; the first that holds counts. */
const REASONS = {
  repeated: '_known IS NOT NULL',
  unmatched: `NOT ${satisfiesSql('_condition', tagSql('number'))}`,
  absent: '_place = 0',
  several: 'instr(substr(CAST(body AS BLOB), _place + 1), CAST(_old_text AS BLOB)) > 0',
  same: `_text = '' AND _old_text IS NULL`,
  // JSON escapes U+0000, at which length() would end.
  long: `octet_length(_body) > ${MAX_BODY_LENGTH} AND ${MAX_BODY_LENGTH} <
    length(replace(replace(json_quote(_body), '\\\\', '-'), '\\u0000', '-') ->> '$')`,
  // What \s matches in the patterns of the contract.
  blank: `trim(_body, char(9, 10, 11, 12, 13, 32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197,
    8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288, 65279)) = ''`,
};

/** A note after a write, and the fingerprint of the first request with the same key. */
export interface Rewritten extends Stored {
  readonly state: keyof typeof REASONS | 'changed';
  readonly known: string | null;
}

/** Appends to a note, or replaces `oldText`; resolves with undefined if there is no such note. */
export async function rewrite(
  write: Write,
  id: number,
  condition: Condition,
  once: Pick<Given, 'key' | 'fingerprint'> | undefined,
  text: string,
  oldText: string | null = null,
): Promise<Rewritten | undefined> {
  const { key = null, fingerprint = null } = once ?? {};
  const isAppend = oldText === null;
  const end = isAppend && text.endsWith('\n') ? '\n' : '';
  const start = text.slice(0, text.length - end.length);
  const rows = [[id, condition, key, fingerprint, oldText, start, end]];
  const isShared = isAppend && condition === null && text !== '';
  const outcome = isShared ? await write(REWRITE, once?.key, { rows }) : 'refused';
  if (outcome !== 'refused') return outcome;
  // No other write shares the statements of a copy.
  return (await write({ ...REWRITE }, undefined, { rows })) as Rewritten | undefined;
}

/** What is `refused` may be so because of other writes. */
const REWRITE: WriteKind<RowSet, Rewritten | 'refused' | undefined> = {
  statements: statements(),
  outcomes(writes, { before = [] }) {
    const byId = new Map(before.map((row) => [row.id, row as unknown as Rewritten]));
    return writes.map(({ rows: [row] }) => {
      const note = byId.get(Number(row?.[0]));
      return note && note.state !== 'changed' && writes.length > before.length ? 'refused' : note;
    });
  },
  changes({ rows: [row] }, note) {
    if (typeof note !== 'object' || note.state !== 'changed') return [];
    return [[notes.table, Number(row?.[0]), { text: note.text, tag: note.tag }]];
  },
  // It searches and measures texts, too.
  rewrites: { bytes: bytesSql(notes), factor: 8 },
};

function statements() {
  const columns = ['_id', '_condition', '_key', '_fingerprint', '_old_text', '_text', '_end'];
  const cases = Object.entries(REASONS).map(([reason, sql]) => `WHEN ${sql} THEN '${reason}'`);
  // Functions of texts end at U+0000, those of BLOBs do not. The `_end` beside max() is that of the
  // last row. Keys are remembered before the update; then those with the new tag are not known.
  const named = `${namedRows('sent', columns)},
    joined AS (
      SELECT max(_position), _id, _condition, _old_text,
        group_concat(_text, char(10) ORDER BY _position) || _end AS _text,
        ${LAST_NUMBER} + row_number() OVER (ORDER BY max(_position)) AS _number
      FROM sent GROUP BY _id),
    found AS MATERIALIZED (
      SELECT joined.*, notes.*,
        (SELECT max(fingerprint) FROM sent CROSS JOIN ${ANSWERS} ON key = _key
         WHERE sent._id = joined._id AND tag <> ${tagSql('_number')}) AS _known,
        coalesce(instr(CAST(body AS BLOB), CAST(_old_text AS BLOB)), octet_length(body) + 1)
          AS _place,
        iif(_old_text IS NULL AND substr(CAST(body AS BLOB), -1) NOT IN (x'', x'0A'),
          char(10), '') AS _line
      FROM joined CROSS JOIN notes ON notes.id = _id),
    planned AS MATERIALIZED (
      SELECT *, substr(CAST(body AS BLOB), 1, _place - 1) || _line || _text ||
        substr(CAST(body AS BLOB), _place + coalesce(octet_length(_old_text), 0)) AS _body
      FROM found),
    judged AS MATERIALIZED (
      SELECT *, CASE ${cases.join(' ')} ELSE 'changed' END AS _state FROM planned)`;
  const body = `iif(_state = 'changed', _body, body)`;
  const members = ownMembers(notes).map((each) =>
    each.name === 'body' ? { ...each, sql: body } : each,
  );
  const tag = tagSql(`iif(_state = 'changed', _number, number)`);
  const text = `json_object(${membersSql(members)}) || ''`;
  return {
    forget: { sql: FORGET_KEYS },
    before: readStatement(
      named,
      { id: 'id', state: '_state', known: '_known', tag, text },
      'FROM judged AS notes',
    ),
    remember: {
      sql: `WITH ${named}
        INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
        SELECT _key, _fingerprint, id, ${tag}, ${NOW} FROM sent CROSS JOIN judged ON id = sent._id
        WHERE _key IS NOT NULL AND _state IN ('changed', 'same')`,
    },
    update: {
      sql: `WITH ${named}
        UPDATE notes SET body = _body, number = _number,
          updated_at = max(coalesce(notes.created_at, 0), ${NOW})
        FROM judged WHERE notes.id = _id AND _state = 'changed'`,
    },
  };
}
