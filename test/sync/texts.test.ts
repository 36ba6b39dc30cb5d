// Texts that are new or changed on one side or both, against a real service.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statSync, symlinkSync } from 'node:fs';
import { after, test } from 'node:test';
import { assertInStep, folderOf, shareService } from '../support/synced-folder.ts';

const start = await shareService({ after });

test('sync: files become notes, and notes become files', async (t) => {
  const synced = start(t);
  synced.write('a.md', '# Milk\nOat');
  synced.write('Projekte/Küche.md', 'Tiles');
  await synced.put('Projekte/Bad.md', 'Tub');
  const { lines, warnings, status } = await synced.sync();
  assert.deepEqual([...lines].sort(), [
    'In step: 3 files (2 created, 1 got)',
    'create Projekte/Küche.md',
    'create a.md',
    'get Projekte/Bad.md',
  ]);
  assert.deepEqual({ warnings, status }, { warnings: '', status: 0 });
  await assertInStep(synced, {
    'Projekte/Bad.md': 'Tub',
    'Projekte/Küche.md': 'Tiles',
    'a.md': '# Milk\nOat',
  });
  assert.equal((await synced.note('a.md')).title, 'Milk');
  assert.equal((await synced.note('Projekte/Küche.md')).title, 'Küche');
});

test('sync: changes go both ways', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  synced.write('b.md', 'b');
  await synced.sync();
  synced.write('a.md', 'a2');
  await synced.put('b.md', 'b2');
  const { lines } = await synced.sync();
  const expected = ['In step: 2 files (1 sent, 1 got)', 'get b.md', 'send a.md'];
  assert.deepEqual([...lines].sort(), expected);
  await assertInStep(synced, { 'a.md': 'a2', 'b.md': 'b2' });
});

test('sync: deletions go both ways', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'deep/er/b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  synced.remove('a.md');
  await synced.erase('deep/er/b.md');
  const { lines } = await synced.sync();
  assert.deepEqual(lines.slice(0, 2).sort(), ['delete here deep/er/b.md', 'delete there a.md']);
  await assertInStep(synced, { 'c.md': 'c.md' });
  assert.throws(() => statSync(synced.at('deep')), /ENOENT/);
});

test('sync: a change beats a deletion', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.md']) synced.write(path, path);
  await synced.sync();
  synced.remove('a.md');
  await synced.put('a.md', 'a2');
  await synced.erase('b.md');
  synced.write('b.md', 'b2');
  const { lines } = await synced.sync();
  assert.deepEqual([...lines].sort().slice(1), ['create b.md', 'get a.md']);
  await assertInStep(synced, { 'a.md': 'a2', 'b.md': 'b2' });
});

test('sync: of two new texts, that of the service has the name, the other is a copy', async (t) => {
  const synced = start(t);
  synced.write('deep/a b.md', 'both');
  await synced.sync();
  synced.write('deep/a b.md', 'here');
  await synced.put('deep/a b.md', 'there');
  const { lines, status } = await synced.sync();
  assert.match(
    lines[0] ?? '',
    /^conflict deep\/a b\.md -> deep\/a b \(conflict \d{4}-\d\d-\d\d \w{6}\)\.md$/,
  );
  assert.equal(status, 0);
  const copy = lines[0]?.split(' -> ')[1] ?? '';
  await assertInStep(synced, { [copy]: 'here', 'deep/a b.md': 'there' });
  // A conflict of the copy.
  synced.write(copy, 'here2');
  await synced.put(copy, 'there2');
  const [again = ''] = (await synced.sync()).lines;
  const second = again.split(' -> ')[1] ?? '';
  assert.match(second, /^deep\/a b \(conflict [^(]*\)\.md$/);
  await assertInStep(synced, { [second]: 'here2', [copy]: 'there2', 'deep/a b.md': 'there' });
});

test('sync: a text that has a copy gets no second one', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'here');
  synced.write('a (conflict, mine).md', 'other');
  synced.write('a (conflict 2026-01-01 abc).md', 'here');
  await synced.put('a.md', 'there');
  const { lines } = await synced.sync();
  assert.ok(lines.includes('conflict a.md -> a (conflict 2026-01-01 abc).md'), lines.join('\n'));
  assert.deepEqual(Object.keys(synced.files()).length, 3);
  assert.equal((await synced.sync()).lines.length, 0);
});

