// The command that reads JSON lines, as `export` writes them, into a database.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Database, DatabaseUnusable } from '../storage/database.ts';
import { lastIdsOf, PAGE } from '../storage/id-pages.ts';
import { openTarget, type StorageOptions } from '../storage/open.ts';
import { compareWith, type Import, importInto } from '../storage/records.ts';
import { TABLES } from './collections.ts';
import { type Head, isEnd, LINE_LIMIT_BYTES, readHead, totalIn } from './line-format.ts';
import { linesOf } from './lines.ts';
import { createProgress, inDigits, type Screen } from './progress.ts';
import { type RecordLine, readLine, readRecord } from './record-line.ts';

/** The longer the pieces that a file is read in, the fewer trips. */
const CHUNK_BYTES = 262_144;

/** As many as a whole number of JavaScript takes. */
const NUMBER_BYTES = 6;

const NAMES = TABLES.map(({ name }) => name);

/**
 * Adds what `file`, or `input` without one, holds to what `to` names; resolves with a line that says what was added. Records
 * that are there already are left. Rejects with {@link DatabaseUnusable}, which names the line where something is wrong with
 * one; what was added until then stays, and the next call with all lines goes on from there. Into a database that holds
 * something nothing is added of a file with such a line, except for a record whose parent is missing.
 */
export async function importLines(
  file: string | undefined,
  input: AsyncIterable<Buffer>,
  to: StorageOptions,
  screen: Screen,
): Promise<string> {
  let target: Database | undefined;
  const opened = async () => {
    target ??= await openTarget(to, 'import');
    return target;
  };
  const read = () => (file === undefined ? input : createReadStream(file, { highWaterMark: CHUNK_BYTES }));
  try {
    // What comes through a pipe cannot be read twice.
    if (file !== undefined && (await stat(file)).isFile()) {
      const compare = async () => ((await isEmpty(await opened())) ? undefined : compareWith(await opened()));
      await addLines(read(), compare, createProgress(screen, 'compared'));
    }
    const add = async (lines: number) => importInto(await opened(), lines);
    const { records, added } = await addLines(read(), add, createProgress(screen, 'imported'));
    return `${to.db} holds the ${inDigits(records)} records of ${file ?? 'the input'}; ${inDigits(added)} were not there before`;
  } catch (error) {
    const from = file ?? 'the input';
    throw new DatabaseUnusable(`cannot import ${from}: ${(error as Error).message}`, { cause: error });
  } finally {
    await target?.close();
  }
}

async function isEmpty(target: Database): Promise<boolean> {
  return Object.keys(await lastIdsOf(target)).length === 0;
}

/**
 * Adds all lines to what `begin` resolves with, once the first has been read, whose number it is given; if that is nothing the
 * others are left unread.
 */
async function addLines(
  chunks: AsyncIterable<Buffer>,
  begin: (lines: number) => Promise<Import | undefined>,
  progress: (done: number, total: number) => void,
): Promise<{ records: number; added: number }> {
  const lastOf = new Map<string, number>();
  let begun: { readonly head: Head; readonly into: Import } | undefined;
  let isOver = false;
  let number = 0;
  let records = 0;
  let added = 0;
  let page: RecordLine[] = [];
  let pageBytes = 0;

  /** Takes a line after the first; returns the record in it, if it is one. */
  function take(line: Buffer, head: Head): RecordLine | undefined {
    if (isOver) throw new Error('it stands after the last one');
    const value = readLine(line);
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
    if (!first || !begun) return;
    const { head, into } = begun;
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
    progress(records, totalIn(head));
    [page, pageBytes] = [[], 0];
  }

  for await (const lines of linesOf(chunks, LINE_LIMIT_BYTES)) {
    for (const line of lines) {
      number += 1;
      if (!begun) {
        const head = atLine(number, () => readHead(readLine(line), NAMES));
        const into = await begin(numberOf(line));
        if (!into) return { records, added };
        begun = { head, into };
        progress(0, totalIn(head));
        continue;
      }
      const { head } = begun;
      const record = atLine(number, () => take(line, head));
      const isFull = page.length >= PAGE.records || pageBytes + line.length > PAGE.bytes;
      if (isFull || record?.type !== page[0]?.type) await addPage(number);
      if (record) page.push(record);
      pageBytes += line.length;
    }
  }
  if (!begun) throw new Error('there is nothing in it');
  if (!isOver) throw new Error(`the last line is missing: it was cut off after line ${number}`);
  await begun.into.finish(begun.head.lastIds);
  return { records, added };
}

/** A number by which an import is known again that is run once more. */
function numberOf(firstLine: Buffer): number {
  return createHash('sha256').update(firstLine).digest().readUIntBE(0, NUMBER_BYTES);
}

/** Does `work`, and says of what it throws in which line that was. */
function atLine<Result>(number: number, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new Error(`line ${number}: ${(error as Error).message}`, { cause: error });
  }
}
