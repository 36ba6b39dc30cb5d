// How exported data look: JSON lines. The first says what they are, how many records follow and which ids were given last; the
// last says that all are there. Between them each line is a record as the service answers it, with its type.
import type { Collection } from '../collections/collection.ts';
import { type Counts, LARGEST_IMPORTED_ID, type LastIds } from '../storage/id-pages.ts';

/** What the first line says. */
export interface Head {
  readonly counts: Readonly<Record<string, number>>;
  readonly lastIds: LastIds;
}

const VERSION = 1;
const HEAD = 'notes-server';
const END = 'end';

/** The largest line that is read: a note of the longest texts, each code point in two escapes, needs 1.2 MB. */
export const LINE_LIMIT_BYTES = 2_097_152;

/** Returns what the line of one of its records says that it is. */
export function typeOf({ label }: Collection): string {
  return label.toLowerCase();
}

/** Returns the first line. */
export function headLine({ counts, lastIds }: { readonly counts: Counts; readonly lastIds: LastIds }): string {
  const counted = Object.fromEntries(counts.map(({ name, count }) => [name, count]));
  return `${JSON.stringify({ type: HEAD, version: VERSION, counts: counted, last_ids: lastIds })}\n`;
}

/** Returns the last line. */
export function endLine(records: number): string {
  return `${JSON.stringify({ type: END, records })}\n`;
}

/** Returns what the first line says, given its value. Throws if it is none. */
export function readHead(value: Readonly<Record<string, unknown>>, tables: readonly string[]): Head {
  const { type, version, counts, last_ids: lastIds } = value;
  if (type !== HEAD) throw new Error('it is no export of notes-server');
  if (version !== VERSION) {
    const told = typeof version === 'number' ? `version ${version}` : 'no version that is a number';
    throw new Error(`it has ${told}; this program knows ${VERSION}`);
  }
  return { counts: numbersIn('counts', counts, tables), lastIds: numbersIn('last_ids', lastIds, tables) };
}

/** Returns how many records there are by what the first line says. */
export function totalIn({ counts }: Head): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Whether the value is that of a last line. Throws if it is, and not just as many `records` stand before it as it should be. */
export function isEnd(value: Readonly<Record<string, unknown>>, records: number, head: Head): boolean {
  if (value.type !== END) return false;
  if (value.records !== records || totalIn(head) !== records) {
    const told = `the first line says ${totalIn(head)} records, the last ${typeof value.records === 'number' ? value.records : 'no number'}`;
    throw new Error(`${told}, and there are ${records}`);
  }
  return true;
}

/** The numbers by the name of the table, 0 where there is none. */
function numbersIn(name: string, value: unknown, tables: readonly string[]): Record<string, number> {
  const entries = Object.entries(typeof value === 'object' && value !== null ? value : { '': undefined });
  const isRight = entries.every(
    ([table, number]) =>
      tables.includes(table) && Number.isInteger(number) && number >= 0 && number <= LARGEST_IMPORTED_ID,
  );
  if (!isRight)
    throw new Error(`${name} must be whole numbers from 0 to ${LARGEST_IMPORTED_ID} by ${tables.join(', ')}`);
  return Object.fromEntries(entries);
}
