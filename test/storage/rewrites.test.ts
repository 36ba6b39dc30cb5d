// Small requests that rewrite large notes: few of them share a transaction, a small write overtakes
// them, and none is carried out whose answer could not be kept.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { rewrite } from '../../src/edits/rewrites.ts';
import { ERASE_NOTE, onNote, RESTORE } from '../../src/history/writes.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Statement } from '../../src/storage/database.ts';
import { createWriter, type Write } from '../../src/storage/writer.ts';
import { createGate } from '../support/bare-server.ts';
import { change, overhear, withNumbers } from '../support/databases.ts';
import { ENGINES, type Engine } from '../support/engines.ts';
import { type TestTable, tableOf } from '../support/tables.ts';

const NOTES = 100;
const CHARACTERS = 100_000;
const SMALL = NOTES + 1;

interface Writers {
  readonly table: TestTable;
  readonly write: Write;
}

type Rewrite = (id: number, writers: Writers) => Promise<unknown>;

const appendTo =
  (text: string): Rewrite =>
  (id, { write }) =>
    rewrite(write, id, null, undefined, text);

const TAG_ALL = `${withNumbers(500)} INSERT INTO note_tags (note_id, tag_id)
  SELECT notes.id, n FROM numbers CROSS JOIN notes`;

/** Each with the most of them that share a transaction, and what precedes it. */
const REWRITES: Readonly<Record<string, readonly [most: number, Rewrite, before?: string]>> = {
  edits: [2, (id, { write }) => rewrite(write, id, null, undefined, 'new', `note ${id}!`)],
  'edits that find nothing': [2, (id, { write }) => rewrite(write, id, null, undefined, '', 'old')],
  appends: [2, appendTo('more')],
  'appends of nothing': [2, appendTo('')],
  patches: [21, (id, { table }) => table.change(id, { title: 'new' })],
  replacements: [21, (id, { table }) => table.replace(id, { title: 'a', body: 'b' })],
  'patches with tags': [10, (id, { table }) => table.changeTagged(id, {}, [[0, 'tag']])],
  deletions: [21, (id, { table }) => table.remove(id)],
  'deletions with many comments': [
    6,
    (id, { table }) => table.remove(id),
    `${withNumbers(500)} INSERT INTO comments (note_id, body)
     SELECT notes.id, 'c' FROM numbers CROSS JOIN notes`,
  ],
  'deletions with many tags': [6, (id, { table }) => table.remove(id), TAG_ALL],
  'patches of many tags': [4, (id, { table }) => table.changeTagged(id, {}, [[0, 'tag']]), TAG_ALL],
  restores: [21, (id, { write }) => write(RESTORE, onNote(id)), 'DELETE FROM notes'],
  erasures: [21, (id, { write }) => write(ERASE_NOTE, onNote(id)), 'DELETE FROM notes'],
};

async function open(t: TestContext, engine: Engine, count = NOTES, character = 'x') {
  const real = await engine.open(t);
  await change(
    real,
    `${withNumbers(count)} INSERT INTO notes (id, title, body, number)
     SELECT n, 'title', printf('%.*c', ${CHARACTERS}, '${character}') || ' note ' || n || '!', n
     FROM numbers`,
  );
  const heard = overhear(real);
  const write = createWriter(heard.database);
  return { real, heard, write, table: tableOf(notes, heard.database, write) };
}

/** Returns how many writes a transaction has; those of one parameter share their statements. */
function writesIn(statements: readonly Statement[]): number {
  const parameters = new Set(statements.map(({ parameter = '{"sent":[]}' }) => parameter));
  return [...parameters].reduce((sum, each) => sum + JSON.parse(each).sent.length, 0);
}

/** What is read of the notes is the same on each engine. */
const isTried = (engine: Engine, what: string) =>
  engine === ENGINES[0] || what === 'patches' || what === 'deletions with many comments';

for (const engine of ENGINES)
  for (const [what, [most, perform, before]] of Object.entries(REWRITES).filter(([what]) =>
    isTried(engine, what),
  ))
    test(`rewrites: a small write overtakes ${what} of large notes (${engine.name})`, async (t) => {
      const { real, heard, write, table } = await open(t, engine);
      if (before) await change(real, before);
      await change(real, `INSERT INTO notes (id, title, body) VALUES (${SMALL}, 'a', 'b')`);
      const gate = createGate();
      heard.beforeTransaction = () => gate.passed;
      const first = table.change(SMALL, { title: 'first' });
      const all = Array.from({ length: NOTES }, (_, index) => perform(index + 1, { table, write }));
      const small = table.change(SMALL, { title: 'small' }).then(() => heard.transactions.length);
      gate.open();
      await first;
      // The first transaction began before the others arrived.
      assert.ok((await small) <= 3);
      const outcomes = await Promise.all(all);
      assert.ok(outcomes.every(Boolean));
      const counts = heard.transactions.map(({ statements }) => writesIn(statements));
      assert.ok(Math.max(...counts) <= most + 2, counts.join());
    });

test('rewrites: few deletions of notes with many comments share a transaction', async (t) => {
  const { real, heard, table } = await open(t, ENGINES[0] ?? assert.fail(), 20);
  await change(
    real,
    `${withNumbers(1_000)} INSERT INTO comments (note_id, body)
     SELECT notes.id, 'c' FROM numbers CROSS JOIN notes`,
  );
  const all = Array.from({ length: 20 }, (_, index) => table.remove(index + 1));
  assert.ok((await Promise.all(all)).every(Boolean));
  const counts = heard.transactions.map(({ statements }) => writesIn(statements));
  assert.ok(Math.max(...counts) <= 4, counts.join());
});

test('rewrites: a small write overtakes edits of which each fills a batch', async (t) => {
  const { real, heard, write, table } = await open(t, ENGINES[0] ?? assert.fail(), 12, '\u{1f44b}');
  await change(real, `INSERT INTO notes (id, title, body) VALUES (${SMALL}, 'a', 'b')`);
  const gate = createGate();
  heard.beforeTransaction = () => gate.passed;
  const first = table.change(SMALL, { title: 'first' });
  const all = Array.from({ length: 12 }, (_, index) =>
    rewrite(write, index + 1, null, undefined, 'new', `note ${index + 1}!`),
  );
  const small = table.change(SMALL, { title: 'small' }).then(() => heard.transactions.length);
  gate.open();
  await first;
  assert.ok((await small) <= 3);
  await Promise.all(all);
});

test('rewrites: none is carried out whose answer finds no room, but small ones are', async (t) => {
  const { real, table } = await open(t, ENGINES[0] ?? assert.fail());
  await change(real, `INSERT INTO notes (id, title, body) VALUES (${SMALL}, 'a', 'b')`);
  const refusal = new Error('no room');
  const recipient = { refusalFor: (bytes: number) => (bytes < 16_384 ? undefined : refusal) };
  const patch = (id: number) => table.changeFor(recipient, id, { title: 'new' });
  const [large, small] = await Promise.all([
    Promise.allSettled([1, 2, 3].map(patch)),
    patch(SMALL),
  ]);
  for (const outcome of large) assert.equal('reason' in outcome && outcome.reason, refusal);
  assert.match(String(small?.text), /"title":"new"/);
  const titles = await real.read({ sql: "SELECT id FROM notes WHERE title = 'new'" });
  assert.deepEqual(titles, [{ id: SMALL }]);
  const creation = table.createFor(recipient, { title: 'a', body: 'b'.repeat(20_000) });
  await assert.rejects(creation, refusal);
});
