// Writes of records with what features add to them, such as the keys of requests and the tags of
// notes: these parts share the transaction of the records, and can refuse it.
import type { Input } from '../contract/endpoint.ts';
import type { Ids } from '../http/paths.ts';
import type { Members, Resource } from '../resources/resource.ts';
import type { Row } from '../storage/database.ts';
import { lastIdSql, tagSql } from '../storage/numbers.ts';
import type { RowSet, Values, WriteKind } from '../storage/writer.ts';
import { ownerExistsSql } from './text.ts';
import {
  type Created,
  createdRows,
  createdTexts,
  insertSql,
  NUMBER,
  newIdSql,
  newRecords,
  readStatement,
  type Settled,
  type Stored,
} from './writes.ts';

/** A request for records, whose body may be one or several. */
export type RecordInput = Input<Ids, unknown>;
type Bodies = readonly Members[];

/** What a request gives to a part. */
export interface Given {
  /** The key of a creation, and the fingerprint of its content; not empty. */
  readonly key?: string;
  readonly fingerprint?: string;
  /** The lists that the named queries of the part read; only one part can have some. */
  readonly extra?: readonly (readonly unknown[])[];
  /** Whether no other write may share the statements. */
  readonly isAlone?: boolean;
  /** The values of the columns of the part, for each record. */
  readonly values?: readonly Values[];
  /** How many lines of a bulk request it counts as. */
  readonly lines?: number;
  /** Returns what the part decides, given what was read before. */
  readonly settle: (before: Row) => Settled;
}

/** What a request gives to each part, up to the last one that it asks for. */
export type GivenParts = readonly (Given | undefined)[];

/** A write with parts. */
export type JointWrite = RowSet & { readonly given: GivenParts };

type Statements = Readonly<Record<string, { readonly sql: string }>>;

/** What a feature adds to the writes of a resource. */
export interface WritePart {
  /** The header or the members of bodies that ask for it. */
  readonly askedBy: readonly string[];
  /** Throws a Problem for what is wrong; `newAt` is the path of the collection of new records. */
  readonly read: (input: RecordInput, bodies: Bodies, newAt?: string) => Given | undefined;
  /** Columns of `sent` that follow the fields. */
  readonly sent?: readonly string[];
  /** Named queries that follow `sent`. */
  readonly queries?: string;
  /** The SQL condition under which a row of `sent` is `admitted`. */
  readonly admits: string;
  /** The SQL of the times of a new record, if not that of the write. */
  readonly times?: { readonly created_at: string; readonly updated_at: string };
  /** What `settle` must know: SQL by name. */
  readonly columns: Readonly<Record<string, string>>;
  /** Returns its statements around the others; `named` lets them use the named queries. */
  readonly around: (others: Statements, named: (sql: string) => { sql: string }) => Statements;
  /** The changes that ask for it. */
  readonly change?: WriteKind<JointWrite, (Stored & Settled) | undefined>;
}

/** Returns what a request gives to the parts; see {@link WritePart.read}. */
export function readGiven(parts: readonly WritePart[], input: RecordInput, newAt?: string) {
  const { body, call } = input;
  const bodies = (call.format === 'lines' ? body : [body]) as Bodies;
  const given: (Given | undefined)[] = [];
  for (const [index, part] of parts.entries()) {
    const read = isAsked(part, input, bodies) ? part.read(input, bodies, newAt) : undefined;
    if (read) given[index] = read;
  }
  return given;
}

function isAsked({ askedBy }: WritePart, { headers }: RecordInput, bodies: Bodies): boolean {
  for (const name of askedBy) {
    if (name in headers) return true;
    for (const body of bodies) if (name in body) return true;
  }
  return false;
}

/** Returns the rows with the values of the columns of the parts. */
export function withValues(rows: Values[], parts: readonly WritePart[], given: GivenParts) {
  const asked = parts.slice(0, given.length);
  const valuesAt = (index: number) =>
    asked.flatMap(({ sent = [] }, part) => given[part]?.values?.[index] ?? sent.map(() => null));
  return rows.map((row, index) => [...row, ...valuesAt(index)]);
}

/** Returns creations with these parts, each of which is around those that follow it. */
export function creationWith(
  resource: Resource,
  parts: readonly WritePart[],
): WriteKind<JointWrite, Created | undefined> {
  return {
    statements: statementsWith(resource, parts),
    outcomes(writes, { before: rows = [] }) {
      // One for each write: only the first row of a write has a fingerprint.
      const sorted = rows.toSorted((one, other) => Number(one.position) - Number(other.position));
      return writes.map((write, index) => outcomeOf(resource, write, sorted[index] as Row));
    },
    changes: (_, created) =>
      !created || created.isReplay || created.refusal ? [] : [[resource.table, created.id]],
  };
}

/** They read before they write: afterwards, a new key looks like a known one. */
function statementsWith(resource: Resource, parts: readonly WritePart[]): Statements {
  const inside = parts.toReversed();
  const ownerExists = ownerExistsSql(resource, '_owner');
  // After the records were created, and until their keys are, `created` has the id of the first.
  const sent = createdRows(
    resource,
    parts.flatMap((part) => part.sent ?? []),
  );
  const named = `${sent},${inside.map(({ queries = '' }) => queries).join('')}
    admitted AS (
      SELECT * FROM sent
      WHERE ${[ownerExists, ...inside.map(({ admits }) => admits)].join(' AND ')}),
    created AS (
      SELECT ${lastIdSql(resource.table)} - max(_position) AS first_id FROM admitted)`;
  const columns = Object.assign({}, ...inside.map(({ columns }) => columns));
  const { id = newIdSql(resource), tag = tagSql(NUMBER) } = columns;
  const read = { position: '_position', owner_exists: ownerExists, ...columns, id, tag };
  const times = parts.find((part) => part.times)?.times;
  const withNamed = (sql: string) => ({ sql: `WITH ${named} ${sql}` });
  const records: Statements = {
    before: readStatement(named, read, 'FROM sent WHERE _fingerprint IS NOT NULL'),
    insert: withNamed(insertSql(resource, newRecords(resource, 'FROM admitted', times))),
  };
  return inside.reduce((others, { around }) => around(others, withNamed), records);
}

function outcomeOf(resource: Resource, write: JointWrite, before: Row): Created | undefined {
  let settled: Settled = {};
  for (const each of write.given) {
    settled = { ...settled, ...each?.settle(before) };
    if (settled.refusal || settled.isReplay) break;
  }
  if (!before.owner_exists && !settled.isReplay && !settled.refusal) return undefined;
  const id = Number(before.id);
  return { id, tag: String(before.tag), texts: createdTexts(resource, id, write), ...settled };
}
