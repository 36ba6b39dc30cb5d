// The keys of requests that must not be carried out twice, however often they are sent: a
// repetition creates nothing and gets the first answer.
import { createHash, hash } from 'node:crypto';
import type { Core, EarlyFeature } from '../feature.ts';
import { Problem } from '../http/problem.ts';
import type { RecordFeature } from '../records/feature.ts';
import type { Asked, RecordInput, Verdict, WritePart } from '../records/parts.ts';
import type { Resource } from '../resources/resource.ts';
import type { Statement } from '../storage/database.ts';
import { tagSql } from '../storage/numbers.ts';
import { NOW, parameterOf } from '../storage/parameter.ts';
import type { Commit, CommitObserver } from '../storage/writer.ts';

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
export function requestKeys({ table }: Resource): WritePart[] {
  const key: WritePart = {
    name: 'key',
    askedBy: ['idempotency-key'],
    read(input, _, newAt) {
      const once = readKey(input, newAt);
      return once && { key: askedBy(once) };
    },
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
        FROM admitted
        CROSS JOIN ${table} ON ${table}.id = (SELECT _last_id FROM created) + _first + 1
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
