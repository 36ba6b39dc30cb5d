// The grammar of an export: JSON lines. The first line states how many records follow and which ids
// were given last; the last line proves that the export is complete. Each other line is a record as
// the service returns it, with its type as an additional member.
import { recordCheck } from '../contract/record.ts';
import { type Resource, typeOf, valuesOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import type { RecordValues } from './records.ts';
import { type Counts, type LastIds, MAX_IMPORTED_ID, totalOf } from './walk.ts';

/** The content of the first line. */
export interface Head {
  readonly counts: Counts;
  readonly lastIds: LastIds;
}

/** The record in a line, and its resource. */
export interface RecordLine {
  readonly resource: Resource;
  readonly values: RecordValues;
}

/** A parsed line. */
export type LineValue = Readonly<Record<string, unknown>>;

/** The longest line that is read. The longest note, with all its texts escaped, needs 1.2 MB. */
export const MAX_LINE_BYTES = 2_097_152;

const VERSION = 1;
const HEAD = 'notes-server';
const END = 'end';

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const TABLES = RESOURCES.map(({ table }) => table);
const READERS = new Map(RESOURCES.map((each) => [typeOf(each), readerOf(each)]));

/** Returns the first line. */
export function headLine({ counts, lastIds }: Head): string {
  return `${JSON.stringify({ type: HEAD, version: VERSION, counts, last_ids: lastIds })}\n`;
}

/** Returns the last line. */
export function endLine(records: number): string {
  return `${JSON.stringify({ type: END, records })}\n`;
}

/** Parses a line. Throws if it is not a JSON object. */
export function readLine(line: Buffer): LineValue {
  const value = parse(line);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('it is not a JSON object');
  return value as LineValue;
}

/** Returns the content of the first line. Throws if it is malformed. */
export function readHead({ type, version, counts, last_ids: lastIds }: LineValue): Head {
  if (type !== HEAD) throw new Error('it is not an export of notes-server');
  if (version !== VERSION) {
    const found = typeof version === 'number' ? version : 'not a number';
    throw new Error(`its version is ${found}; this program reads version ${VERSION}`);
  }
  return { counts: numbersByTable('counts', counts), lastIds: numbersByTable('last_ids', lastIds) };
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

/** Returns the record in a line. Throws if the service could not have stored it. */
export function readRecord(value: LineValue): RecordLine {
  const read = typeof value.type === 'string' ? READERS.get(value.type) : undefined;
  if (!read) throw new Error(`its type must be ${[...READERS.keys()].join(', ')} or end`);
  return read(value);
}

/**
 * Returns a function that returns the record of `resource` in a line. It throws if an id is
 * malformed or `check` describes a fault; a missing member gets its default.
 */
export function readerOf(
  resource: Resource,
  check = recordCheck(resource.path),
): (value: LineValue) => RecordLine {
  return (value) => {
    const id = idIn(value, 'id');
    const ownerId = resource.owner ? [idIn(value, resource.owner.column)] : [];
    const fault = check(value);
    if (fault !== undefined) throw new Error(fault);
    return { resource, values: [id, ...ownerId, ...valuesOf(resource, value)] };
  };
}

function idIn(value: LineValue, name: string): number {
  const id = value[name];
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1 || id > MAX_IMPORTED_ID) {
    throw new Error(`${name} must be a whole number from 1 to ${MAX_IMPORTED_ID}`);
  }
  return id;
}

function numbersByTable(name: string, value: unknown): Record<string, number> {
  const isValid = ([table, each]: [string, unknown]) =>
    TABLES.includes(table) &&
    Number.isInteger(each) &&
    Number(each) >= 0 &&
    Number(each) <= MAX_IMPORTED_ID;
  if (typeof value !== 'object' || value === null || !Object.entries(value).every(isValid)) {
    const tables = TABLES.join(', ');
    throw new Error(`${name} must map ${tables} to whole numbers from 0 to ${MAX_IMPORTED_ID}`);
  }
  return { ...value };
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(UTF_8.decode(line));
  } catch (cause) {
    // The parser's message quotes the line, which may be long.
    throw new Error('it is not JSON in UTF-8', { cause });
  }
}
