// What happens between two effects of a run, at the one instant at which it matters.
import assert from 'node:assert/strict';
import { readdirSync, renameSync, symlinkSync } from 'node:fs';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { type Effect, SYNC_TIMES } from '../../src/sync/effects.ts';
import { hashOf } from '../../src/sync/notes.ts';
import { setLimits } from '../support/overload.ts';
import {
  folderOf,
  type SyncedFolder,
  shareService,
  syncUntil,
  syncWith,
} from '../support/synced-folder.ts';

const MISSING_MS = 100;

type OnAnswer = (answer: IncomingMessage) => void;

const start = await shareService({ after });

/** Starts with a file that is in step. */
async function startInStep(t: TestContext): Promise<SyncedFolder> {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  return synced;
}

/** Starts with a file that a run has taken away, to replace or to move it, when it broke off. */
async function startTaken(t: TestContext, why: 'get' | 'move'): Promise<SyncedFolder> {
  const synced = await startInStep(t);
  await (why === 'get' ? synced.put('a.md', 'there') : synced.rename('a.md', 'b.md'));
  await breakBefore(synced, 'place');
  assert.deepEqual(synced.files(), {});
  return synced;
}

/** Runs until the first effect of a kind, as if it was killed there. */
async function breakBefore(synced: SyncedFolder, effect: Effect): Promise<void> {
  assert.ok(await syncUntil(synced, (each) => each === effect), effect);
}

/** Runs with `happen` before the first effect of a kind. */
async function changeBefore(synced: SyncedFolder, effect: Effect, happen: () => void) {
  let hasHappened = false;
  await syncWith(synced, (each) => {
    if (each !== effect || hasHappened) return;
    hasHappened = true;
    happen();
  });
  assert.ok(hasHappened, effect);
}

/** Calls `happen` after the first answer to a request that begins so, before the command has it. */
function afterAnswer(t: TestContext, start: string, happen: () => Promise<void>): void {
  const { request } = http;
  const answering = (url: string, options: RequestOptions, onAnswer: OnAnswer) => {
    const { method, path } = { method: options.method, path: url.replace(/^http:..[^/]*/, '') };
    if (!`${method} ${path}`.startsWith(start)) return request(url, options, onAnswer);
    mocked.mock.restore();
    return request(url, options, (answer) => void happen().then(() => onAnswer(answer)));
  };
  const mocked = t.mock.method(http, 'request', answering as typeof request);
}

/** Asserts that two further runs bring both sides to these texts. */
async function assertTexts(synced: SyncedFolder, texts: readonly string[]): Promise<void> {
  for (let run = 0; run < 2; run += 1) await synced.sync();
  const notes = await synced.notes();
  assert.deepEqual(synced.files(), notes);
  assert.deepEqual(Object.values(notes).sort(), texts);
  assert.deepEqual((await synced.sync()).lines, []);
  for (const place of ['aside', 'tmp'])
    assert.deepEqual(readdirSync(synced.at(`.notes-sync/${place}`)), []);
}

/** Of which act, before which of its effects the file is written, and the texts in the end. */
const WRITTEN: readonly (readonly [act: string, effect: Effect, texts: readonly string[]])[] = [
  ['get', 'aside', ['here', 'there']],
  ['get', 'place', ['here', 'there']],
  // In its place by now, it was written over.
  ['get', 'remove', ['here']],
  ['delete', 'aside', ['here']],
  ['conflict', 'aside', ['here', 'mine', 'there']],
  ['conflict', 'place', ['here', 'mine', 'there']],
  ['move', 'aside', ['here']],
  ['move', 'place', ['a', 'here']],
  ['move', 'remove', ['a', 'here']],
];

for (const [act, effect, texts] of WRITTEN)
  test(`sync: what is written before ${effect} of ${act} is no loss`, async (t) => {
    const synced = await startInStep(t);
    if (act === 'delete') await synced.erase('a.md');
    else if (act === 'move') await synced.rename('a.md', 'b.md');
    else await synced.put('a.md', 'there');
    if (act === 'conflict') synced.write('a.md', 'mine');
    await changeBefore(synced, effect, () => synced.write('a.md', 'here'));
    assert.ok(Object.values(synced.files()).includes('here'), 'it is there at once');
    await assertTexts(synced, texts);
  });

test('sync: a copy that is moved back before its original is taken away is no loss', async (t) => {
  for (const breaksOff of [false, true]) {
    const synced = await startInStep(t);
    await synced.put('a.md', 'there');
    synced.write('a.md', 'mine');
    let isBack = false;
    await syncWith(synced, (effect) => {
      if (isBack && breaksOff) throw new Error('killed');
      if (effect !== 'aside' || isBack) return;
      isBack = true;
      const copy = Object.keys(synced.files()).find((path) => path !== 'a.md') ?? '';
      renameSync(synced.at(copy), synced.at('a.md'));
    });
    await assertTexts(synced, ['mine', 'there']);
  }
});

