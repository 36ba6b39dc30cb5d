// The options of the command, and what people see of a run.
import assert from 'node:assert/strict';
import { renameSync, statSync } from 'node:fs';
import { after, test } from 'node:test';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { setLimits } from '../support/overload.ts';
import { assertInStep, shareService, startSynced } from '../support/synced-folder.ts';

const start = await shareService({ after });

test('sync: a dry run says what would be done, and does nothing', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.put('b.md', 'b');
  const { lines, status } = await synced.sync('--dry-run');
  assert.deepEqual([...lines].sort(), ['would create a.md', 'would get b.md']);
  assert.equal(status, 0);
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
  assert.deepEqual(await synced.notes(), { 'b.md': 'b' });
  assert.throws(() => statSync(synced.at('.notes-sync')), /ENOENT/);
});

for (const option of ['--folder', '--push', '--pull'])
  test(`sync: a dry run with ${option} says what the real one does`, async (t) => {
    const synced = start(t);
    const known = ['send', 'get', 'here', 'there', 'from', 'back', 'equal', 'blank'];
    for (const name of known) synced.write(`${name}.md`, name);
    await synced.sync();
    synced.write('send.md', 'sent');
    await synced.put('get.md', 'got');
    await synced.erase('here.md');
    synced.remove('there.md');
    renameSync(synced.at('from.md'), synced.at('to.md'));
    await synced.rename('back.md', 'front.md');
    synced.write('equal.md', 'same');
    await synced.put('equal.md', 'same');
    synced.write('blank.md', '');
    synced.write('adopted.md', 'same');
    await synced.put('adopted.md', 'same');
    synced.write('new.md', 'new');
    await synced.put('theirs.md', 'theirs');
    const args = [option, ...(option === '--folder' ? [synced.prefix] : [])];
    const dry = await synced.sync(...args, '--dry-run');
    const real = await synced.sync(...args);
    const lines = real.lines.slice(0, -1).map((line) => line.replace(/^(?!waits:)/, 'would '));
    assert.deepEqual([...dry.lines].sort(), lines.sort());
    assert.deepEqual([dry.warnings, dry.status], [real.warnings, real.status]);
    assert.match(dry.warnings, /^left blank\.md: /);
    assert.ok(dry.lines.some((line) => line.endsWith(' move from.md -> to.md')));
  });

test('sync: --push changes nothing here, and --pull nothing there', async (t) => {
  const synced = start(t);
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
  assert.deepEqual([...pushed.lines].sort(), [
    'In step: 3 files (1 sent)',
    'send a.md',
    'waits: conflict both.md',
    'waits: get b.md',
  ]);
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

test('sync: only the notes of --folder', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.put('P/b.md', 'b');
  await synced.put('Pc.md', 'c');
  await synced.put('d.md', 'd');
  await synced.sync('--folder', 'P');
  assert.deepEqual(synced.files(), { 'a.md': 'a', 'b.md': 'b' });
  assert.deepEqual(Object.keys(await synced.notes()), ['P/a.md', 'P/b.md', 'Pc.md', 'd.md']);
  await synced.rename('P/b.md', 'b.md');
  await synced.sync('--folder', 'P/');
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
});

test('sync: another --ext deletes nothing', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.txt']) synced.write(path, path);
  await synced.sync();
  assert.equal((await synced.sync('--ext', 'md')).status, 0);
  await assertInStep(synced, { 'a.md': 'a.md', 'b.txt': 'b.txt' });
  await synced.erase('b.txt');
  await synced.sync('--ext', 'md');
  assert.deepEqual(Object.keys(synced.files()), ['a.md', 'b.txt']);
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'a.md', 'b.txt': 'b.txt' });
});

test('sync: with more of --ext, notes that were there before are files', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.put('b.txt', 'b');
  for (let run = 0; run < 2; run += 1) await synced.sync('--ext', 'md');
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
  await synced.sync();
  assert.deepEqual(synced.files(), { 'a.md': 'a', 'b.txt': 'b' });
});

test('sync: a run that takes a while shows its progress', async (t) => {
  setLimits(t, SYNC_TIMES, { progress: -1 });
  const synced = start(t);
  for (const path of ['a.md', 'b.md', 'c.md']) await synced.put(path, path);
  const shown = (await synced.sync()).progress.split('\r\u001b[K');
  assert.deepEqual(
    shown.filter((text) => text !== ''),
    ['1 of 3', '2 of 3', '3 of 3'],
  );
  assert.equal(shown.at(-1), '');
});
