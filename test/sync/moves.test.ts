// Files and notes that are renamed, on one side while the other changes, and in circles.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { after, test } from 'node:test';
import { assertInStep, shareService } from '../support/synced-folder.ts';

const start = await shareService({ after });

test('sync: a file that moves is a note that is renamed, and the other way round', async (t) => {
  const synced = start(t);
  for (const path of ['a/one.md', 'a/two.md']) synced.write(path, path);
  await synced.sync();
  const { id } = await synced.note('a/one.md');
  await synced.patch('a/one.md', { tags: ['kept'] });
  renameSync(synced.at('a'), synced.at('b'));
  const { lines } = await synced.sync();
  assert.deepEqual([...lines].sort().slice(1), [
    'move a/one.md -> b/one.md',
    'move a/two.md -> b/two.md',
  ]);
  const note = { id, title: 'one', body: 'a/one.md', tags: ['kept'] };
  assert.deepEqual(await synced.note('b/one.md'), note);
  await synced.rename('b/two.md', 'c/three.md');
  assert.equal((await synced.sync()).lines[0], 'move b/two.md -> c/three.md');
  await assertInStep(synced, { 'b/one.md': 'a/one.md', 'c/three.md': 'a/two.md' });
});

test('sync: what moves on one side and changes on the other does both', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  renameSync(synced.at('a.md'), synced.at('a2.md'));
  await synced.put('a.md', 'changed there');
  await synced.rename('b.md', 'b2.md');
  synced.write('b.md', 'changed here');
  await synced.patch('c.md', { name: `${synced.prefix}c2.md`, body: 'both' });
  await synced.sync();
  await assertInStep(synced, {
    'a2.md': 'changed there',
    'b2.md': 'changed here',
    'c2.md': 'both',
  });
});

test('sync: texts that swap their paths on either side', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.md']) synced.write(path, path);
  await synced.sync();
  renameSync(synced.at('a.md'), synced.at('x'));
  renameSync(synced.at('b.md'), synced.at('a.md'));
  renameSync(synced.at('x'), synced.at('b.md'));
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'b.md', 'b.md': 'a.md' });
  await synced.rename('a.md', 'x.md');
  await synced.rename('b.md', 'a.md');
  await synced.rename('x.md', 'b.md');
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'a.md', 'b.md': 'b.md' });
});

test('sync: of files with the same text, each that moves keeps its note', async (t) => {
  const synced = start(t);
  const paths = ['a.md', 'b.md', 'c.md', 'e/index.md', 'f/index.md'];
  for (const path of [...paths, 'gone.md']) synced.write(path, 'same');
  await synced.sync();
  const idsOf = (folder: string) =>
    Promise.all(paths.map(async (path) => (await synced.note(`${folder}${path}`)).id));
  const ids = await idsOf('');
  synced.remove('gone.md');
  for (const path of paths) {
    synced.write(`new/${path}`, 'same');
    synced.remove(path);
  }
  const { lines } = await synced.sync();
  const moves = paths.map((path) => `move ${path} -> new/${path}`);
  assert.deepEqual(lines.slice(0, -1).sort(), ['delete there gone.md', ...moves]);
  assert.deepEqual(await idsOf('new/'), ids);
});