test('sync: a folder that becomes a link while a run is at work is not followed', async (t) => {
  for (const effect of ['request', 'aside'] as const) {
    const synced = await startInStep(t);
    const outside = start(t);
    outside.write('b.md', 'secret');
    outside.write('c.md', 'c');
    synced.write('deep/c.md', 'c');
    await synced.sync();
    await synced.put('deep/c.md', 'c2');
    if (effect === 'request') {
      // The move comes first.
      renameSync(synced.at('a.md'), synced.at('moved.md'));
      synced.write('deep/b.md', 'b');
    }
    await changeBefore(synced, effect, () => {
      renameSync(synced.at('deep'), synced.at('.deep'));
      symlinkSync(outside.folder, synced.at('deep'));
    });
    assert.deepEqual(Object.values(await synced.notes()).sort(), ['a', 'c2']);
    assert.deepEqual(outside.files(), { 'b.md': 'secret', 'c.md': 'c' });
  }
});

test('sync: a run that breaks off before an act has not noted it', async (t) => {
  for (const effect of ['aside', 'place', 'remove'] as const) {
    const got = await startInStep(t);
    await got.put('a.md', 'there');
    await breakBefore(got, effect);
    await assertTexts(got, ['there']);
    const moved = await startInStep(t);
    await moved.rename('a.md', 'b.md');
    await breakBefore(moved, effect);
    await assertTexts(moved, ['a']);
  }
  const sent = await startInStep(t);
  sent.write('a.md', 'here');
  await breakBefore(sent, 'request');
  await assertTexts(sent, ['here']);
});

test('sync: what a broken run took away comes back, even if that breaks off', async (t) => {
  for (const why of ['get', 'move'] as const)
    for (const effect of ['place', 'remove', undefined] as const) {
      const synced = await startTaken(t, why);
      if (effect) await breakBefore(synced, effect);
      await assertTexts(synced, [why === 'get' ? 'there' : 'a']);
    }
});

test('sync: what a broken run took away was not deleted here', async (t) => {
  const synced = await startTaken(t, 'get');
  await synced.put('a.md', 'a');
  await assertTexts(synced, ['a']);
});

test('sync: what was replaced goes to the trash, even if that breaks off', async (t) => {
  const synced = await startInStep(t);
  await synced.put('a.md', 'there');
  await synced.sync();
  await breakBefore(synced, 'trash');
  await assertTexts(synced, ['there']);
  const trash = readdirSync(synced.at('.notes-sync/trash'));
  assert.deepEqual(
    trash.map((name) => synced.read(`.notes-sync/trash/${name}`)),
    ['a'],
  );
});

test('sync: what somebody puts where a broken run took a file away is no loss', async (t) => {
  const got = await startTaken(t, 'get');
  got.write('a.md', 'here');
  await assertTexts(got, ['here', 'there']);
  const moved = await startTaken(t, 'move');
  moved.write('a.md', 'here');
  await assertTexts(moved, ['a', 'here']);
});

test('sync: of what lies aside, nothing is lost that nobody has replaced', async (t) => {
  const synced = start(t);
  for (const path of ['blank.md', 'other.md', 'taken.md']) synced.write(path, path);
  await synced.sync();
  const aside = (expected: string, path: string, text: string) =>
    synced.write(`.notes-sync/aside/${hashOf(expected)}-x/${path}`, text);
  aside('taken.md', 'taken.md', 'taken.md');
  aside('blank.md', 'blank.md', ' ');
  aside('other.md', 'other.md', 'written later');
  aside('missing', 'deep/missing.md', 'written later, too');
  await assertTexts(synced, [
    ...['blank.md', 'other.md', 'taken.md'],
    ...['written later', 'written later, too'],
  ]);
  assert.equal(synced.read('deep/missing.md'), 'written later, too');
  assert.equal(readdirSync(synced.at('.notes-sync/trash')).length, 2);
});

test('sync: a note that is created anew with the text of a file that is gone', async (t) => {
  const synced = await startInStep(t);
  synced.remove('a.md');
  await synced.erase('a.md');
  await synced.put('a.md', 'a');
  await synced.sync();
  await synced.sync();
  assert.deepEqual(synced.files(), await synced.notes());
});

test('sync: a note that changes while all notes are read is looked at again', async (t) => {
  const synced = await startInStep(t);
  const other = folderOf(t, synced.service, synced.prefix);
  afterAnswer(t, 'GET /notes', () => synced.put('a.md', 'later'));
  await other.sync();
  await assertTexts(other, ['later']);
});

test('sync: a note that changed while its file could be no note is looked at again', async (t) => {
  const synced = await startInStep(t);
  synced.write('a.md', Buffer.from([0xff]));
  await synced.put('a.md', 'there');
  for (let run = 0; run < 2; run += 1) assert.equal((await synced.sync()).status, 1);
  synced.write('a.md', 'a');
  await assertTexts(synced, ['there']);
});

test('sync: a deletion that was not planned is looked at twice, in the next run', async (t) => {
  const synced = await startInStep(t);
  await synced.put('a.md', 'there');
  afterAnswer(t, 'GET /changes', () => synced.erase('a.md'));
  await synced.sync();
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
  assert.equal((await synced.sync()).lines[0], 'delete here a.md');
});

test('sync: a file that is away while it is saved is not deleted', async (t) => {
  const synced = await startInStep(t);
  const { id } = await synced.note('a.md');
  setLimits(t, SYNC_TIMES, { missing: MISSING_MS });
  synced.remove('a.md');
  afterAnswer(t, 'GET /changes', async () => {
    setTimeout(() => synced.write('a.md', 'saved'), MISSING_MS / 4);
  });
  await synced.sync();
  await assertTexts(synced, ['saved']);
  assert.equal((await synced.note('a.md')).id, id);
});
