// The keys of requests that must not be carried out twice, however often they are sent: a
// repetition creates nothing and gets the first answer.
import { createHash, hash, randomUUID } from 'node:crypto';
import type { Core, EarlyFeature } from '../feature.ts';
import { fillTemplate } from '../http/paths.ts';
import { Problem } from '../http/problem.ts';
import type { RecordFeature } from '../records/feature.ts';
import type { Asked, Asking, RecordInput, Verdict, WritePart } from '../records/parts.ts';
import type { Resource } from '../resources/resource.ts';
import type { Statement } from '../storage/database.ts';
import { LAST_NUMBER, tagSql } from '../storage/numbers.ts';
import { NOW, namedRows, parameterOf, rowsIf } from '../storage/parameter.ts';
import type { Step } from '../storage/step.ts';
import type { Commit, CommitObserver, Steps, WriteKind } from '../storage/writer.ts';

/** The table of the keys of requests that must not be carried out twice, and of their answers. */
export const ANSWERS = 'notes_server_answers';

/** A key is kept for this time, unless this many others follow. */
const KEPT_MS = 86_400_000;
const KEPT_KEYS = 100_000;

type KeyInput = Pick<RecordInput, 'headers' | 'call'>;

const IS_OLD = `(answered_at <= (${NOW}) - ${KEPT_MS}
    OR position <= (SELECT max(position) FROM ${ANSWERS}) - ${KEPT_KEYS})`;

/** The SQL that forgets the oldest keys. */
export const FORGET_KEYS = `
  DELETE FROM ${ANSWERS} WHERE ${IS_OLD}`;

/** The clock and the monotonic clock of a machine drift apart by less between two writes. */
const MIN_JUMP_MS = 60_000;

const REUSED = 'This idempotency key was used before, for a different request.';
const REPLAYED = ['idempotent-replayed', 'true'];

/** The keys, and their clock: they outlive one that is set forward. */
export function retries(): EarlyFeature & RecordFeature {
  return { commits: new KeyClock(), inWrites: requestKeys };
}

/** Returns the part of keys in the creation of records. */
export function requestKeys({ table, path, idParameter }: Resource): WritePart[] {
  const key: WritePart = {
    name: 'key',
    askedBy: ['idempotency-key'],
    read(input, _, newAt) {
      const at = () => fillTemplate(`${path}/{${idParameter}}`, input.parameters);
      const once = readKey(input, input.keyPath ?? newAt ?? at());
      return once && { key: newAt === undefined ? askedOnce(once) : askedBy(once) };
    },
    around: carriedOutOnce,
    ofRequest: ['_key', '_fingerprint'],
    admits: `NOT EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = _key)`,
    report: {
      columns: { request: 'requests._position', fingerprint: 'fingerprint', id: 'id', tag: 'tag' },
      from: `FROM requests CROSS JOIN ${ANSWERS} ON key = _key`,
    },
    first: { forget: FORGET_KEYS },
    last: {
      remember: `
        INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
        SELECT _key, _fingerprint, ${table}.id, ${tagSql(`${table}.number`)}, ${NOW}
        FROM created_requests CROSS JOIN ${table} ON ${table}.id = _id
        WHERE _key IS NOT NULL`,
    },
  };
  return [key];
}

/** The key of a request, and the fingerprint of its content. */
export interface Once {
  readonly key: string;
  readonly fingerprint: string;
}

/** Returns the key of a request to `path`, if it has one. */
export function readKey({ headers, call }: KeyInput, path?: string): Once | undefined {
  if (headers['idempotency-key'] === undefined) return undefined;
  // Without the base path: a new --base-url must not turn a repetition into a first request.
  const scope = [call.key?.digest ?? '', path, headers['idempotency-key']];
  const key = hash('sha256', JSON.stringify(scope), 'base64url');
  const type = `${call.format}?${call.query}\n`;
  const fingerprint = createHash('sha256').update(type).update(call.bytes).digest('base64url');
  return { key, fingerprint };
}

/** Returns what a request with a key asks of a creation. */
export function askedBy({ key, fingerprint }: Once): Asked {
  return {
    claims: [[key]],
    ofRequest: [key, fingerprint],
    settle(known) {
      const verdict = settleKey(fingerprint, known?.fingerprint);
      if (!known || verdict.refusal) return verdict;
      return { ...verdict, earlier: { id: Number(known.id), tag: String(known.tag) } };
    },
  };
}

/** Decides on a request, given the fingerprint of the first one with the same key, if any. */
export function settleKey(fingerprint: string, known: unknown): Verdict {
  if (known === undefined || known === null) return {};
  const isFinal = true;
  if (known !== fingerprint)
    return { isFinal, refusal: new Problem('idempotency-key-reused', REUSED) };
  // The first answer may have got lost, so a repetition gets the same: 201, too.
  return { isFinal, headers: REPLAYED };
}

