// The drawings of /docs: their texts say what the code does, and people who do not see them are
// told.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RELATIONS } from '../../../src/storage/schema/steps.ts';
import { startService } from '../../support/service.ts';
import { root, sourceAt } from '../../support/sources.ts';

const FOLDER = new URL('src/docs/drawings/', root);

const textOf = (name: string) => readFileSync(new URL(`${name}.dot`, FOLDER), 'utf8');

/** How the drawing shows what the service stores. */
const SHOWN: Readonly<Record<string, string>> = {
  Note: '  note -> ',
  Tag: 'tag [label=',
  Comment: 'comment [label=',
  'Note tag': 'tag [label="tag\\nany number, shared"]',
  'Note name': 'name [label="name\\nat most one"]',
  'Note version': 'version [label=',
  'Deleted note': 'with all that it has',
};

test('drawings: one shows what the service stores', () => {
  const text = textOf('records').replaceAll('\n// ', ' ');
  const labels = RELATIONS.map(({ label }) => label);
  for (const [label, shown] of Object.entries(SHOWN)) {
    assert.ok(labels.includes(label), label);
    assert.ok(text.includes(shown), label);
  }
});

test('drawings: the log of writes is that of SQLite, and reaches the disk', () => {
  assert.match(textOf('writes'), /write-ahead log\\nfsync/);
  const engine = ['connection', 'engine'].map(
    (name) => sourceAt(`storage/sqlite/${name}.ts`).lines,
  );
  const pragmas = engine.flat().join();
  for (const pragma of [/journal_mode = WAL/, /synchronous = FULL/]) assert.match(pragmas, pragma);
});

test('drawings: /docs has each, with a name and a description', async (t) => {
  const { request } = await startService(t);
  const { text } = await request('GET', '/docs');
  const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length, 'unique ids');
  const drawings = [...text.matchAll(/<svg.*?<\/svg>/gs)].map(([svg]) => svg);
  assert.equal(drawings.length, readdirSync(FOLDER).length);
  for (const svg of drawings) {
    const [, name = ''] = /role="img"\naria-labelledby="(\w+)-title \1-text"/.exec(svg) ?? [];
    const [, title = '', description = ''] =
      /<title .*>(.*)<\/title>\n<desc .*>([^<]*)/.exec(svg) ?? [];
    const comments = textOf(name).match(/(?<=^\/\/ ).*/gm);
    assert.deepEqual([title, ...description.split('\n')], comments);
    // Colours are those of the page, and fit on a phone.
    assert.doesNotMatch(svg, /style=|black|font-family/);
    assert.ok(Number(/width="(\d+)"/.exec(svg)?.[1]) <= 350, `${name} is too wide for a phone`);
  }
});
