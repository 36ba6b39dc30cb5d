// What features add to writes of records: the key of a request, times, tags, a name. Each part can
// refuse a request. That leaves the others that share its steps alone.
import type { Input } from '../contract/endpoint.ts';
import type { Ids } from '../http/paths.ts';
import type { Problem } from '../http/problem.ts';
import type { WrittenIds } from '../http/reply.ts';
import type { Members } from '../resources/resource.ts';
import type { Row } from '../storage/database.ts';
import { namedRows } from '../storage/parameter.ts';
import type { Columns } from '../storage/step.ts';
import { type Claim, type RowSet, sizeOf, type Values, type WriteKind } from '../storage/writer.ts';
import type { Change, Stored } from './writes.ts';

/** A request for records, whose body may be one or several. Its key may belong to another path. */
export type RecordInput = Input<Ids, unknown> & Pick<Change, 'at'> & { readonly keyPath?: string };

/** What a part decides, and adds to the answer. */
export interface Verdict {
  readonly headers?: readonly string[];
  readonly createdIds?: WrittenIds;
  /** Whether it counts whatever other parts decide. */
  readonly isFinal?: boolean;
  /** The first record that an earlier request with the same key has created. */
  readonly earlier?: { readonly id: number; readonly tag: string };
  /** Why nothing was written. */
  readonly refusal?: Problem;
}

/** What a request asks of a part. */
export interface Asked {
  readonly claims?: readonly Claim[];
  /** The values of the columns that the part adds to the request. */
  readonly ofRequest?: Values;
  /** Those that it adds to each record. */
  readonly ofRecords?: readonly Values[];
  /** The rows of the lists of the part, by name; each begins with the place of its record. */
  readonly lists?: Readonly<Record<string, readonly Values[]>>;
  /** How many lines of a bulk request it counts as. */
  readonly lines?: number;
  /** Returns the verdict, given what the part reports of the request, if anything. */
  readonly settle?: (report: Row | undefined) => Verdict;
}

/** What a request asks of parts, by their names. */
export type AskedParts = Readonly<Record<string, Asked>>;

/** Asks nothing of any part. */
export const NOTHING: AskedParts = {};

/** A part of the writes of a resource. */
export interface WritePart {
  readonly name: string;
  /** The header or the members of bodies that ask for it. */
  readonly askedBy?: readonly string[];
  /**
   * Returns what a request asks of this part, and perhaps of others. Throws a Problem for what is
   * wrong; `newAt` is the path of the collection of new records.
   */
  readonly read?: (
    input: RecordInput,
    bodies: readonly Members[],
    newAt?: string,
  ) => AskedParts | undefined;
  /** The columns that it adds to the lists of requests and of records. */
  readonly ofRequest?: readonly string[];
  readonly ofRecords?: readonly string[];
  /** The columns of its own lists, by name. They follow `_request`, `_place`, `_record`. */
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  /** Its named queries. They can use all lists but `sent`, and `admitted`. */
  readonly queries?: string;
  /** The SQL condition under which a request is admitted. None of its steps may change that. */
  readonly admits?: string;
  /** What it tells of some requests beforehand: columns, among them `request`, and their FROM. */
  readonly report?: { readonly columns: Columns; readonly from: string };
  /** The SQL of the times of a new record, if not that of the write. */
  readonly times?: { readonly created_at: string; readonly updated_at: string };
  /**
   * What it writes before all others, after the records, and last, by name. After the records,
   * `created_requests`, `created_LIST` have the rows of what is carried out, with the `_id` of the
   * record, of requests that of the first one.
   */
  readonly first?: Columns;
  readonly after?: Columns;
  /** Here, what is admitted may change. */
  readonly last?: Columns;
  /** Returns the changes that ask for parts, given all of them. Each part has the same. */
  readonly change?: (
    parts: readonly WritePart[],
  ) => WriteKind<JointChange, (Stored & Verdict) | undefined>;
  /** Returns the kind of writes that ask for this part, given that of others. */
  readonly around?: <Content extends Asking, Outcome>(
    kind: WriteKind<Content, Outcome>,
  ) => WriteKind<Content, Outcome | Verdict>;
  /** What it adds to these. Parts that have the same go together. */
  readonly inChanges?: PartOfChanges;
}

/** What parts add to changes of records. */
export interface PartOfChanges {
  /** Its named queries. They can use all lists but `sent`, and `admitted`. */
  readonly queries?: string;
  /** What it writes before the records, and last, by name. Then, `admitted` is not known. */
  readonly steps: Columns;
  readonly last?: Columns;
  /** The SQL condition on a record that has changed, after these steps. */
  readonly differs?: string;
  /** The area of what it changes in memory. */
  readonly area?: string;
}

