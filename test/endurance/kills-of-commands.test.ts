// Commands that are killed or stopped in the middle of their work: what they leave, and the run
// after it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFile } from '../../src/commands/check.ts';
import { assertRefused, type Command, runCommand, startCommand } from '../support/command.ts';
import { FILES_IN_USE, newFile } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import { filledFile, notesIn } from '../support/filled.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';
import { startStandIn } from '../support/rqlite-stand-in.ts';
import { startService } from '../support/service.ts';
import { assertSound } from '../support/stored-data.ts';

const NOTE = { title: 'a', body: 'b' };

/** Large enough for a kill in the middle. */
const NOTES = 20_000;
const POLL_MS = 1;

/** Resolves when `holds` is true; fails if the command ends before. */
async function during({ ended }: Command, holds: () => boolean): Promise<void> {
  let hasEnded = false;
  ended.then(() => {
    hasEnded = true;
  });
  while (!holds()) {
    assert.ok(!hasEnded, `the command ended before ${holds}`);
    // A busy loop would take a core from the command.
    await sleep(POLL_MS);
  }
}

/**
 * Resolves when the command has written part of `target` under the name it has until it is
 * complete.
 */
function partWritten(command: Command, target: string, leastBytes: number): Promise<void> {
  const unfinished = `${target}.unfinished-${command.process.pid}`;
  return during(command, () => existsSync(unfinished) && statSync(unfinished).size > leastBytes);
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
    assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
    if (kind === 'backup') assert.deepEqual(await checkFile(target), []);
  });
}

/** Asserts that no service starts on a database that is not complete. */
async function assertHalf(t: TestContext, db: string, reason: RegExp): Promise<void> {
  assertRefused(await runCommand(t, ['--port', '0', '--db', db]), 1, reason);
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
  assert.deepEqual(readdirSync(dirname(db)), ['notes.db', 'notes.db.replaced-1']);
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
  assert.match(stderr, /exists without its database|another process has created it meanwhile$/m);
  assert.equal(await post(), 201);
  assert.deepEqual(readdirSync(dirname(db)), FILES_IN_USE);
  await service.close();
  assert.equal(await notesIn(db), 2);
});

test('import: the last run finishes it after three kills', async (t) => {
  const [from, file, db] = [await filledFile(t, NOTES), newFile(t), newFile(t)];
  await runInProcess(['export', file, '--db', from]);
  const args = ['import', file, '--db', db];
  for (const tenth of ['1', '3', '5']) {
    const run = startCommand(t, args);
    await run.says(`imported ${tenth}`);
    await kill(run);
    const half = /it holds an unfinished import: run the import again/;
    await assertHalf(t, db, half);
    await assert.rejects(exported(db), half);
    await assert.rejects(runInProcess(['copy', '--from', from, '--to', db]), half);
  }
  await assertSucceeds(t, args);
  assert.equal(await exported(db), readFileSync(file, 'utf8'));
  await assertSound(db);
});

test('copy: another run finishes it after a kill', async (t) => {
  const file = await filledFile(t, NOTES);
  const standIn = await startStandIn(t);
  const db = clusterAddress(standIn.nodes);
  const args = ['copy', '--from', file, '--to', db];
  const { execute } = standIn.requests;
  const first = startCommand(t, args);
  await during(first, () => standIn.requests.execute > execute + 5);
  await kill(first);
  await assertHalf(t, db, /it holds an unfinished copy: run the copy again/);
  await assertSucceeds(t, args);
  const { request } = await startService(t, { db });
  assert.equal((await request('GET', '/notes')).json.total, NOTES + 6);
  await assertSound(db);
});

test('copy: another run finishes it after SIGINT', async (t) => {
  const [from, to] = [await filledFile(t, NOTES), newFile(t)];
  const args = ['copy', '--from', from, '--to', to];
  const first = startCommand(t, args);
  await first.says('copied 10 %');
  first.process.kill('SIGINT');
  assert.equal((await first.ended).signal, 'SIGINT');
  await assertHalf(t, to, /it holds an unfinished copy/);
  await assertSucceeds(t, args);
  assert.equal(await notesIn(to), NOTES + 6);
});
