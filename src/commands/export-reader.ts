// Reads an export page by page and validates each line.
import type { Resource } from '../resources/resource.ts';
import {
  type Head,
  isEnd,
  MAX_LINE_BYTES,
  type RecordLine,
  readHead,
  readLine,
  readRecord,
} from './export-format.ts';
import { linesOf } from './lines.ts';
import type { RecordValues } from './records.ts';
import { PAGE } from './walk.ts';

/** Consecutive records of one resource. */
export interface RecordPage {
  readonly resource: Resource;
  readonly records: readonly RecordValues[];
  /** The number of the line that holds the first record. */
  readonly firstLine: number;
}

/** Reads one export. Errors in a line start with its number. */
export class ExportReader {
  readonly head: Head;
  /** The bytes of the first line. */
  readonly headBytes: Buffer;
  readonly #lines: AsyncGenerator<readonly Buffer[]>;
  readonly #lastIds = new Map<Resource, number>();
  /** Lines that were read together with the first one. */
  readonly #firstLines: readonly Buffer[];
  #lineNumber = 1;
  #recordCount = 0;
  #hasEnded = false;
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
      if (first && (isFull || record?.resource !== first.resource)) {
        const records = this.#page.map(({ values }) => values);
        yield { resource: first.resource, records, firstLine: this.#lineNumber - records.length };
        [this.#page, this.#pageBytes] = [[], 0];
      }
      if (record) this.#page.push(record);
      this.#pageBytes += line.length;
    }
  }

  /** Validates any line but the first; returns its record, or undefined for the last line. */
  #parse(line: Buffer): RecordLine | undefined {
    if (this.#hasEnded) throw new Error('nothing may follow the last line of an export');
    const value = readLine(line);
    this.#hasEnded = isEnd(value, this.#recordCount, this.head);
    if (this.#hasEnded) return undefined;
    const record = readRecord(value);
    const [id] = record.values;
    const previous = this.#lastIds.get(record.resource) ?? 0;
    if (id <= previous)
      throw new Error(`ids must increase within each type, but ${id} follows ${previous}`);
    this.#lastIds.set(record.resource, id);
    this.#recordCount += 1;
    return record;
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