/** A write with what it asks of parts. */
export interface Asking extends RowSet {
  readonly asked: AskedParts;
}

/** A change of a record with what it asks of parts. */
export type JointChange = Asking & Change;

/** Returns the kind of a write that asks for these parts, one of which may be around it. */
export function kindFor<Content extends Asking, Outcome>(
  parts: readonly WritePart[],
  kind: WriteKind<Content, Outcome>,
  asked: AskedParts,
): WriteKind<Content, Outcome | Verdict> {
  const isAround = ({ name, around }: WritePart) => around && name in asked;
  const around = asked === NOTHING ? undefined : parts.find(isAround)?.around;
  return around?.(kind) ?? (kind as WriteKind<Content, Outcome | Verdict>);
}

/** Returns what a request asks of parts; see {@link WritePart.read}. */
export function readAsked(parts: readonly WritePart[], input: RecordInput, newAt?: string) {
  const { body, call } = input;
  // A deletion has no body.
  const bodies = (call.format === 'lines' ? body : [body ?? NOTHING]) as readonly Members[];
  let all = NOTHING;
  for (const part of parts) {
    const asked = isAsked(part, input, bodies) ? part.read?.(input, bodies, newAt) : undefined;
    if (asked) all = { ...all, ...asked };
  }
  return all;
}

function isAsked(
  { askedBy = [] }: WritePart,
  { headers }: RecordInput,
  bodies: readonly Members[],
): boolean {
  for (const name of askedBy) {
    if (name in headers) return true;
    for (const body of bodies) if (name in body) return true;
  }
  return false;
}

/** Returns what a write claims, also for parts, and the size of their lists. */
export function demandsOf(asked: AskedParts, ...claims: Claim[]) {
  let moreSize = 0;
  for (const name in asked) {
    const { claims: others = [], lists } = asked[name] ?? {};
    claims.push(...others);
    for (const list in lists) moreSize += sizeOf(lists[list] ?? []);
  }
  return { claims, moreSize };
}

/** Returns the lists of parts, with the place of each write and that of each record among all. */
export function listsOf(parts: readonly WritePart[], writes: readonly Asking[]) {
  const all: Record<string, Values[]> = {};
  for (const { name, lists = {} } of parts)
    for (const list in lists) {
      const rows: Values[] = [];
      let first = 0;
      for (const [request, write] of writes.entries()) {
        for (const row of write.asked[name]?.lists?.[list] ?? [])
          rows.push([request, first + Number(row[0]), ...row]);
        first += write.rows.length;
      }
      all[list] = rows;
    }
  return all;
}

/** Returns the named queries of parts: their lists, and their own. */
export function queriesOf(parts: readonly WritePart[]): string[] {
  return parts.flatMap(({ lists = {}, queries = [] }) => [
    ...Object.entries(lists).map(([name, own]) =>
      namedRows(name, ['_request', '_place', '_record', ...own]),
    ),
    ...[queries].flat(),
  ]);
}

/** Returns the SQL of the reports of parts, by their names. */
export function reportsOf(parts: readonly WritePart[]): Columns {
  const reports = parts.flatMap(({ name, report }) => {
    if (!report) return [];
    const members = Object.entries(report.columns).map(([column, sql]) => `'${column}', ${sql}`);
    const rows = `json_group_array(json_object(${members.join(', ')}))`;
    // As a string, which json_object does not embed as JSON.
    return [[name, `(SELECT ${rows} ${report.from}) || ''`]];
  });
  return Object.fromEntries(reports);
}

/** Returns what combines the verdicts of parts on a write at a place, given their reports. */
export function judgeBy(reports: Row) {
  const byPart = new Map<string, Map<unknown, Row>>();
  const reportsBy = (name: string) => {
    const known = byPart.get(name);
    if (known) return known;
    const rows: readonly Row[] = JSON.parse(String(reports[name] ?? '[]'));
    const byRequest = new Map(rows.map((row) => [row.request, row]));
    byPart.set(name, byRequest);
    return byRequest;
  };
  return ({ asked }: { readonly asked: AskedParts }, request: number): Verdict => {
    let all: Verdict = {};
    for (const name in asked) {
      const verdict = asked[name]?.settle?.(reportsBy(name).get(request));
      if (verdict?.isFinal) return verdict;
      if (verdict && !all.refusal) all = verdict.refusal ? verdict : { ...all, ...verdict };
    }
    return all;
  };
}
