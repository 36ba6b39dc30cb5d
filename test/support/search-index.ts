// Compares a search index with the texts of the notes, word by word.
import assert from 'node:assert/strict';
import { INDEX_TIMES, SearchIndex } from '../../src/search/search-index.ts';
import { SEARCHABLE } from '../../src/search/steps.ts';
import { indexedText } from '../../src/search/words.ts';
import type { Database } from '../../src/storage/database.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { change, overhear, rows, withNumbers } from './databases.ts';
import type { Ends } from './engine.ts';
import type { Engine } from './engines.ts';
import { setLimits } from './overload.ts';
import { tableOf } from './tables.ts';

/** Changes the times of all indexes until the end of the test. */
export function setIndexTimes(test: Ends, times: Partial<typeof INDEX_TIMES>): void {
  setLimits(test, INDEX_TIMES, times);
}

const [resource = assert.fail()] = SEARCHABLE;

/** Starts an index of the notes on `database`, which is closed at the end of the test. */
export function startIndex(t: Ends, database: Database) {
  const index = new SearchIndex(resource, database);
  const write = createWriter(database, [index]);
  index.start(write);
  t.after(() => index.close());
  return { index, notes: tableOf(resource, database, write), close: () => index.close() };
}

/** An index with these times only works before searches, which wait for it. */
const ON_DEMAND = { delayMs: 60_000, maxWaitMs: 60_000 };

/** Opens a database whose index has these times. */
export async function openIndexed(
  t: Ends,
  engine: Engine,
  times: Partial<typeof INDEX_TIMES> = ON_DEMAND,
) {
  setIndexTimes(t, times);
  let close = async () => {};
  // It ends before the engine: the background would repeat calls to a stopped one for 10 s.
  t.after(() => close());
  const opened = await engine.open(t);
  const heard = Object.assign(overhear(opened), { plain: opened });
  const started = startIndex(t, heard.database);
  close = started.close;
  return { ...heard, heard, ...started };
}

/** Returns the statement that creates many notes with this SQL expression as their body. */
export const manyNotes = (count: number, body: string) => `
  ${withNumbers(count)}
  INSERT INTO notes (title, body) SELECT 'Note ' || n, ${body} FROM numbers`;

/** A body of 202,000 characters, in few words. */
export const LONG_BODY = `replace(hex(zeroblob(2000)), '00', '${'word'.repeat(25)} ')`;

/** Brings the index of the notes up to date, as a search does. */
export async function bringUpToDate(database: Database): Promise<void> {
  const index = new SearchIndex(resource, database);
  index.start(createWriter(database));
  try {
    await index.catchUp();
  } finally {
    await index.close();
  }
}

/** Asserts that the index contains the words of all notes, and no others. */
export async function assertIndexed(database: Database): Promise<void> {
  assert.deepEqual(await wordsInIndex(database), await wordsOfNotes(database));
}

/** Whether the index contains every change. */
export async function isIndexed(database: Database): Promise<boolean> {
  const [position] = await rows(
    database,
    `SELECT number = (SELECT seq FROM sqlite_sequence WHERE name = 'changes') AS is_last, id
     FROM note_words_position`,
  );
  return position?.is_last === 1 && position.id === null;
}

async function wordsInIndex(database: Database): Promise<string[]> {
  const vocabulary = 'CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab';
  await change(database, `${vocabulary}('note_words', 'instance')`);
  const found = await rows(database, 'SELECT doc, col, "offset", term FROM vocabulary');
  return found.map(({ doc, col, offset, term }) => `${doc} ${col} ${offset} ${term}`).sort();
}

async function wordsOfNotes(database: Database): Promise<string[]> {
  const found = await rows(database, 'SELECT id, title, body FROM notes');
  return found
    .flatMap(({ id, ...texts }) =>
      Object.entries(texts).flatMap(([column, text]) =>
        indexedText(String(text))
          .split(' ')
          .slice(0, -1)
          .map((word, index) => `${id} ${column} ${index} ${word}`),
      ),
    )
    .sort();
}
