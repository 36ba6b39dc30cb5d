// A folder and a service are brought in step, by the command, against a real service.
import assert from 'node:assert/strict';
import {
  chmodSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { test } from 'node:test';
import { EFFECTS, type Effect, SYNC_TIMES } from '../../src/sync/effects.ts';
import type { Ends } from '../support/engine.ts';
import { folderOf, type SyncedFolder, startSynced } from '../support/synced-folder.ts';

/** Asserts that both sides have the same texts, and that a further run does nothing. */
async function assertInStep(synced: SyncedFolder, texts: Readonly<Record<string, string>>) {
  assert.deepEqual(synced.files(), texts);
  assert.deepEqual(await synced.notes(), texts);
  assert.deepEqual(await synced.sync(), {
    lines: [],
    warnings: '',
    status: 0,
    progress: '',
    line: undefined,
    output: '',
  });
}

test('sync: files become notes, and notes become files', async (t) => {
  const synced = await startSynced(t);
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
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  synced.write('b.md', 'b');
  await synced.sync();
  synced.write('a.md', 'a2');
  await synced.put('b.md', 'b2');
  const { lines } = await synced.sync();
  assert.deepEqual(
    [...lines].sort(),
    ['In step: 2 files (1 sent, 1 got)', 'get b.md', 'send a.md'].sort(),
  );
  await assertInStep(synced, { 'a.md': 'a2', 'b.md': 'b2' });
});

test('sync: deletions go both ways', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'deep/er/b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  synced.remove('a.md');
  await synced.service.request('DELETE', '/named/deep/er/b.md');
  const { lines } = await synced.sync();
  assert.deepEqual(lines.slice(0, 2).sort(), ['delete here deep/er/b.md', 'delete there a.md']);
  await assertInStep(synced, { 'c.md': 'c.md' });
  assert.throws(() => statSync(synced.at('deep')), /ENOENT/);
});

test('sync: a change beats a deletion', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md']) synced.write(path, path);
  await synced.sync();
  synced.remove('a.md');
  await synced.put('a.md', 'a2');
  await synced.service.request('DELETE', '/named/b.md');
  synced.write('b.md', 'b2');
  const { lines } = await synced.sync();
  assert.deepEqual([...lines].sort().slice(1), ['create b.md', 'get a.md']);
  await assertInStep(synced, { 'a.md': 'a2', 'b.md': 'b2' });
});

test('sync: of two new texts, that of the service has the name, the other is a copy', async (t) => {
  const synced = await startSynced(t);
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
  const synced = await startSynced(t);
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
  const synced = await startSynced(t);
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
  const synced = await startSynced(t);
  const texts = {
    'a.md': '\ufeffa\r\nb',
    'b.md': 'a\0b',
    'c.md': '\u2028\u0085\r🙂',
    'd.md': ' a',
  };
  for (const [path, text] of Object.entries(texts)) synced.write(path, text);
  await synced.sync();
  const other = folderOf(t, synced.service);
  await other.sync();
  assert.deepEqual(other.files(), texts);
  await assertInStep(synced, texts);
});

test('sync: a file that moves is a note that is renamed, and the other way round', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a/one.md', 'a/two.md']) synced.write(path, path);
  await synced.sync();
  const { id } = await synced.note('a/one.md');
  await synced.service.request('PATCH', '/named/a/one.md', { json: { tags: ['kept'] } });
  renameSync(synced.at('a'), synced.at('b'));
  const { lines } = await synced.sync();
  assert.deepEqual([...lines].sort().slice(1), [
    'move a/one.md -> b/one.md',
    'move a/two.md -> b/two.md',
  ]);
  assert.deepEqual(await synced.note('b/one.md'), {
    ...{ id, title: 'one', body: 'a/one.md', tags: ['kept'] },
  });
  await synced.service.request('PATCH', '/named/b/two.md', { json: { name: 'c/three.md' } });
  assert.equal((await synced.sync()).lines[0], 'move b/two.md -> c/three.md');
  await assertInStep(synced, { 'b/one.md': 'a/one.md', 'c/three.md': 'a/two.md' });
});