/** Its claim tells a write from another one with the same key. */
const named = namedRows('once', ['_key', '_fingerprint', '_id', '_claim']);

/** What the table has as the tag of a write: the state before, and the claim. */
const MARK = `${tagSql(LAST_NUMBER)} || ' ' || _claim`;
const IS_FIRST = `(
  SELECT tag LIKE '% ' || (?1 ->> '$.once[0][3]') FROM ${ANSWERS}
  WHERE key = ?1 ->> '$.once[0][0]')`;

const BEFORE: Steps = {
  forget: { write: FORGET_KEYS },
  claim: {
    named,
    write: `
      INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
      SELECT _key, _fingerprint, _id, ${MARK}, ${NOW} FROM once
      WHERE NOT EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = _key)`,
  },
  known: {
    ...{ named, returns: { id: 'id', fingerprint: 'fingerprint' } },
    from: `FROM once CROSS JOIN ${ANSWERS} ON key = _key WHERE NOT ${IS_FIRST}`,
  },
};

/** What has changed nothing has not been carried out. */
const AFTER: Steps = {
  release: {
    named,
    write: `
      DELETE FROM ${ANSWERS} WHERE (key, tag) IN (SELECT _key, ${MARK} FROM once)`,
  },
};

/** Returns what a write asks that {@link carriedOutOnce} makes of its kind. */
function askedOnce({ key, fingerprint }: Once): Asked {
  return { ofRequest: [key, fingerprint, randomUUID()] };
}

const guarded = new WeakMap<Step, Step>();

/** Returns the kind of one write, whose steps find no rows if the key is known. */
function carriedOutOnce<Content extends Asking, Outcome>(
  kind: WriteKind<Content, Outcome>,
): WriteKind<Content, Outcome | Verdict> {
  return {
    ...kind,
    steps(writes) {
      const own = Object.entries(kind.steps(writes)).map(([name, step]) => [name, guard(step)]);
      return { ...BEFORE, ...Object.fromEntries(own), ...AFTER };
    },
    lists(writes) {
      const own = kind.lists?.(writes) ?? { sent: writes.flatMap(({ rows }) => rows) };
      const [key, fingerprint, claim] = writes[0]?.asked.key?.ofRequest ?? [];
      return { ...own, once: [[key, fingerprint, writes[0]?.id ?? 0, claim]] };
    },
    outcomes(writes, rows) {
      const [first] = rows.known ?? [];
      if (!first) return kind.outcomes(writes, rows);
      const verdict = settleKey(String(writes[0]?.asked.key?.ofRequest?.[1]), first.fingerprint);
      return [{ ...verdict, earlier: { id: Number(first.id), tag: '' } }];
    },
    changes: (write, outcome) => (isReplay(outcome) ? [] : kind.changes(write, outcome as Outcome)),
  };
}

function guard(step: Step): Step {
  const known = guarded.get(step) ?? { ...step, named: rowsIf(step.named ?? '', IS_FIRST) };
  guarded.set(step, known);
  return known;
}

/** Whether a write with the same key was carried out before; if not, this is its outcome. */
function isReplay(outcome: unknown): outcome is Verdict {
  return Object(outcome).isFinal === true;
}

/** Returns what finds the id in the answer to the first request with the same key. Throws 422. */
export function createKeyFinder({ database }: Core) {
  const sql = `SELECT id, fingerprint FROM ${ANSWERS} WHERE key = ?1 ->> '$.key' AND NOT ${IS_OLD}`;
  return async (input: KeyInput, path: string): Promise<number | undefined> => {
    const once = readKey(input, path);
    if (!once) return undefined;
    const parameter = parameterOf(Date.now(), { key: once.key });
    const [row] = await database.read({ sql, parameter });
    const { refusal } = settleKey(once.fingerprint, row?.fingerprint);
    if (refusal) throw refusal;
    return row && Number(row.id);
  };
}

/** Notices when the clock is set forward, which would make the keys of all requests look old. */
export class KeyClock implements CommitObserver {
  #leadMs = performance.timeOrigin;
  #measuredMs = this.#leadMs;

  /** Returns the correction of all keys, if one is needed. */
  begin(): readonly Statement[] {
    this.#measuredMs = Date.now() - performance.now();
    const jumpMs = Math.round(this.#measuredMs - this.#leadMs);
    if (jumpMs < MIN_JUMP_MS) return [];
    const sql = `UPDATE ${ANSWERS} SET answered_at = answered_at + (?1 ->> '$')`;
    return [{ sql, parameter: JSON.stringify(jumpMs) }];
  }

  end({ isDurable }: Pick<Commit, 'isDurable'>): void {
    // Not measured again: the clock may have been set during the transaction.
    if (isDurable) this.#leadMs = this.#measuredMs;
  }
}
