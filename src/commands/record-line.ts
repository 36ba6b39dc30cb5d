// One line of exported data: from its bytes to its value, and on to a record that fits the contract.
import type { Collection } from '../collections/collection.ts';
import { recordCheck } from '../contract/record.ts';
import { LARGEST_IMPORTED_ID } from '../storage/id-pages.ts';
import type { RecordValues } from '../storage/records.ts';
import { storedColumns, type TableShape } from '../storage/shape.ts';
import { COLLECTIONS } from './collections.ts';
import { typeOf } from './line-format.ts';

/** What a line holds. */
export type LineValue = Readonly<Record<string, unknown>>;

/** A record, and where it belongs. */
export interface RecordLine {
  readonly type: string;
  readonly table: TableShape;
  readonly values: RecordValues;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const KINDS = new Map(COLLECTIONS.map((collection) => [typeOf(collection), kindOf(collection)]));

/** Returns what a line holds. Throws if that is no JSON object. */
export function readLine(line: Buffer): LineValue {
  const value = parsed(line);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('it is no JSON object');
  return value as LineValue;
}

/** Returns the record in the value of a line. Throws if it is none that the service could have stored. */
export function readRecord(value: LineValue): RecordLine {
  const kind = typeof value.type === 'string' ? KINDS.get(value.type) : undefined;
  if (!kind) throw new Error(`its type must be ${[...KINDS.keys()].join(', ')} or end`);
  return kind(value);
}

function kindOf(collection: Collection): (value: LineValue) => RecordLine {
  const { path, shape } = collection;
  const [type, check, stored] = [typeOf(collection), recordCheck(path), storedColumns(shape)];
  return (value) => {
    const id = idIn(value, 'id');
    const parent = shape.parent?.column;
    if (parent !== undefined) idIn(value, parent);
    const fault = check(value);
    if (fault !== undefined) throw new Error(fault);
    const values = stored.map((column) => (column === parent ? idIn(value, column) : String(value[column])));
    return { type, table: shape, values: [id, ...values] };
  };
}

function idIn(value: LineValue, name: string): number {
  const id = value[name];
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1 || id > LARGEST_IMPORTED_ID) {
    throw new Error(`${name} must be a whole number from 1 to ${LARGEST_IMPORTED_ID}`);
  }
  return id;
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(UTF_8.decode(line));
  } catch (cause) {
    // What the parser says quotes the line, which may be long.
    throw new Error('it is no JSON in UTF-8', { cause });
  }
}