test('sync: what moves on one side and changes on the other does both', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  renameSync(synced.at('a.md'), synced.at('a2.md'));
  await synced.put('a.md', 'changed there');
  await synced.service.request('PATCH', '/named/b.md', { json: { name: 'b2.md' } });
  synced.write('b.md', 'changed here');
  await synced.service.request('PATCH', '/named/c.md', { json: { name: 'c2.md', body: 'both' } });
  await synced.sync();
  await assertInStep(synced, {
    'a2.md': 'changed there',
    'b2.md': 'changed here',
    'c2.md': 'both',
  });
});

test('sync: texts that swap their paths on either side', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md']) synced.write(path, path);
  await synced.sync();
  renameSync(synced.at('a.md'), synced.at('x'));
  renameSync(synced.at('b.md'), synced.at('a.md'));
  renameSync(synced.at('x'), synced.at('b.md'));
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'b.md', 'b.md': 'a.md' });
  const rename = (name: string, to: string) =>
    synced.service.request('PATCH', `/named/${name}`, { json: { name: to } });
  await rename('a.md', 'x.md');
  await rename('b.md', 'a.md');
  await rename('x.md', 'b.md');
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'a.md', 'b.md': 'b.md' });
});

test('sync: front matter sets the title and tags, and others stay', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', '---\ntitle: One\ntags: [x, y]\n---\n');
  await synced.sync();
  await synced.service.request('PATCH', '/named/a.md', {
    json: { add_tags: ['z'], title: 'Mine' },
  });
  synced.write('a.md', '---\ntitle: One\ntags: [y, w]\n---\nmore');
  await synced.sync();
  const { title, tags } = await synced.note('a.md');
  assert.deepEqual({ title, tags: tags.sort() }, { title: 'Mine', tags: ['w', 'y', 'z'] });
  synced.write('a.md', '---\ntitle: Two\n---\nmore');
  await synced.sync();
  const second = await synced.note('a.md');
  assert.deepEqual({ title: second.title, tags: second.tags }, { title: 'Two', tags: ['z'] });
});

test('sync: many deletions are refused, unless they are meant', async (t) => {
  const synced = await startSynced(t);
  for (let n = 0; n < 12; n += 1) synced.write(`${n}.md`, `${n}`);
  await synced.sync();
  for (let n = 0; n < 12; n += 1) synced.remove(`${n}.md`);
  const refused = await synced.sync();
  assert.equal(refused.status, 2);
  assert.match(
    refused.warnings,
    /nothing was done: 12 of 12 files would be deleted .*--max-delete 12/,
  );
  assert.equal(Object.keys(await synced.notes()).length, 12);
  assert.equal((await synced.sync('--max-delete', '11')).status, 2);
  assert.equal((await synced.sync('--max-delete', '12')).status, 0);
  await assertInStep(synced, {});
});

test('sync: an emptied service deletes nothing', async (t) => {
  const synced = await startSynced(t);
  for (let n = 0; n < 10; n += 1) synced.write(`${n}.md`, `${n}`);
  await synced.sync();
  for (let n = 0; n < 10; n += 1) await synced.service.request('DELETE', `/named/${n}.md`);
  const { status, lines } = await synced.sync();
  assert.deepEqual({ status, lines }, { status: 2, lines: [] });
  assert.equal(Object.keys(synced.files()).length, 10);
});

test('sync: deletions that wait are no reason to refuse', async (t) => {
  const synced = await startSynced(t);
  for (let n = 0; n < 12; n += 1) synced.write(`${n}.md`, `${n}`);
  await synced.sync();
  for (let n = 0; n < 12; n += 1) await synced.service.request('DELETE', `/named/${n}.md`);
  const { status, lines } = await synced.sync('--push');
  assert.deepEqual([status, lines.length, lines[0]?.slice(0, 18)], [0, 12, 'waits: delete here']);
  assert.equal((await synced.sync()).status, 2, 'what waits is not forgotten');
});

