// The grammar of an export: JSON lines. The first line states how many records follow and the last
// ids; the last line proves that the export is complete. Each other line is a link, or a record as
// the service returns it, with its type, the number of its last change, and its times.
import { recordCheck } from '../contract/record.ts';
import { parseJson } from '../http/body/json.ts';
import { type Relation, rowColumnsOf, typeOf, valuesOf } from '../resources/resource.ts';
import { RELATIONS, RESOURCES } from '../resources/resources.ts';
import { CHANGES } from '../storage/changes/numbers.ts';
import type { RecordValues } from './records.ts';
import { type Counts, type LastIds, MAX_IMPORTED_ID, totalOf } from './walk.ts';

/** The content of the first line. */
export interface Head {
  readonly counts: Counts;
  readonly lastIds: LastIds;
}

/** The content of a first line that was read. */
export interface ReadHead extends Head {
  /** Whether records have numbers and times. */
  readonly hasChanges: boolean;
}

/** The record or link in a line. */
export interface RecordLine {
  readonly relation: Relation;
  /** The values of its columns, without its number and its times. */
  readonly values: RecordValues;
}

/** The number of a record's last change, and when it was created and updated, in ms since 1970. */
export type ChangeValues = readonly [number | undefined, number | null, number | null];

/** A parsed line. */
export type LineValue = Readonly<Record<string, unknown>>;

/** The longest line that is read. The longest note, with all its texts escaped, needs 1.2 MB. */
export const MAX_LINE_BYTES = 2_097_152;

/** Version 1 has no links, numbers or times. */
const VERSION = 2;
const HEAD = 'notes-server';
const END = 'end';

/** The latest time that a record may have, which shows the format in messages. */
const MAX_TIME = '9999-12-31T23:59:59.999Z';

const TABLES = RELATIONS.map(({ table }) => table);
const SEQUENCES = [...RESOURCES.map(({ table }) => table), CHANGES];
const READERS = new Map(RELATIONS.map((each) => [typeOf(each), readerOf(each)]));

/** Returns the first line. */
export function headLine({ counts, lastIds }: Head): string {
  return `${JSON.stringify({ type: HEAD, version: VERSION, counts, last_ids: lastIds })}\n`;
}

/** Returns the last line. */
export function endLine(records: number): string {
  return `${JSON.stringify({ type: END, records })}\n`;
}

/** Parses a line as the body of a request. Throws if it is not a JSON object. */
export function readLine(line: Buffer): LineValue {
  const value = parseJson(line, 'it');
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('it is not a JSON object');
  return value as LineValue;
}

/** Returns the content of the first line. Throws if it is malformed. */
export function readHead({ type, version, counts, last_ids: lastIds }: LineValue): ReadHead {
  if (type !== HEAD) throw new Error('it is not an export of notes-server');
  if (version !== 1 && version !== VERSION) {
    const found = typeof version === 'number' ? version : 'not a number';
    throw new Error(`its version is ${found}; this program reads the versions 1 and ${VERSION}`);
  }
  return {
    hasChanges: version !== 1,
    counts: numbersByName('counts', counts, TABLES),
    lastIds: numbersByName('last_ids', lastIds, SEQUENCES),
  };
}

/** Whether the line is the last one. Throws if it or the first line contradicts `records`. */
export function isEnd(value: LineValue, records: number, head: Head): boolean {
  if (value.type !== END) return false;
  const total = totalOf(head.counts);
  if (value.records !== records || total !== records) {
    const stated = typeof value.records === 'number' ? value.records : 'no number';
    throw new Error(
      `the first line states ${total} records, the last line ${stated}, but there are ${records}`,
    );
  }
  return true;
}

/** Returns the record or link in a line. Throws if the service could not have stored it. */
export function readRecord(value: LineValue): RecordLine {
  const read = typeof value.type === 'string' ? READERS.get(value.type) : undefined;
  if (!read) throw new Error(`its type must be ${[...READERS.keys()].join(', ')} or end`);
  return read(value);
}

/**
 * Returns a function that returns the record or link in a line. It throws if an id is malformed or
 * `check` describes a fault; a missing member gets its default.
 */
export function readerOf(
  relation: Relation,
  check = 'ends' in relation ? () => undefined : recordCheck(relation.path),
): (value: LineValue) => RecordLine {
  const ids = rowColumnsOf(relation).filter((column) => !(column in relation.fields));
  return (value) => {
    const [id = 0, ...others] = ids.map((name) => idIn(value, name));
    const fault = check(value);
    if (fault !== undefined) throw new Error(fault);
    return { relation, values: [id, ...others, ...valuesOf(relation, value)] };
  };
}

/** Returns what a line says about the changes of its record. Throws if `head` contradicts it. */
export function readChange(
  { number, created_at: createdAt, updated_at: updatedAt }: LineValue,
  { hasChanges, lastIds }: ReadHead,
): ChangeValues {
  if (!hasChanges) return [undefined, null, null];
  const last = lastIds[CHANGES] ?? 0;
  if (number !== undefined && !isWholeNumber(number, 1, last))
    throw new Error(`number must be a whole number from 1 to ${last}, as the first line states`);
  return [number, timeIn('created_at', createdAt), timeIn('updated_at', updatedAt)];
}

function timeIn(name: string, value: unknown): number | null {
  if (value === undefined || value === null) return null;
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms) || value !== new Date(ms).toISOString() || value.length > MAX_TIME.length)
    throw new Error(`${name} must be null or a time like ${MAX_TIME}`);
  return ms;
}

function isWholeNumber(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}

function idIn(value: LineValue, name: string): number {
  const id = value[name];
  if (!isWholeNumber(id, 1, MAX_IMPORTED_ID))
    throw new Error(`${name} must be a whole number from 1 to ${MAX_IMPORTED_ID}`);
  return id;
}

function numbersByName(
  member: string,
  value: unknown,
  names: readonly string[],
): Record<string, number> {
  const isValid = ([name, each]: [string, unknown]) =>
    names.includes(name) && isWholeNumber(each, 0, MAX_IMPORTED_ID);
  if (typeof value !== 'object' || value === null || !Object.entries(value).every(isValid)) {
    const all = names.join(', ');
    throw new Error(`${member} must map ${all} to whole numbers from 0 to ${MAX_IMPORTED_ID}`);
  }
  return { ...value };
}
