// Files that can be no notes, and what files have beside their texts.
import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { after, test } from 'node:test';
import { replaceInFs } from '../support/other-file-systems.ts';
import { assertInStep, shareService, syncWith } from '../support/synced-folder.ts';

const start = await shareService({ after });

test('sync: what cannot be a note is left, and named', async (t) => {
  const synced = start(t);
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
  const left = warnings.split(/^left /m).sort();
  const expected = [
    /^$/,
    /^a\nb\.md: its name must not have control characters/,
    /^binary\.md: it is not UTF-8$/m,
    /^blank\.md: it is blank$/m,
    /^long\.md: it has more than 100000 characters$/m,
  ];
  assert.equal(left.length, expected.length, warnings);
  for (const [index, pattern] of expected.entries()) assert.match(left[index] ?? '', pattern);
});

test('sync: links are not followed', async (t) => {
  const synced = start(t);
  const outside = start(t);
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
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.put('a.md/b.md', 'b');
  const { status, warnings } = await synced.sync();
  assert.equal(status, 1);
  assert.match(warnings, /^left a\.md\/b\.md: its folder is a link or a file$/m);
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
  synced.write('c/d.md', 'd');
  await synced.sync();
  rmSync(synced.at('c'), { recursive: true });
  synced.write('c', 'a file');
  assert.ok((await synced.sync()).lines.includes('delete there c/d.md'));
});

test('sync: a file in another normalization form keeps its spelling', async (t) => {
  const synced = start(t);
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
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  const { atime, mtime } = statSync(synced.at('a.md'));
  synced.write('a.md', 'b');
  utimesSync(synced.at('a.md'), atime, mtime);
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'b' });
});

test('sync: a file keeps its mode, its copies have it, and .notes-sync is private', async (t) => {
  const synced = start(t);
  const modeOf = (path: string) => statSync(synced.at(path)).mode & 0o777;
  synced.write('a.md', 'a');
  // More than a new file gets.
  chmodSync(synced.at('a.md'), 0o622);
  await synced.sync();
  await synced.put('a.md', 'b');
  let written = 0;
  await syncWith(synced, (effect) => {
    const [text = ''] = effect === 'aside' ? readdirSync(synced.at('.notes-sync/tmp')) : [];
    if (text) written = modeOf(`.notes-sync/tmp/${text}`);
  });
  assert.deepEqual([synced.read('a.md'), modeOf('a.md'), written], ['b', 0o622, 0o622]);
  synced.write('a.md', 'here');
  await synced.put('a.md', 'there');
  await synced.sync();
  const paths = Object.keys(synced.files());
  assert.deepEqual(paths.map(modeOf), [0o622, 0o622]);
  assert.equal(modeOf('.notes-sync'), 0o700);
});

test('sync: a folder that is removed while the others are read has no files', async (t) => {
  const synced = start(t);
  synced.write('deep/a.md', 'a');
  await synced.sync();
  replaceInFs(t, {
    readdirSync:
      (original) =>
      (path: never, ...rest: never[]) => {
        if (String(path).endsWith('/deep')) rmSync(path, { recursive: true, force: true });
        return original(path, ...rest);
      },
  });
  const { lines, warnings, status } = await synced.sync();
  assert.deepEqual([lines[0], warnings, status], ['delete there deep/a.md', '', 0]);
});

test('sync: a new text of a private file is private from its first byte', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  chmodSync(synced.at('a.md'), 0o600);
  await synced.put('a.md', 'there');
  const modes: number[] = [];
  replaceInFs(t, {
    chmodSync: (original) => (path: never, mode: never) => {
      modes.push(lstatSync(path).mode & 0o777);
      return original(path, mode);
    },
  });
  await synced.sync();
  assert.deepEqual(modes, [0o600]);
});