test('sync: few deletions, and moves of all files, are no reason to refuse', async (t) => {
  const synced = await startSynced(t);
  for (let n = 0; n < 12; n += 1) synced.write(`a/${n}.md`, `${n}`);
  await synced.sync();
  renameSync(synced.at('a'), synced.at('b'));
  assert.equal((await synced.sync()).status, 0);
  for (let n = 0; n < 6; n += 1) synced.remove(`b/${n}.md`);
  assert.equal((await synced.sync()).status, 0);
  for (let n = 6; n < 12; n += 1) synced.remove(`b/${n}.md`);
  assert.equal((await synced.sync()).status, 0);
  await assertInStep(synced, {});
});

test('sync: a folder without its state is filled again, and deletes nothing', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b/c.md']) synced.write(path, path);
  await synced.sync();
  rmSync(synced.folder, { recursive: true });
  synced.write('new.md', 'new');
  assert.equal((await synced.sync()).status, 0);
  await assertInStep(synced, { 'a.md': 'a.md', 'b/c.md': 'b/c.md', 'new.md': 'new' });
});

test('sync: another service deletes nothing, and both texts stay', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  const other = await startSynced(t);
  await other.put('a.md', 'a.md');
  await other.put('b.md', 'other');
  const moved: SyncedFolder = { ...synced, service: other.service, notes: other.notes };
  const { warnings } = await synced.sync();
  assert.equal(warnings, '');
  const { runInProcess } = await import('../support/in-process-command.ts');
  const ran = await runInProcess(['sync', synced.folder, other.service.url]);
  assert.match(ran.warnings, /^The service was restored, or is another one: nothing is deleted/);
  const files = moved.files();
  assert.deepEqual(files, await other.notes());
  assert.deepEqual(Object.values(files).sort(), ['a.md', 'b.md', 'c.md', 'other']);
});

test('sync: a dry run says what would be done, and does nothing', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.put('b.md', 'b');
  const { lines, status } = await synced.sync('--dry-run');
  assert.deepEqual([...lines].sort(), ['would create a.md', 'would get b.md']);
  assert.equal(status, 0);
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
  assert.deepEqual(await synced.notes(), { 'b.md': 'b' });
  assert.throws(() => statSync(synced.at('.notes-sync')), /ENOENT/);
});

test('sync: --push changes nothing here, and --pull nothing there', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md', 'both.md']) synced.write(path, path);
  await synced.sync();
  const change = async (text: string) => {
    synced.write('a.md', text);
    await synced.put('b.md', text);
    synced.write('both.md', `${text} here`);
    await synced.put('both.md', `${text} there`);
  };
  await change('1');
  const pushed = await synced.sync('--push');
  assert.deepEqual(
    pushed.lines,
    [
      ...['waits: get b.md', 'waits: conflict both.md', 'send a.md', 'In step: 3 files (1 sent)'],
    ].sort((one, other) => pushed.lines.indexOf(one) - pushed.lines.indexOf(other)),
  );
  assert.deepEqual(synced.files(), { 'a.md': '1', 'b.md': 'b.md', 'both.md': '1 here' });
  assert.equal((await synced.notes())['a.md'], '1');
  await synced.sync();
  await change('2');
  const notes = await synced.notes();
  await synced.sync('--pull');
  assert.deepEqual(await synced.notes(), notes);
  assert.equal(synced.read('b.md'), '2');
  await synced.sync();
  const files = synced.files();
  assert.deepEqual(await synced.notes(), files);
  assert.equal(files['a.md'], '2');
  assert.ok(Object.values(files).includes('2 here'));
});

test('sync: what cannot be a note is left, and named', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.sync();
  synced.write('blank.md', ' \n');
  synced.write('binary.md', Buffer.from([0xff]));
  synced.write('long.md', 'a'.repeat(100_001));
  synced.write('a\nb.md', 'a');
  synced.write('image.png', 'a');
  await synced.put('diary', 'a note without an extension');
  await synced.put('.obsidian/a.md', 'hidden');
  const { status, warnings, lines } = await synced.sync();
  assert.deepEqual({ status, lines }, { status: 1, lines: [] });
  assert.deepEqual(
    warnings
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(0, 24))
      .sort(),
    [
      ...[
        'b.md: its name must not ',
        'left a',
        'left binary.md: it is no',
        'left blank.md: it is bla',
      ],
      'left long.md: it has mor',
    ].sort(),
  );
});

