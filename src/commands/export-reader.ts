// Reads an export page by page and validates each line.

import { skipSpace } from '../http/body/formats.ts';
import { keysOf, type Relation } from '../resources/resource.ts';
import { CHANGES } from '../storage/changes/numbers.ts';
import {
  isEnd,
  type LineValue,
  MAX_LINE_BYTES,
  type ReadHead,
  type RecordLine,
  readChange,
  readHead,
  readLine,
  readRecord,
} from './export-format.ts';
import { linesOf } from './lines.ts';
import type { RecordValues } from './records.ts';
import { PAGE } from './walk.ts';

/** Masks of up to 30 bits are stored without a heap object. */
const BITS = 30;

/** Consecutive rows of one relation. */
export interface RecordPage {
  readonly relation: Relation;
  /** The values of all columns. */
  readonly records: readonly RecordValues[];
  /** The number of the line that holds the first record. */
  readonly firstLine: number;
}

/** Reads one export. Errors in a line start with its number. */
export class ExportReader {
  readonly head: ReadHead;
  /** The bytes of the first line. */
  readonly headBytes: Buffer;
  readonly #lines: AsyncGenerator<readonly Buffer[]>;
  readonly #lastKeys = new Map<Relation, readonly unknown[]>();
  readonly #numbers = new NumberSet();
  /** Lines that were read together with the first one. */
  readonly #firstLines: readonly Buffer[];
  #lineNumber = 1;
  #recordCount = 0;
  #hasEnded = false;
  #lastNumber: number;
  #page: RecordLine[] = [];
  #pageBytes = 0;

  private constructor(
    lines: AsyncGenerator<readonly Buffer[]>,
    [first, ...others]: readonly Buffer[],
  ) {
    if (!first) throw new Error('it is empty');
    this.#lines = lines;
    this.#firstLines = others;
    this.headBytes = first;
    this.head = withLineNumber(1, () => readHead(readLine(first)));
    this.#lastNumber = this.head.lastIds[CHANGES] ?? 0;
  }

  /** Reads the first line. Rejects, and closes `input`, if the line is missing or malformed. */
  static async open(input: AsyncIterable<Buffer>): Promise<ExportReader> {
    const lines = linesOf(input, MAX_LINE_BYTES);
    const { value, done } = await lines.next();
    try {
      return new ExportReader(lines, done ? [] : value);
    } catch (error) {
      await lines.return(undefined);
      throw error;
    }
  }

  /** The largest number of a change so far. */
  get lastNumber(): number {
    return this.#lastNumber;
  }

  /** Yields the records; call it once. Rejects at the first malformed line or a premature end. */
  async *pages(): AsyncGenerator<RecordPage> {
    yield* this.#pagesIn(this.#firstLines);
    for await (const lines of this.#lines) yield* this.#pagesIn(lines);
    if (!this.#hasEnded)
      throw new Error(`the last line is missing: the export ends after line ${this.#lineNumber}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.return(undefined);
  }

  /** Yields the pages that these lines complete. */
  *#pagesIn(lines: readonly Buffer[]): Generator<RecordPage> {
    for (const line of lines) {
      this.#lineNumber += 1;
      const record = withLineNumber(this.#lineNumber, () => this.#parse(line));
      const isFull =
        this.#page.length >= PAGE.records || this.#pageBytes + line.length > PAGE.bytes;
      const [first] = this.#page;
      if (first && (isFull || record?.relation !== first.relation)) {
        const records = this.#page.map(({ values }) => values);
        yield { relation: first.relation, records, firstLine: this.#lineNumber - records.length };
        [this.#page, this.#pageBytes] = [[], 0];
      }
      if (record) this.#page.push(record);
      this.#pageBytes += line.length;
    }
  }

  /** Validates any line but the first; returns its record, or undefined if it has none. */
  #parse(line: Buffer): RecordLine | undefined {
    if (skipSpace(line, 0) === line.length) return undefined;
    if (this.#hasEnded) throw new Error('nothing may follow the last line of an export');
    const value = readLine(line);
    this.#hasEnded = isEnd(value, this.#recordCount, this.head);
    if (this.#hasEnded) return undefined;
    const record = readRecord(value);
    this.#checkOrder(record);
    this.#recordCount += 1;
    return 'ends' in record.relation ? record : this.#withChange(record, value);
  }

  #checkOrder({ relation, values }: RecordLine): void {
    const key = values.slice(0, keysOf(relation).length);
    const previous = this.#lastKeys.get(relation) ?? [];
    const differing = key.findIndex((id, index) => id !== previous[index]);
    if (Number(key[differing] ?? 0) <= Number(previous[differing] ?? 0))
      throw new Error(`ids must increase within each type, but ${key} follows ${previous}`);
    this.#lastKeys.set(relation, key);
  }

  /** Appends the number and the times. A record without a number gets the next one. */
  #withChange({ relation, values }: RecordLine, line: LineValue): RecordLine {
    const [number = this.#lastNumber + 1, ...times] = readChange(line, this.head);
    if (!this.#numbers.add(number)) throw new Error(`the number ${number} occurs twice`);
    this.#lastNumber = Math.max(this.#lastNumber, number);
    return { relation, values: [...values, number, ...times] };
  }
}

/** A set of whole numbers. Neighbours share an entry, so that a million of them need about 2 MB. */
class NumberSet {
  readonly #masks = new Map<number, number>();

  /** Adds a number; returns false if the set contains it already. */
  add(number: number): boolean {
    const key = Math.floor(number / BITS);
    const bit = 1 << (number % BITS);
    const mask = this.#masks.get(key) ?? 0;
    this.#masks.set(key, mask | bit);
    return (mask & bit) === 0;
  }
}

/** Returns the result of `read`; puts the line number before the message of its error. */
function withLineNumber<Result>(line: number, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new Error(`line ${line}: ${(error as Error).message}`, { cause: error });
  }
}
