// Changes of the body of a note that are made from the body as it is. Appends to one note that wait
// become one change, unless one of them must be refused: then they are carried out one by one.
import { MAX_BODY_LENGTH } from '../contract/generated.js';
import { type Condition, satisfiesSql } from '../records/condition.ts';
import { bytesSql } from '../records/rewritten.ts';
import { membersSql, ownMembers, recordSql } from '../records/text.ts';
import { ifNamed, type Stored } from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import { rowColumnsOf } from '../resources/resource.ts';
import { ANSWERS, FORGET_KEYS, type Once } from '../retries/feature.ts';
import { LAST_NUMBER, tagSql } from '../storage/numbers.ts';
import { NOW, namedRows } from '../storage/parameter.ts';
import type { Step } from '../storage/step.ts';
import type { RowSet, Steps, Write, WriteKind } from '../storage/writer.ts';

/** The reasons why a note is left as it is, as SQL; the first that holds counts. */
const REASONS = {
  repeated: '_known IS NOT NULL',
  unmatched: `NOT ${satisfiesSql('_condition', tagSql('number'))}`,
  absent: '_place = 0',
  several: 'instr(substr(CAST(body AS BLOB), _place + 1), CAST(_old_text AS BLOB)) > 0',
  same: `_text = '' AND _old_text IS NULL OR _body = body`,
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

/** A change of one body. */
interface BodyChange extends RowSet {
  readonly id: number;
  /** Whether it may become one change with others of the same note. */
  readonly isShared: boolean;
  readonly hasKey: boolean;
}

/** Appends to a note, or replaces `oldText`; resolves with undefined if there is no such note. */
export async function rewrite(
  write: Write,
  id: number,
  condition: Condition,
  once: Once | undefined,
  text: string,
  oldText: string | null = null,
  at: string | null = null,
): Promise<Rewritten | undefined> {
  const { key = null, fingerprint = null } = once ?? {};
  const isAppend = oldText === null;
  const end = isAppend && text.endsWith('\n') ? '\n' : '';
  const start = text.slice(0, text.length - end.length);
  const rows = [[id, condition, at, key, fingerprint, oldText, start, end]];
  const change = { rows, id, hasKey: key !== null };
  const claims = key === null ? [] : [[key] as const];
  if (isAppend && condition === null && text !== '') {
    const shared = {
      ...change,
      isShared: true,
      claims: [[id, `append ${at}`] as const, ...claims],
    };
    const outcome = await write(REWRITE, shared);
    if (outcome !== 'refused') return outcome;
  }
  const alone = { ...change, isShared: false, claims: [[id] as const, ...claims] };
  return (await write(REWRITE, alone)) as Rewritten | undefined;
}

/** What is `refused` may be so because of other writes, or for a reason that was not read. */
const REWRITE: WriteKind<BodyChange, Rewritten | 'refused' | undefined> = {
  steps(writes) {
    if (writes.some(({ hasKey }) => hasKey)) return STEPS.withKeys;
    return writes.every(({ isShared }) => isShared) ? STEPS.appends : STEPS.withReasons;
  },
  outcomes(writes, { before, update = [] }) {
    const found = new Map((before ?? update).map((row) => [row.id, row as unknown as Rewritten]));
    const counts = new Map<number, number>();
    for (const { id } of writes) counts.set(id, (counts.get(id) ?? 0) + 1);
    return writes.map(({ id }) => {
      const note = found.get(id);
      if (!before) return note ?? 'refused';
      return note && note.state !== 'changed' && Number(counts.get(id)) > 1 ? 'refused' : note;
    });
  },
  changes({ id }, note) {
    if (typeof note !== 'object' || note.state !== 'changed') return [];
    return [[notes.table, id, { text: note.text, tag: note.tag }]];
  },
  // It searches and measures texts, too.
  rewrites: { bytes: bytesSql(notes), factor: 8 },
};

/** The fingerprints of earlier requests with the same keys. Once remembered, a tag is new. */
const KNOWN = `
    known AS MATERIALIZED (
      SELECT sent._id AS _known_id, max(fingerprint) AS _known
      FROM sent CROSS JOIN ${ANSWERS} ON key = _key CROSS JOIN joined ON joined._id = sent._id
      WHERE tag <> ${tagSql('_number')} GROUP BY sent._id),`;

/** Returns the named queries up to `judged`: each note with its new body, and why it is refused. */
function judgedBy(known: string): string {
  const columns = [
    ...['_id', '_condition', '_at', '_key', '_fingerprint', '_old_text', '_text', '_end'],
  ];
  const cases = Object.entries(REASONS).map(([reason, sql]) => `WHEN ${sql} THEN '${reason}'`);
  // Functions of texts end at U+0000, those of BLOBs do not. The `_end` beside max() is that of the
  // last row.
  return `${namedRows('sent', columns)},
    joined AS MATERIALIZED (
      SELECT max(_position), _id, _condition, _at, _old_text,
        group_concat(_text, char(10) ORDER BY _position) || _end AS _text,
        ${LAST_NUMBER} + row_number() OVER (ORDER BY max(_position)) AS _number
      FROM sent GROUP BY _id),${known}
    found AS MATERIALIZED (
      SELECT joined.*, notes.*, ${known ? '_known' : 'NULL AS _known'},
        coalesce(instr(CAST(body AS BLOB), CAST(_old_text AS BLOB)), octet_length(body) + 1)
          AS _place,
        iif(_old_text IS NULL AND substr(CAST(body AS BLOB), -1) NOT IN (x'', x'0A'),
          char(10), '') AS _line
      FROM joined CROSS JOIN notes ON notes.id = _id${ifNamed(notes, 'joined')}
        ${known && 'LEFT JOIN known ON _known_id = _id'}),
    planned AS MATERIALIZED (
      SELECT *, substr(CAST(body AS BLOB), 1, _place - 1) || _line || _text ||
        substr(CAST(body AS BLOB), _place + coalesce(octet_length(_old_text), 0)) AS _body
      FROM found),
    judged AS MATERIALIZED (
      SELECT *, CASE ${cases.join(' ')} ELSE 'changed' END AS _state FROM planned)`;
}

/** Returns the steps that read why a note is left as it is, and change the others. */
function reasoned(named: string): { before: Step; update: Step } {
  const body = `iif(_state = 'changed', _body, body)`;
  const members = ownMembers(notes).map((each) =>
    each.name === 'body' ? { ...each, sql: body } : each,
  );
  const returns = {
    ...{ id: 'id', state: '_state', known: '_known' },
    tag: tagSql(`iif(_state = 'changed', _number, number)`),
    text: `json_object(${membersSql(members)}) || ''`,
  };
  const write = `
    UPDATE notes SET body = _body, number = _number,
      updated_at = max(coalesce(notes.created_at, 0), ${NOW})
    FROM judged WHERE notes.id = _id AND _state = 'changed'`;
  return { before: { named, returns, from: 'FROM judged AS notes' }, update: { named, write } };
}

const STEPS = stepsOf();

function stepsOf(): Readonly<Record<'appends' | 'withReasons' | 'withKeys', Steps>> {
  const named = judgedBy('');
  const withReasons = reasoned(named);
  const columns = rowColumnsOf(notes).map((name) =>
    name === 'body' ? 'CAST(_body AS TEXT) AS body' : name,
  );
  // Nobody else gets a reason: such appends are written again, each alone.
  const update = {
    ...withReasons.update,
    records: `SELECT ${columns.join(', ')}, _number AS number
      FROM judged WHERE _state = 'changed'`,
    returns: {
      ...{ id: 'id', state: `'changed'`, known: 'NULL', tag: tagSql('number') },
      text: `${recordSql(notes)} || ''`,
    },
    from: 'FROM new AS notes',
  };
  const withKnown = judgedBy(KNOWN);
  const keyed = reasoned(withKnown);
  const remember = `
    INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
    SELECT _key, _fingerprint, id, ${keyed.before.returns?.tag}, ${NOW}
    FROM sent CROSS JOIN judged ON id = sent._id
    WHERE _key IS NOT NULL AND _state IN ('changed', 'same')`;
  return {
    appends: { update },
    withReasons,
    withKeys: {
      forget: { write: FORGET_KEYS },
      before: keyed.before,
      // Before the update, while the reasons can be read.
      remember: { named: withKnown, write: remember },
      update: keyed.update,
    },
  };
}
