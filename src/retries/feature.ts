// The keys of requests that must not be carried out twice, however often they are sent: a
// repetition creates nothing and gets the first answer.
import { createHash, hash } from 'node:crypto';
import type { Core, EarlyFeature } from '../feature.ts';
import { Problem } from '../http/problem.ts';
import type { Given, RecordInput, WritePart } from '../records/creation.ts';
import type { RecordFeature } from '../records/feature.ts';
import { NUMBER, newIdSql } from '../records/writes.ts';
import type { Resource } from '../resources/resource.ts';
import type { Statement } from '../storage/database.ts';
import { tagSql } from '../storage/numbers.ts';
import { NOW } from '../storage/parameter.ts';
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
export function requestKeys(resource: Resource): WritePart {
  const { table } = resource;
  const known = (column: string) => `(SELECT ${column} FROM ${ANSWERS} WHERE key = _key)`;
  return {
    askedBy: ['idempotency-key'],
    read: (input, _, newAt) => readKey(input, newAt),
    admits: `NOT EXISTS (SELECT 1 FROM ${ANSWERS} WHERE key = _key)`,
    columns: {
      fingerprint: known('fingerprint'),
      id: `coalesce(${known('id')}, ${newIdSql(resource)})`,
      tag: `coalesce(${known('tag')}, ${tagSql(NUMBER)})`,
    },
    around: (others, named) => ({
      forget: { sql: FORGET_KEYS },
      ...others,
      remember: named(`
        INSERT INTO ${ANSWERS} (key, fingerprint, id, tag, answered_at)
        SELECT _key, _fingerprint, ${table}.id, ${tagSql(`${table}.number`)}, ${NOW}
        FROM sent CROSS JOIN ${table} ON ${table}.id = (SELECT first_id FROM created) + _position
        WHERE _key IS NOT NULL AND _fingerprint IS NOT NULL`),
    }),
  };
}

/** Returns what a request to `path` gives to a write by its key, if it has one. */
export function readKey({ headers, call }: KeyInput, path?: string) {
  if (headers['idempotency-key'] === undefined) return undefined;
  // Without the base path: a new --base-url must not turn a repetition into a first request.
  const scope = [call.key?.digest ?? '', path, headers['idempotency-key']];
  const key = hash('sha256', JSON.stringify(scope), 'base64url');
  const type = `${call.format}?${call.query}\n`;
  const content = createHash('sha256').update(type).update(call.bytes).digest('base64url');
  return keyGiven(key, content);
}

/** Returns what a request gives to a write by its key and the fingerprint of its content. */
export function keyGiven(key: string, fingerprint: string): Given {
  return {
    key,
    fingerprint,
    settle({ fingerprint: known }) {
      if (known === null) return {};
      if (known !== fingerprint) return { refusal: new Problem('idempotency-key-reused', REUSED) };
      // The first answer may have got lost, so a repetition gets the same: 201, too.
      return { headers: REPLAYED, isReplay: true };
    },
  };
}

/** Returns what finds the id in the answer to the first request with the same key. Throws 422. */
export function createKeyFinder({ database }: Core) {
  const sql = `SELECT id, fingerprint FROM ${ANSWERS} WHERE key = ?1 ->> 1 AND NOT ${IS_OLD}`;
  return async (input: KeyInput, path: string): Promise<number | undefined> => {
    const once = readKey(input, path);
    if (!once) return undefined;
    const parameter = JSON.stringify([Date.now(), once.key]);
    const [row] = await database.read({ sql, parameter });
    const { refusal } = row ? once.settle(row) : {};
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
