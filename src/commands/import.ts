// The command that reads JSON lines, as `export` writes them, into a database.
import { createReadStream } from 'node:fs';
import { DatabaseUnusable } from '../storage/database.ts';
import { PAGE } from '../storage/id-pages.ts';
import { openTarget, type StorageOptions } from '../storage/open.ts';
import { type Import, importInto } from '../storage/records.ts';
import { TABLES } from './collections.ts';
import { type Head, isEnd, LINE_LIMIT_BYTES, readHead, totalIn } from './line-format.ts';
import { linesOf } from './lines.ts';
import { createProgress, inDigits, type Screen } from './progress.ts';
import { type RecordLine, readLine, readRecord } from './record-line.ts';

/** The longer the pieces that a file is read in, the fewer trips. */
const CHUNK_BYTES = 262_144;

const NAMES = TABLES.map(({ name }) => name);

/**
 * Adds what `file`, or `input` without one, holds to what `to` names; resolves with a line that says what was added. Records
 * that are there already are left. Rejects with {@link DatabaseUnusable}, which names the line where something is wrong with
 * one; what was added until then stays, and the next call with all lines goes on from there.
 */
export async function importLines(
  file: string | undefined,
  input: AsyncIterable<Buffer>,
  to: StorageOptions,
  screen: Screen,
): Promise<string> {
  const target = await openTarget(to, 'import');
  try {
    const chunks = file === undefined ? input : createReadStream(file, { highWaterMark: CHUNK_BYTES });
    const { records, added } = await addLines(chunks, importInto(target), screen);
    return `${to.db} holds the ${inDigits(records)} records of ${file ?? 'the input'}; ${inDigits(added)} were not there before`;
  } catch (error) {
    const from = file ?? 'the input';
    throw new DatabaseUnusable(`cannot import ${from}: ${(error as Error).message}`, { cause: error });
  } finally {
    await target.close();
  }
}

async function addLines(
  chunks: AsyncIterable<Buffer>,
  into: Import,
  screen: Screen,
): Promise<{ records: number; added: number }> {
  const progress = createProgress(screen, 'imported');
  const lastOf = new Map<string, number>();
  let head: Head | undefined;
  let isOver = false;
  let number = 0;
  let records = 0;
  let added = 0;
  let page: RecordLine[] = [];
  let pageBytes = 0;

  /** Takes a line; returns the record in it, if it is one. */
  function take(line: Buffer): RecordLine | undefined {
    if (isOver) throw new Error('it stands after the last one');
    const value = readLine(line);
    if (!head) {
      head = readHead(value, NAMES);
      progress(0, totalIn(head));
      return undefined;
    }
    isOver = isEnd(value, records, head);
    if (isOver) return undefined;
    const record = readRecord(value);
    const [id] = record.values;
    if (id <= (lastOf.get(record.type) ?? 0)) throw new Error(`the ids of each type must rise, and ${id} does not`);
    lastOf.set(record.type, id);
    records += 1;
    return record;
  }

  /** Adds the records of the page, which stand in the lines before `next`. */
  async function addPage(next: number): Promise<void> {
    const [first] = page;
    if (!first) return;
    const became = await into.add(
      first.table,
      page.map(({ values }) => values),
    );
    const lineOf = (id: number) => next - page.length + page.findIndex(({ values }) => values[0] === id);
    if ('taken' in became) {
      throw new Error(`line ${lineOf(became.taken)}: another ${first.type} has the id ${became.taken} already`);
    }
    if ('orphan' in became)
      throw new Error(`line ${lineOf(became.orphan)}: ${first.table.parent?.column} names nothing`);
    added += became.added;
    if (head) progress(records, totalIn(head));
    [page, pageBytes] = [[], 0];
  }

  for await (const lines of linesOf(chunks, LINE_LIMIT_BYTES)) {
    for (const line of lines) {
      number += 1;
      const record = atLine(number, () => take(line));
      const isFull = page.length >= PAGE.records || pageBytes + line.length > PAGE.bytes;
      if (isFull || record?.type !== page[0]?.type) await addPage(number);
      if (record) page.push(record);
      pageBytes += line.length;
    }
  }
  if (!head) throw new Error('there is nothing in it');
  if (!isOver) throw new Error(`the last line is missing: it was cut off after line ${number}`);
  await into.finish(head.lastIds);
  return { records, added };
}

/** Does `work`, and says of what it throws in which line that was. */
function atLine<Result>(number: number, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new Error(`line ${number}: ${(error as Error).message}`, { cause: error });
  }
}
