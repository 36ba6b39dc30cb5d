// Who may read files with notes that the service and its commands create: only their owner. What
// replaces or copies a file has its mode.
import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createApp } from '../../../src/library.ts';
import { FILES_IN_USE, newFile } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { exported, runInProcess } from '../../support/in-process-command.ts';
import { startProcesses } from '../../support/processes.ts';
import { startService } from '../../support/service.ts';

const NOTE = { json: { title: 'a', body: 'b' } };

/** Returns the modes of all files beside a file, by name. */
function modesBeside(file: string): Record<string, string> {
  const folder = dirname(file);
  const names = readdirSync(folder).sort();
  const modeOf = (name: string) => (statSync(join(folder, name)).mode & 0o777).toString(8);
  return Object.fromEntries(names.map((name) => [name, modeOf(name)]));
}

function allOf(mode: string): Record<string, string> {
  return Object.fromEntries(FILES_IN_USE.map((name) => [name, mode]));
}

/** Sets a umask that takes no rights away: only the mode that the service asks for counts. */
function withUmask(t: TestContext): void {
  const usual = process.umask(0);
  t.after(() => process.umask(usual));
}

test('modes: only the owner may use a new database, its log and what goes with it', async (t) => {
  withUmask(t);
  const db = newFile(t);
  const service = await startService(t, { db });
  assert.equal((await service.request('POST', '/notes', NOTE)).status, 201);
  assert.deepEqual(modesBeside(db), allOf('600'));
  await service.close();

  const inLibrary = newFile(t);
  const app = createApp({ db: inLibrary });
  t.after(() => app.close());
  assert.equal((await request(await app.listen(), 'POST', '/notes', NOTE)).status, 201);
  assert.deepEqual(modesBeside(inLibrary), allOf('600'));
});

test('modes: only the owner may use a new database to which a link leads', async (t) => {
  withUmask(t);
  const [link, db] = [newFile(t), newFile(t)];
  symlinkSync(relative(dirname(link), db), link);
  const service = await startService(t, { db: link });
  assert.equal((await service.request('POST', '/notes', NOTE)).status, 201);
  assert.equal(modesBeside(db)['notes.db'], '600');
});

test('modes: several processes create a database that only the owner may use', async (t) => {
  withUmask(t);
  const folder = temporaryFolder(t);
  const { url } = await startProcesses(t, 2, ['--db', 'notes.db'], { folder });
  assert.equal((await request(url, 'POST', '/notes', NOTE)).status, 201);
  assert.deepEqual(modesBeside(join(folder, 'notes.db')), allOf('600'));
});

for (const mode of [0o640, 0o604, 0o660])
  test(`modes: a database keeps ${mode.toString(8)}, and its companions have it`, async (t) => {
    withUmask(t);
    const db = newFile(t);
    // SQLite takes an empty file for a new database.
    writeFileSync(db, '', { mode: 0o600 });
    chmodSync(db, mode);
    for (const _ of ['empty', 'with notes']) {
      const service = await startService(t, { db });
      assert.equal((await service.request('POST', '/notes', NOTE)).status, 201);
      assert.deepEqual(modesBeside(db), allOf(mode.toString(8)));
      await service.close();
    }
  });

test('modes: what the commands create from a new database is for its owner alone', async (t) => {
  withUmask(t);
  const db = newFile(t);
  const service = await startService(t, { db });
  assert.equal((await service.request('POST', '/notes', NOTE)).status, 201);
  const [backup, lines, restored, imported] = [newFile(t), newFile(t), newFile(t), newFile(t)];
  await runInProcess(['backup', backup, '--db', db]);
  await runInProcess(['export', lines, '--db', db]);
  await service.close();
  await runInProcess(['restore', backup, '--db', restored]);
  await runInProcess(['import', lines, '--db', imported]);
  for (const file of [db, backup, lines, restored, imported])
    assert.deepEqual(modesBeside(file), { [basename(file)]: '600' });
  assert.equal(await exported(imported), await exported(restored));

  // What takes the place of a file keeps its mode, and the old file keeps it, too.
  const other = newFile(t);
  copyFileSync(backup, other);
  chmodSync(other, 0o640);
  await runInProcess(['restore', backup, '--db', other, '--force']);
  const expected = { [basename(other)]: '640', [`${basename(other)}.replaced-1`]: '640' };
  assert.deepEqual(modesBeside(other), expected);
});
