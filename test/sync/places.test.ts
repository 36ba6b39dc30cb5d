// The contents of `.notes-sync`: what is refused there, and what is cleared.
import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { after, test } from 'node:test';
import { assertInStep, shareService } from '../support/synced-folder.ts';

const start = await shareService({ after });

test('sync: a link in .notes-sync, or what no run has made, ends the run', async (t) => {
  const synced = start(t);
  const outside = start(t);
  outside.write('secret.md', 'secret');
  synced.write('a.md', 'a');
  const files = ['.gitignore', 'state', 'state.new', 'lock'];
  for (const name of ['', 'tmp', 'aside', 'trash', ...files])
    for (const way of ['link', 'other kind'] as const) {
      const place = synced.at(`.notes-sync/${name}`).replace(/\/$/, '');
      rmSync(synced.at('.notes-sync'), { recursive: true, force: true });
      const isFile = files.includes(name);
      if (way === 'link') {
        if (name !== '') mkdirSync(synced.at('.notes-sync'));
        symlinkSync(isFile ? outside.at('secret.md') : outside.folder, place);
      } else if (isFile) mkdirSync(place, { recursive: true });
      else synced.write(place.slice(synced.folder.length + 1), 'a');
      for (const args of [[], ['--dry-run']]) {
        const { status, lines, warnings } = await synced.sync(...args);
        assert.deepEqual([status, lines], [2, []], `${way} ${name}`);
        assert.match(warnings, /^notes-server: nothing was done: [^\n]* is no (file|folder), or a/);
      }
      if (place.endsWith('.notes-sync')) rmSync(place);
    }
  assert.deepEqual(readdirSync(outside.folder), ['secret.md']);
  assert.equal(outside.read('secret.md'), 'secret');
  assert.deepEqual(await synced.notes(), {});
});

test('sync: links deeper in .notes-sync are not followed', async (t) => {
  const synced = start(t);
  const outside = start(t);
  outside.write('secret.md', 'secret');
  for (const place of ['tmp', 'aside', 'trash']) {
    synced.write(`.notes-sync/${place}/1/deep/a`, '');
    symlinkSync(outside.folder, synced.at(`.notes-sync/${place}/1/deep/linked`));
    symlinkSync(outside.folder, synced.at(`.notes-sync/${place}/2`));
  }
  rmSync(synced.at('.notes-sync/aside/1/deep/a'));
  await synced.sync();
  assert.deepEqual(outside.files(), { 'secret.md': 'secret' });
  // It was taken away with a file, and comes back.
  assert.ok(lstatSync(synced.at('deep/linked')).isSymbolicLink());
  await assertInStep(synced, {});
});
