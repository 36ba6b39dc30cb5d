// The grammar of an export: JSON lines. The first line states how many records follow and the last
// ids; the last line proves that the export is complete. Each other line is a tag on a note, or a
// record as the service returns it, with its type, the number of its last change, and its times.
import { MAX_NAME_LENGTH, operations } from '../contract/generated.js';
import { describeViolations, findViolations } from '../contract/violations.ts';
import { parseJson } from '../http/body/json.ts';
import { columnAfter } from '../http/body/json-fault.ts';
import { faultInName } from '../name.ts';
import { type NumbersByTable, SEQUENCES } from '../pages.ts';
import { comments } from '../resources/comments.ts';
import { columnsOf, type Relation, typeOf } from '../resources/relation.ts';
import { valuesOf } from '../resources/resource.ts';
import { CHANGES } from '../storage/numbers.ts';
import { RELATIONS } from '../storage/schema/steps.ts';

/** The content of the first line. */
export interface Head {
  readonly counts: NumbersByTable;
  readonly lastIds: NumbersByTable;
}

/** What a line holds. */
export interface RecordLine {
  readonly relation: Relation;
  /** The values of its columns; those of a record without its number and its times. */
  readonly values: readonly unknown[];
}

type LineValue = Readonly<Record<string, unknown>>;

/**
 * Version 2 had no names, and version 3 neither earlier texts nor a trash. In version 4, the
 * comments on notes in the trash had a table of their own.
 */
const OLDEST_VERSION = 2;
const VERSION = 5;
const HEAD = 'notes-server';
const END = 'end';

/** Limits imported ids: 2^52 - 1 ids that JSON represents exactly remain for new records. */
const MAX_IMPORTED_ID = 2 ** 52;

const MAX_TIME = '9999-12-31T23:59:59.999Z';

const TABLES = RELATIONS.map(({ table }) => table);
const READERS = new Map<unknown, ReturnType<typeof readerOf>>([
  ...RELATIONS.map((each) => [typeOf(each), readerOf(each)] as const),
  ['deleted_comment', readerOf(comments)],
]);

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
  const value = parseJson(line, 'it', columnAfter);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('it is not a JSON object');
  return value as LineValue;
}

/** Returns the content of the first line. Throws if it is malformed. */
export function readHead({ type, version, counts, last_ids: lastIds }: LineValue): Head {
  if (type !== HEAD) throw new Error('it is not an export of notes-server');
  if (!isWholeNumber(version, OLDEST_VERSION, VERSION))
    throw new Error(`this program reads versions ${OLDEST_VERSION} to ${VERSION}`);
  const { deleted_comments: deleted = 0, ...others } = numbersByName('counts', counts, [
    ...[...TABLES, 'deleted_comments'],
  ]);
  return {
    counts: { ...others, comments: (others.comments ?? 0) + deleted },
    lastIds: numbersByName('last_ids', lastIds, SEQUENCES),
  };
}

/** Whether the line is the last one. Throws if the first line contradicts `found`. */
export function isEnd({ type }: LineValue, found: NumbersByTable, { counts }: Head): boolean {
  if (type !== END) return false;
  for (const table of TABLES) {
    const stated = counts[table] ?? 0;
    const count = found[table] ?? 0;
    if (count !== stated)
      throw new Error(`the first line states ${stated} in ${table}, but there are ${count}`);
  }
  return true;
}

/** Returns what a line holds. Throws if the service could not have stored it. */
export function readRecord(value: LineValue): RecordLine {
  const read = READERS.get(value.type);
  if (!read) throw new Error(`its type must be ${RELATIONS.map(typeOf).join(', ')} or end`);
  return read(value);
}

/** Returns a function that reads a line, and throws if an id or what `check` sees is wrong. */
export function readerOf(relation: Relation, check = checkOf(relation)) {
  const names = columnsOf(relation).filter((column) => !(column in relation.fields));
  const kinds = 'columns' in relation ? relation.columns : {};
  return (value: LineValue): RecordLine => {
    const others = names.map((name) => READ_COLUMN[kinds[name] ?? 'id'](value, name));
    // What is no field has one form in an export, in which it was read.
    const fault = check({ ...value, created_at: null, updated_at: null, tag_ids: undefined });
    if (fault !== undefined) throw new Error(fault);
    return { relation, values: [...others, ...valuesOf(relation, value)] };
  };
}

const READ_COLUMN = {
  id: (line: LineValue, name: string) => numberIn(line, name, -MAX_IMPORTED_ID, MAX_IMPORTED_ID),
  position: (line: LineValue, name: string) => numberIn(line, name, 1, MAX_IMPORTED_ID),
  ids(line: LineValue, name: string): string {
    const ids = line[name];
    const isId = (id: unknown) => isWholeNumber(id, -MAX_IMPORTED_ID, MAX_IMPORTED_ID);
    if (Array.isArray(ids) && ids.every(isId)) return JSON.stringify(ids);
    throw new Error(`${name} must be an array of whole numbers`);
  },
  name({ name }: LineValue): unknown {
    if (name === null) return name;
    if (typeof name !== 'string') throw new Error('name must be null or a string');
    const [, fault] = faultInName(name, MAX_NAME_LENGTH) ?? [];
    if (fault) throw new Error(`name ${fault}`);
    if (name !== name.normalize()) throw new Error('name must be in NFC');
    return name;
  },
  time: timeIn,
};

function checkOf(relation: Relation): (line: LineValue) => string | undefined {
  if ('columns' in relation) return recordCheck(relation.of.path);
  if ('path' in relation) return recordCheck(relation.path);
  return (line) => {
    if ('name' in relation.fields) READ_COLUMN.name(line);
    return undefined;
  };
}

/** Returns a function that describes how a value violates the body of a POST to `template`. */
export function recordCheck(template: string): (value: unknown) => string | undefined {
  const create = operations.find((each) => each.method === 'POST' && each.template === template);
  const body = create?.body;
  if (!body) throw new Error(`the contract has no records at ${template}`);
  return (value) =>
    body.validate(value) ? undefined : describeViolations(findViolations(body, value));
}

/** Returns a record's number and its times in ms since 1970. Throws if `head` contradicts it. */
export function readChange(value: LineValue, { lastIds }: Head): readonly (number | null)[] {
  const number = numberIn(value, 'number', 1, lastIds[CHANGES] ?? 0, ', as the first line states');
  return [number, timeIn(value, 'created_at'), timeIn(value, 'updated_at')];
}

function timeIn(line: LineValue, name: string): number | null {
  const value = line[name] ?? null;
  if (value === null) return null;
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms) || value !== new Date(ms).toISOString() || value.length > MAX_TIME.length)
    throw new Error(`${name} must be null or a time like ${MAX_TIME}`);
  return ms;
}

function numberIn(line: LineValue, name: string, least: number, most: number, source = ''): number {
  const value = line[name];
  if (isWholeNumber(value, least, most)) return value;
  throw new Error(`${name} must be a whole number from ${least} to ${most}${source}`);
}

function isWholeNumber(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}

function numbersByName(member: string, value: unknown, names: readonly string[]): NumbersByTable {
  const isValid = ([name, each]: [string, unknown]) =>
    names.includes(name) && isWholeNumber(each, 0, MAX_IMPORTED_ID);
  if (typeof value !== 'object' || value === null || !Object.entries(value).every(isValid)) {
    const all = names.join(', ');
    throw new Error(`${member} must map ${all} to whole numbers from 0 to ${MAX_IMPORTED_ID}`);
  }
  return { ...value };
}
