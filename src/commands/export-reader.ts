// Reads an export page by page and validates its lines, so that records can be stored as they are.
import { skipSpace } from '../http/body/formats.ts';
import {
  type Head,
  isEnd,
  type RecordLine,
  readChange,
  readHead,
  readLine,
  readRecord,
} from './export-format.ts';

const LINE_FEED = 0x0a;

/** The last line of a page may exceed it. */
const PAGE_BYTES = 1_048_576;

/** The longest note, with all its texts escaped, needs 1.2 MB. */
const MAX_LINE_BYTES = 2_097_152;

/** A record, and where it was read. */
export interface FoundRecord extends RecordLine {
  readonly lineNumber: number;
}

/** Reads one export. Errors in a line start with its number. Closes the input when disposed of. */
export class ExportReader {
  readonly #lines: AsyncGenerator<Buffer>;
  #lineNumber = 1;
  readonly #counts: Record<string, number> = {};
  #hasEnded = false;

  constructor(input: AsyncIterable<Buffer>) {
    this.#lines = linesOf(input);
  }

  /** Reads the first line; call it first. Rejects if the line is missing or malformed. */
  async readHead(): Promise<Head> {
    const { value: first, done } = await this.#lines.next();
    if (done) throw new Error('it is empty');
    return withLineNumber(1, first, (line) => readHead(readLine(line)));
  }

  /** Yields neighbouring records of a relation. Rejects at a malformed line or a premature end. */
  async *pages(head: Head) {
    let page: FoundRecord[] = [];
    let bytes = 0;
    for await (const line of this.#lines) {
      this.#lineNumber += 1;
      const record = withLineNumber(this.#lineNumber, line, (each) => this.#parse(each, head));
      if (bytes >= PAGE_BYTES || (record && record.relation !== page[0]?.relation)) {
        yield page;
        [page, bytes] = [[], 0];
      }
      if (record) page.push(record);
      bytes += line.length;
    }
    yield page;
    if (!this.#hasEnded)
      throw new Error(`the last line is missing: the export ends after line ${this.#lineNumber}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.return(undefined);
  }

  #parse(line: Buffer, head: Head): FoundRecord | undefined {
    if (skipSpace(line, 0) === line.length) return undefined;
    if (this.#hasEnded) throw new Error('nothing may follow the last line of an export');
    const value = readLine(line);
    this.#hasEnded = isEnd(value, this.#counts, head);
    if (this.#hasEnded) return undefined;
    const { relation, values } = readRecord(value);
    this.#counts[relation.table] = (this.#counts[relation.table] ?? 0) + 1;
    const change = 'path' in relation ? readChange(value, head) : [];
    return { relation, values: [...values, ...change], lineNumber: this.#lineNumber };
  }
}

/** Yields the lines of `chunks` without their line feeds. A line that is too long is the last. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = text.indexOf(LINE_FEED); end !== -1; end = text.indexOf(LINE_FEED, start)) {
      yield text.subarray(start, end);
      start = end + 1;
    }
    rest = text.subarray(start);
    if (rest.length > MAX_LINE_BYTES) break;
  }
  if (rest.length > 0) yield rest;
}

function withLineNumber<Result>(number: number, line: Buffer, read: (line: Buffer) => Result) {
  try {
    if (line.length > MAX_LINE_BYTES) throw new Error(`it has more than ${MAX_LINE_BYTES} bytes`);
    return read(line);
  } catch (error) {
    throw new Error(`line ${number}: ${(error as Error).message}`, { cause: error });
  }
}
