// Reads an export page by page and validates its lines, so that records can be stored as they are.
import { skipSpace } from '../http/body/formats.ts';
import { keysOf, type Relation, referencesOf, typeOf } from '../resources/resource.ts';
import { RELATIONS } from '../resources/resources.ts';
import { CHANGES } from '../storage/numbers.ts';
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

const BATCH_BYTES = 1_048_576;

/** The longest note, with all its texts escaped, needs 1.2 MB. */
const MAX_LINE_BYTES = 2_097_152;

/** Masks of up to 30 bits are stored without a heap object. */
const BITS = 30;

interface RecordPage {
  readonly relation: Relation;
  readonly rows: readonly (readonly unknown[])[];
}

/** Reads one export. Errors in a line start with its number. Closes the input when disposed of. */
export class ExportReader {
  readonly #lines: AsyncGenerator<Buffer>;
  readonly #lastKeys = new Map<Relation, readonly number[]>();
  /** The ids of each table, and the numbers of all records. */
  readonly #found = new Map<string, NumberSet>();
  #lineNumber = 1;
  /** How many records of each table have been read. */
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

  /** Yields the records; call it once. Rejects at the first malformed line or a premature end. */
  async *pages(head: Head): AsyncGenerator<RecordPage> {
    let batch: RecordLine[] = [];
    let bytes = 0;
    for await (const line of this.#lines) {
      this.#lineNumber += 1;
      const record = withLineNumber(this.#lineNumber, line, (each) => this.#parse(each, head));
      if (record) batch.push(record);
      bytes += line.length;
      if (bytes < BATCH_BYTES) continue;
      yield* pagesIn(batch);
      [batch, bytes] = [[], 0];
    }
    yield* pagesIn(batch);
    if (!this.#hasEnded)
      throw new Error(`the last line is missing: the export ends after line ${this.#lineNumber}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.return(undefined);
  }

  #parse(line: Buffer, head: Head): RecordLine | undefined {
    if (skipSpace(line, 0) === line.length) return undefined;
    if (this.#hasEnded) throw new Error('nothing may follow the last line of an export');
    const value = readLine(line);
    this.#hasEnded = isEnd(value, this.#counts, head);
    if (this.#hasEnded) return undefined;
    const record = readRecord(value);
    this.#checkIds(record);
    const { relation, values } = record;
    this.#counts[relation.table] = (this.#counts[relation.table] ?? 0) + 1;
    if ('references' in relation) return record;
    const change = readChange(value, head);
    if (!this.#foundIn(CHANGES).add(change[0]))
      throw new Error(`the number ${change[0]} occurs twice`);
    return { ...record, values: [...values, ...change] };
  }

  /** Throws unless the ids follow the previous ones, and the records that they refer to exist. */
  #checkIds({ relation, ids }: RecordLine): void {
    const references = referencesOf(relation);
    for (const [index, { resource, column }] of references.entries()) {
      if (!this.#foundIn(resource.table).has(Number(ids.at(index - references.length))))
        throw new Error(`${column} refers to a ${typeOf(resource)} that does not exist`);
    }
    const key = ids.slice(0, keysOf(relation).length);
    const previous = this.#lastKeys.get(relation) ?? [];
    const differing = key.findIndex((id, index) => id !== previous[index]);
    // Without a difference, NaN is not greater.
    if (!(Number(key[differing]) > Number(previous[differing] ?? -Infinity)))
      throw new Error(`ids must increase within each type, but ${key} follows ${previous}`);
    this.#lastKeys.set(relation, key);
    if (!('references' in relation)) this.#foundIn(relation.table).add(Number(key[0]));
  }

  #foundIn(table: string): NumberSet {
    const found = this.#found.get(table) ?? new NumberSet();
    this.#found.set(table, found);
    return found;
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

/** Yields the records by relation, parents before children. */
function* pagesIn(batch: readonly RecordLine[]): Generator<RecordPage> {
  for (const relation of RELATIONS) {
    const records = batch.filter((record) => record.relation === relation);
    if (records.length > 0) yield { relation, rows: records.map(({ values }) => values) };
  }
}

/** A set of whole numbers. Neighbours share an entry, so that a million of them need about 2 MB. */
class NumberSet {
  readonly #masks = new Map<number, number>();

  has(number: number): boolean {
    return ((this.#masks.get(Math.floor(number / BITS)) ?? 0) & (1 << (number % BITS))) !== 0;
  }

  /** Adds a number; returns false if the set contains it already. */
  add(number: number): boolean {
    if (this.has(number)) return false;
    const key = Math.floor(number / BITS);
    this.#masks.set(key, (this.#masks.get(key) ?? 0) | (1 << (number % BITS)));
    return true;
  }
}

function withLineNumber<Result>(number: number, line: Buffer, read: (line: Buffer) => Result) {
  try {
    if (line.length > MAX_LINE_BYTES) throw new Error(`it has more than ${MAX_LINE_BYTES} bytes`);
    return read(line);
  } catch (error) {
    throw new Error(`line ${number}: ${(error as Error).message}`, { cause: error });
  }
}