test('sync: a text is never replaced by a blank one', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.sync();
  synced.write('a.md', '');
  assert.match((await synced.sync()).warnings, /^left a\.md: it is blank/);
  assert.deepEqual(await synced.notes(), { 'a.md': 'a' });
  await synced.put('a.md', 'a2');
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'a2' });
});

test('sync: links are not followed', async (t) => {
  const synced = await startSynced(t);
  const outside = folderOf(t, synced.service);
  outside.write('secret.md', 'secret');
  synced.write('a/b.md', 'b');
  await synced.sync();
  symlinkSync(outside.folder, synced.at('linked'));
  symlinkSync(outside.at('secret.md'), synced.at('link.md'));
  await synced.put('linked/new.md', 'new');
  await synced.put('link.md', 'new');
  const { status, warnings } = await synced.sync();
  assert.equal(status, 1);
  assert.match(warnings, /left linked\/new\.md: its folder is a link or a file/);
  assert.match(warnings, /left link\.md: it is no file, or behind a link/);
  assert.deepEqual(outside.files(), { 'secret.md': 'secret' });
  // A folder that has become a link is not a deletion.
  renameSync(synced.at('a'), outside.at('a'));
  symlinkSync(outside.at('a'), synced.at('a'));
  assert.match((await synced.sync()).warnings, /left a\/b\.md: it is no file, or behind a link/);
  assert.equal((await synced.notes())['a/b.md'], 'b');
});

test('sync: a note in a folder that is a file here is left', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.put('a.md/b.md', 'b');
  const { status, warnings } = await synced.sync();
  assert.equal(status, 1);
  assert.match(warnings, /^left a\.md\/b\.md: /);
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
  synced.write('c/d.md', 'd');
  await synced.sync();
  rmSync(synced.at('c'), { recursive: true });
  synced.write('c', 'a file');
  assert.ok((await synced.sync()).lines.includes('delete there c/d.md'));
});

test('sync: only the notes of --folder', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.put('P/b.md', 'b');
  await synced.put('Pc.md', 'c');
  await synced.put('d.md', 'd');
  await synced.sync('--folder', 'P');
  assert.deepEqual(synced.files(), { 'a.md': 'a', 'b.md': 'b' });
  assert.deepEqual(Object.keys(await synced.notes()), ['P/a.md', 'P/b.md', 'Pc.md', 'd.md']);
  await synced.service.request('PATCH', '/named/P/b.md', { json: { name: 'b.md' } });
  await synced.sync('--folder', 'P/');
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
});

test('sync: another --ext deletes nothing', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.txt']) synced.write(path, path);
  await synced.sync();
  assert.equal((await synced.sync('--ext', 'md')).status, 0);
  await assertInStep(synced, { 'a.md': 'a.md', 'b.txt': 'b.txt' });
  await synced.service.request('DELETE', '/named/b.txt');
  await synced.sync('--ext', 'md');
  assert.deepEqual(Object.keys(synced.files()), ['a.md', 'b.txt']);
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'a.md', 'b.txt': 'b.txt' });
});

test('sync: a file in another normalization form keeps its spelling', async (t) => {
  const synced = await startSynced(t);
  synced.write('Ku\u0308che.md', 'a');
  await synced.sync();
  assert.deepEqual(await synced.notes(), { 'Küche.md': 'a' });
  await synced.put('Küche.md', 'b');
  await synced.sync();
  assert.deepEqual(synced.files(), { 'Ku\u0308che.md': 'b' });
  synced.write('K\u00fcche.md', 'c');
  const { warnings, status } = await synced.sync();
  assert.match(warnings, /^left K.*che\.md: it has the same name as K/);
  assert.equal(status, 1);
});

