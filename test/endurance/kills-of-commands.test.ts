// Commands that are killed or stopped in the middle of their work: what they leave, and the run
// after it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { assertRefused, type Command, runCommand, startCommand } from '../support/command.ts';
import { FILES_IN_USE, newFile } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import { filledFile, notesIn } from '../support/filled.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';
import { startStandIn } from '../support/rqlite-stand-in.ts';
import { startService } from '../support/service.ts';
import { assertSound } from '../support/stored-data.ts';
import { until } from '../support/until.ts';

const NOTE = { title: 'a', body: 'b' };

/** Large enough for a kill in the middle. */
const NOTES = 20_000;

/** Resolves when `holds` is true; fails if the command ends before. */
function during({ ended }: Command, holds: () => boolean): Promise<void> {
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  return until(() => {
    assert.ok(!hasEnded, `the command ended before ${holds}`);
    return holds();
  });
}

/** Resolves when the command has written part of `target` under another name. */
function partWritten(command: Command, target: string, leastBytes: number): Promise<void> {
  const folder = dirname(target);
  return during(command, () => {
    const unfinished = readdirSync(folder).find((name) => name.includes('.unfinished-'));
    return unfinished !== undefined && statSync(join(folder, unfinished)).size > leastBytes;
  });
}

function finishedBeside(target: string): string[] {
  return readdirSync(dirname(target)).filter((name) => !name.includes('.unfinished-'));
}

async function kill(command: Command): Promise<void> {
  command.process.kill('SIGKILL');
  assert.equal((await command.ended).signal, 'SIGKILL');
}

async function assertSucceeds(t: TestContext, args: string[]): Promise<void> {
  const { status, stderr } = await runCommand(t, args);
  assert.equal(status, 0, stderr);
}

for (const [kind, leastBytes] of [
  ['backup', 1_000_000],
  ['export', 0],
] as const) {
  test(`${kind}: no file after a kill, and the next run makes it`, async (t) => {
    const [from, target] = [await filledFile(t, NOTES), newFile(t)];
    const args = [kind, target, '--db', from];
    const first = startCommand(t, args);
    await partWritten(first, target, leastBytes);
    await kill(first);
    assert.ok(!existsSync(target));
    await assertSucceeds(t, args);
    assert.deepEqual(finishedBeside(target), [basename(target)]);
    if (kind === 'backup') assert.deepEqual(await checkFile(target), []);
  });
}

test('backup: of three at once to one target, one succeeds', async (t) => {
  const [from, target] = [await filledFile(t, NOTES), newFile(t)];
  const run = () => runCommand(t, ['backup', target, '--db', from]);
  const endings = await Promise.all([run(), run(), run()]);
  assert.ok(endings.some(({ status }) => status === 0));
  for (const { status, stderr } of endings) {
    if (status !== 0) assert.match(stderr, /already exists$/m);
  }
  assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  assert.deepEqual(await checkFile(target), []);
});

test('restore: a killed one changes nothing', async (t) => {
  const [backup, db] = [await filledFile(t, NOTES), await filledFile(t, 1)];
  const args = ['restore', backup, '--db', db, '--force'];
  const first = startCommand(t, args);
  await partWritten(first, db, 1_000_000);
  await kill(first);
  assert.equal(await notesIn(db), 7);
  await assertSucceeds(t, args);
  assert.equal(await notesIn(db), NOTES + 6);
  assert.deepEqual(finishedBeside(db), ['notes.db', 'notes.db.replaced-1']);
});

/** A module that ends its process at once before its step `step`: a link, a rename or a removal. */
const killAt = (step: number) =>
  `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs/promises';
  import { syncBuiltinESMExports } from 'node:module';
  let steps = 0;
  for (const name of ['link', 'rename', 'rm']) {
    const call = fs[name];
    fs[name] = (...args) => {
      steps += 1;
      if (steps === ${step}) process.abort();
      return call(...args);
    };
  }
  syncBuiltinESMExports();`)}`;

/** A header of SQLite in WAL mode, with a page size that does not exist. */
const DAMAGED = 'SQLite format 3\u0000\u0000\u0003\u0002\u0002'.padEnd(8_192, 'x');

test('restore: no kill separates a damaged file from its log', async (t) => {
  const backup = await filledFile(t, 1);
  let kills = 0;
  for (let isKilled = true; isKilled; ) {
    const db = newFile(t);
    for (const name of [db, `${db}-wal`]) writeFileSync(name, DAMAGED);
    const isOld = (file: string) => existsSync(file) && readFileSync(file, 'utf8') === DAMAGED;
    const isTogether = () =>
      [db, `${db}.replaced-1`, `${db}.replaced-2`].some(
        (name) => isOld(name) && isOld(`${name}-wal`),
      );
    const args = ['restore', backup, '--db', db, '--force'];
    const node = ['--import', killAt(kills + 1)];
    const { status, signal } = await runCommand(t, args, { node });
    assert.ok(isTogether(), `separated before step ${kills + 1}`);
    assert.ok(isOld(db) || !isOld(`${db}-wal`), 'the new file has the old log');
    isKilled = signal === 'SIGABRT';
    if (isKilled) {
      kills += 1;
      await assertSucceeds(t, args);
    } else assert.equal(status, 0);
    assert.equal(await notesIn(db), 7);
    assert.ok(isTogether());
  }
  assert.ok(kills >= 4, String(kills));
});

test('restore: the data of a service started meanwhile stays', async (t) => {
  const [backup, db] = [await filledFile(t, NOTES), newFile(t)];
  const run = startCommand(t, ['restore', backup, '--db', db, '--force']);
  await partWritten(run, db, 1_000_000);
  run.process.kill('SIGSTOP');
  const service = await startService(t, { db });
  const post = async () => (await service.request('POST', '/notes', { json: NOTE })).status;
  assert.equal(await post(), 201);
  run.process.kill('SIGCONT');
  const { status, stderr } = await run.ended;
  assert.equal(status, 1, stderr);
  assert.match(stderr, /exists without its database|EEXIST: file already exists, link /);
  assert.equal(await post(), 201);
  assert.deepEqual(readdirSync(dirname(db)), FILES_IN_USE);
  await service.close();
  assert.equal(await notesIn(db), 2);
});

/** A module that ends its process at once when it shows a progress of `percent` or more. */
const killAfter = (percent: number) =>
  `data:text/javascript,${encodeURIComponent(`
  process.stderr.isTTY = true;
  process.stderr.write = (text) => {
    if (/(\\d+) %/.exec(text)?.[1] >= ${percent}) process.abort();
  };`)}`;

for (const engine of ['file', 'cluster'] as const) {
  test(`import: into a ${engine}, the last run finishes it after two kills`, async (t) => {
    const [from, file] = [await filledFile(t, NOTES), newFile(t)];
    const db = engine === 'file' ? newFile(t) : clusterAddress((await startStandIn(t)).nodes);
    await runInProcess(['export', file, '--db', from]);
    const args = ['import', file, '--db', db];
    for (const percent of [10, 50]) {
      const node = ['--import', killAfter(percent)];
      assert.equal((await runCommand(t, args, { node })).signal, 'SIGABRT');
      const half = /it holds an unfinished import: run the import again/;
      assertRefused(await runCommand(t, ['--port', '0', '--db', db]), 1, half);
      await assert.rejects(exported(db), half);
    }
    await assertSucceeds(t, args);
    assert.equal(await exported(db), readFileSync(file, 'utf8'));
    await assertSound(db);
  });
}
