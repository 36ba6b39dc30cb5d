// A program for tests that kill it: writes notes, links and changes to the database of its argument
// and indexes them, and prints the ids of the notes that it has created.
import { randomUUID } from 'node:crypto';
import { notes as resource } from '../../src/resources/notes.ts';
import { renewGeneration } from '../../src/storage/changes/numbers.ts';
import { INDEX_TIMES, IndexBehind, SearchIndexes } from '../../src/storage/index/search-index.ts';
import { openPath } from './databases.ts';
import { TestTable } from './tables.ts';

Object.assign(INDEX_TIMES, { delayMs: 1, pauseFactor: 0, retryMs: 10 });

const database = await openPath(process.argv[2] ?? '');
const indexes = new SearchIndexes(database);
const notes = new TestTable(resource, database, indexes.write);
await database
  .transact(randomUUID(), [{ sql: `INSERT OR IGNORE INTO tags (id, name) VALUES (1, 'tag')` }])
  .catch(() => {});

const below = (end: number) => Math.floor(Math.random() * end);
const words = () => Array.from({ length: 1 + below(200) }, () => `w${below(500)}`).join(' ');

/** Creates notes, changes any of them, and deletes only those that it has not printed. */
async function writeOnce(): Promise<void> {
  const created = await notes.create(
    Array.from({ length: 2 + below(20) }, () => [words(), words()]),
  );
  const id = created?.id ?? 0;
  process.stdout.write(`${id}\n`);
  await Promise.all([
    notes.change(1 + below(id), [words(), null]),
    notes.remove(id + 1),
    database.transact(randomUUID(), [
      { sql: `INSERT OR REPLACE INTO note_tags (note_id, tag_id) VALUES (${id}, 1)` },
    ]),
  ]);
  // The index must be built again.
  if (below(100) === 0) await database.transact(randomUUID(), renewGeneration());
}

async function repeat(work: () => Promise<unknown>): Promise<never> {
  for (;;) await work();
}

const search = () =>
  indexes
    .of(resource)
    ?.catchUp()
    .catch((error) => {
      if (!(error instanceof IndexBehind)) throw error;
    });

await Promise.all([repeat(writeOnce), repeat(writeOnce), repeat(async () => search())]);
