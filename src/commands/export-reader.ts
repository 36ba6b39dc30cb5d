// Reads an export page by page and checks each line.
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

/** An export that is being read. Its errors name the line. */
export class ExportReader {
  readonly head: Head;
  /** The bytes of the first line. */
  readonly headBytes: Buffer;
  readonly #chunks: AsyncGenerator<readonly Buffer[]>;
  readonly #lastIds = new Map<Resource, number>();
  /** The lines after the first one in the first chunk. */
  readonly #firstLines: readonly Buffer[];
  #line = 1;
  #records = 0;
  #isOver = false;
  #page: RecordLine[] = [];
  #pageBytes = 0;

  private constructor(
    chunks: AsyncGenerator<readonly Buffer[]>,
    [first, ...others]: readonly Buffer[],
  ) {
    if (!first) throw new Error('it is empty');
    this.#chunks = chunks;
    this.#firstLines = others;
    this.headBytes = first;
    this.head = atLine(1, () => readHead(readLine(first)));
  }

  /** Reads the first line. Rejects, and ends `input`, if it is missing or malformed. */
  static async open(input: AsyncIterable<Buffer>): Promise<ExportReader> {
    const chunks = linesOf(input, MAX_LINE_BYTES);
    const { value, done } = await chunks.next();
    try {
      return new ExportReader(chunks, done ? [] : value);
    } catch (error) {
      await chunks.return(undefined);
      throw error;
    }
  }

  /** Reads the records; call it once. Rejects for the first line that is malformed or missing. */
  async *pages(): AsyncGenerator<RecordPage> {
    yield* this.#pagesIn(this.#firstLines);
    for await (const lines of this.#chunks) yield* this.#pagesIn(lines);
    if (!this.#isOver)
      throw new Error(`the last line is missing: the export ends after line ${this.#line}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return(undefined);
  }

  /** Yields the pages that these lines complete. */
  *#pagesIn(lines: readonly Buffer[]): Generator<RecordPage> {
    for (const line of lines) {
      this.#line += 1;
      const record = atLine(this.#line, () => this.#take(line));
      const isFull =
        this.#page.length >= PAGE.records || this.#pageBytes + line.length > PAGE.bytes;
      const [first] = this.#page;
      if (first && (isFull || record?.resource !== first.resource)) {
        const records = this.#page.map(({ values }) => values);
        yield { resource: first.resource, records, firstLine: this.#line - records.length };
        [this.#page, this.#pageBytes] = [[], 0];
      }
      if (record) this.#page.push(record);
      this.#pageBytes += line.length;
    }
  }

  /** Checks a line after the first; returns its record, or undefined for the last line. */
  #take(line: Buffer): RecordLine | undefined {
    if (this.#isOver) throw new Error('nothing may follow the last line of an export');
    const value = readLine(line);
    this.#isOver = isEnd(value, this.#records, this.head);
    if (this.#isOver) return undefined;
    const record = readRecord(value);
    const [id] = record.values;
    if (id <= (this.#lastIds.get(record.resource) ?? 0)) {
      throw new Error(`the ids of each type must rise, but ${id} does not`);
    }
    this.#lastIds.set(record.resource, id);
    this.#records += 1;
    return record;
  }
}

/** Returns the result of `read`, whose error gets the number of the line. */
function atLine<Result>(line: number, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new Error(`line ${line}: ${(error as Error).message}`, { cause: error });
  }
}