test('sync: sees a change that leaves size and time as they were', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.sync();
  const { atime, mtime } = statSync(synced.at('a.md'));
  synced.write('a.md', 'b');
  utimesSync(synced.at('a.md'), atime, mtime);
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'b' });
});

test('sync: a file keeps its mode, and what was replaced is in the trash', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  chmodSync(synced.at('a.md'), 0o600);
  await synced.sync();
  await synced.put('a.md', 'b');
  await synced.sync();
  assert.equal(statSync(synced.at('a.md')).mode & 0o777, 0o600);
});

/** Calls `act` before the first effect of this kind. */
function beforeFirst(t: Ends, kind: Effect, act: () => void): void {
  const { before } = EFFECTS;
  let isDone = false;
  t.after(() => {
    EFFECTS.before = before;
  });
  EFFECTS.before = (effect) => {
    if (effect !== kind || isDone) return;
    isDone = true;
    act();
  };
}

const EDITS: readonly (readonly [kind: Effect, action: string])[] = [
  ['aside', 'get'],
  ['place', 'get'],
  ['remove', 'get'],
  ['aside', 'delete'],
  ['aside', 'conflict'],
  ['place', 'conflict'],
];
for (const [kind, action] of EDITS)
  test(`sync: what an editor writes just before ${kind} of ${action} is kept`, async (t) => {
    const synced = await startSynced(t);
    synced.write('a.md', 'a');
    await synced.sync();
    if (action === 'delete') await synced.service.request('DELETE', '/named/a.md');
    else await synced.put('a.md', 'theirs');
    if (action === 'conflict') synced.write('a.md', 'mine');
    beforeFirst(t, kind, () => synced.write('a.md', 'edited'));
    await synced.sync();
    await synced.sync();
    const files = synced.files();
    assert.deepEqual(await synced.notes(), files);
    const texts = Object.values(files);
    assert.ok(texts.includes('edited'), texts.join());
    // In its place by now, it was edited.
    const isReplaced = kind === 'remove' || action === 'delete';
    assert.equal(texts.includes('theirs'), !isReplaced, texts.join());
  });

test('sync: what a broken run has left aside comes back, unless it was replaced', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['base.md', 'blank.md', 'other.md']) synced.write(path, path);
  await synced.sync();
  const aside = (path: string, text: string) => synced.write(`.notes-sync/aside/x/${path}`, text);
  aside('deep/missing.md', 'missing');
  aside('base.md', 'base.md');
  aside('blank.md', ' ');
  aside('other.md', 'a text that nobody has');
  await synced.sync();
  const files = synced.files();
  assert.deepEqual(await synced.notes(), files);
  const { 'deep/missing.md': missing, ...others } = files;
  assert.equal(missing, 'missing');
  const texts = ['a text that nobody has', 'base.md', 'blank.md', 'other.md'];
  assert.deepEqual(Object.values(others).sort(), texts);
  assert.deepEqual(readdirSync(synced.at('.notes-sync/aside')), []);
  assert.equal(readdirSync(synced.at('.notes-sync/trash')).length, 2);
});

test('sync: a run that takes a while shows its progress', async (t) => {
  const { progress } = SYNC_TIMES;
  SYNC_TIMES.progress = -1;
  t.after(() => {
    SYNC_TIMES.progress = progress;
  });
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md', 'c.md']) await synced.put(path, path);
  const shown = (await synced.sync()).progress.split('\r\u001b[K');
  assert.deepEqual(
    shown.filter((text) => text !== ''),
    ['1 of 3', '2 of 3', '3 of 3'],
  );
  assert.equal(shown.at(-1), '');
});

test('sync: two folders of one service are the same', async (t) => {
  const synced = await startSynced(t);
  const other = folderOf(t, synced.service);
  synced.write('a.md', 'a');
  other.write('b.md', 'b');
  for (const each of [synced, other, synced]) await each.sync();
  other.write('a.md', 'a2');
  for (const each of [other, synced]) await each.sync();
  await assertInStep(synced, { 'a.md': 'a2', 'b.md': 'b' });
  await assertInStep(other, { 'a.md': 'a2', 'b.md': 'b' });
});