test('sync: equal texts are adopted', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.put('a.md', 'a');
  assert.deepEqual((await synced.sync()).lines, []);
  synced.write('a.md', 'a2');
  await synced.put('a.md', 'a2');
  assert.deepEqual((await synced.sync()).lines, []);
  await assertInStep(synced, { 'a.md': 'a2' });
  // It knows now what both sides had.
  synced.remove('a.md');
  assert.deepEqual((await synced.sync()).lines[0], 'delete there a.md');
});

test('sync: every byte is kept', async (t) => {
  const synced = start(t);
  const texts = {
    'a.md': '\ufeffa\r\nb',
    'b.md': 'a\0b',
    'c.md': '\u2028\u0085\r🙂',
    'd.md': ' a',
  };
  for (const [path, text] of Object.entries(texts)) synced.write(path, text);
  await synced.sync();
  const other = folderOf(t, synced.service, synced.prefix);
  await other.sync();
  assert.deepEqual(other.files(), texts);
  await assertInStep(synced, texts);
});

test('sync: front matter sets the title and tags, and others stay', async (t) => {
  const synced = start(t);
  synced.write('a.md', '---\ntitle: One\ntags: [x, y]\n---\n');
  await synced.sync();
  await synced.patch('a.md', { add_tags: ['z'], title: 'Mine' });
  synced.write('a.md', '---\ntitle: One\ntags: [y, w]\n---\nmore');
  await synced.sync();
  const { title, tags } = await synced.note('a.md');
  assert.deepEqual({ title, tags: tags.sort() }, { title: 'Mine', tags: ['w', 'y', 'z'] });
  synced.write('a.md', '---\ntitle: Two\n---\nmore');
  await synced.sync();
  const second = await synced.note('a.md');
  assert.deepEqual({ title: second.title, tags: second.tags }, { title: 'Two', tags: ['z'] });
});

test('sync: a title and tags that the file does not say stay as they are', async (t) => {
  const synced = start(t);
  synced.write('a.md', '---\ntitle: Oat\ntags: [home]\n---\n');
  synced.write('b.md', 'b');
  await synced.sync();
  for (const path of ['a.md', 'b.md']) await synced.patch(path, { title: 'Mine', add_tags: ['x'] });
  await synced.rename('b.md', 'c.md');
  await synced.sync();
  // Somebody is just writing the front matter.
  synced.write('a.md', '---\ntitle: Oat\ntags: [home, urg\n---\n# Milk');
  synced.write('c.md', 'c');
  await synced.sync();
  const [a, c] = [await synced.note('a.md'), await synced.note('c.md')];
  assert.deepEqual(
    [a.title, a.tags.sort(), c.title, c.tags],
    ['Mine', ['home', 'x'], 'Mine', ['x']],
  );
  synced.write('a.md', '---\ntitle: Oat\ntags: [home, urgent]\n---\n# Milk');
  await synced.sync();
  const { title, tags } = await synced.note('a.md');
  assert.deepEqual([title, tags.sort()], ['Mine', ['home', 'urgent', 'x']]);
});

test('sync: two folders of one service are the same', async (t) => {
  const synced = start(t);
  const other = folderOf(t, synced.service, synced.prefix);
  synced.write('a.md', 'a');
  other.write('b.md', 'b');
  for (const each of [synced, other, synced]) await each.sync();
  other.write('a.md', 'a2');
  for (const each of [other, synced]) await each.sync();
  await assertInStep(synced, { 'a.md': 'a2', 'b.md': 'b' });
  await assertInStep(other, { 'a.md': 'a2', 'b.md': 'b' });
});

test('sync: a copy gets a name that fits, whatever is beside it', async (t) => {
  const synced = start(t);
  const long = `${'a'.repeat(11)}${'🙂'.repeat(60)}.md`;
  for (const path of ['a.md', long]) synced.write(path, path);
  await synced.sync();
  synced.write('a (conflict x)/b.md', 'b');
  symlinkSync(synced.folder, synced.at('a (conflict linked).md'));
  execFileSync('mkfifo', [synced.at('a (conflict y).md')]);
  for (const path of ['a.md', long]) {
    synced.write(path, `${path} here`);
    await synced.put(path, `${path} there`);
  }
  assert.equal((await synced.sync()).status, 0);
  const texts = ['a.md', long].flatMap((path) => [`${path} here`, `${path} there`]);
  assert.deepEqual(Object.values(synced.files()).sort(), [...texts, 'b'].sort());
  await assertInStep(synced, synced.files());
  const copy = Object.keys(synced.files()).find((path) => /^a+🙂+ \(conflict /u.test(path));
  assert.ok(copy);
});
