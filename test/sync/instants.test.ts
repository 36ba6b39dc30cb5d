// What happens between two effects of a run, at the one instant at which it matters.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import { type TestContext, test } from 'node:test';
import { EFFECTS, type Effect, SYNC_TIMES } from '../../src/sync/effects.ts';
import { newFile } from '../support/databases.ts';
import { needsFile } from '../support/engine.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { folderOf, type SyncedFolder, startSynced } from '../support/synced-folder.ts';

const MISSING_MS = 100;

type OnAnswer = (answer: IncomingMessage) => void;

/** Starts a service and a folder with one file, which are in step. */
async function startInStep(t: TestContext): Promise<SyncedFolder> {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.sync();
  return synced;
}

/** Runs with `happen` before the first effect of a kind. */
async function syncWith(synced: SyncedFolder, effect: Effect, happen: () => void) {
  const { before } = EFFECTS;
  let hasHappened = false;
  EFFECTS.before = (each) => {
    if (each !== effect || hasHappened) return;
    hasHappened = true;
    happen();
  };
  const ran = await synced.sync().finally(() => {
    EFFECTS.before = before;
  });
  assert.ok(hasHappened);
  return ran;
}

/** Runs until the first effect of a kind for which `isThere`, as if it was killed there. */
async function syncUntil(synced: SyncedFolder, effect: Effect, isThere = () => true) {
  const { before } = EFFECTS;
  let isOver = false;
  EFFECTS.before = (each) => {
    isOver ||= each === effect && isThere();
    if (isOver) throw new Error('killed');
  };
  await synced.sync().finally(() => {
    EFFECTS.before = before;
  });
  assert.ok(isOver);
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

test('sync: a note that changes before a send or a deletion is no loss', async (t) => {
  const sent = await startInStep(t);
  sent.write('a.md', 'here');
  afterAnswer(t, 'GET /changes', () => sent.put('a.md', 'there'));
  await assertTexts(sent, ['here', 'there']);
  const removed = await startInStep(t);
  removed.remove('a.md');
  // The first tells what is planned, the second is before the request.
  afterAnswer(t, 'GET /changes', () => removed.put('a.md', 'there'));
  await assertTexts(removed, ['there']);
});

test('sync: a file that changes before it is replaced, removed or moved is no loss', async (t) => {
  for (const effect of ['aside', 'place'] as const) {
    const got = await startInStep(t);
    await got.put('a.md', 'there');
    await syncWith(got, effect, () => got.write('a.md', 'here'));
    await assertTexts(got, ['here', 'there']);
  }
  const removed = await startInStep(t);
  await removed.service.request('DELETE', '/named/a.md');
  await syncWith(removed, 'aside', () => removed.write('a.md', 'here'));
  await assertTexts(removed, ['here']);
  const moved = await startInStep(t);
  await moved.service.request('PATCH', '/named/a.md', { json: { name: 'b.md' } });
  await syncWith(moved, 'remove', () => moved.write('a.md', 'here'));
  await assertTexts(moved, ['a', 'here']);
});

test('sync: what a broken run took away comes back', async (t) => {
  const synced = await startInStep(t);
  await synced.put('a.md', 'there');
  let isTaken = false;
  const { before } = EFFECTS;
  await syncUntil(synced, 'place', () => {
    // Somebody has written it at the last instant, and only this file has the text.
    isTaken = readdirSync(synced.at('.notes-sync/aside')).length > 0;
    return isTaken;
  });
  assert.equal(EFFECTS.before, before);
  assert.deepEqual(synced.files(), {});
  await assertTexts(synced, ['there']);
});

test('sync: a run that breaks off before an act has not noted it', async (t) => {
  for (const effect of ['aside', 'place', 'remove', 'trash'] as const) {
    const synced = await startInStep(t);
    await synced.put('a.md', 'there');
    // What was replaced goes to the trash in the next run.
    if (effect === 'trash') await synced.sync();
    await syncUntil(synced, effect);
    await assertTexts(synced, ['there']);
  }
  const sent = await startInStep(t);
  sent.write('a.md', 'here');
  await syncUntil(sent, 'request');
  await assertTexts(sent, ['here']);
  const moved = await startInStep(t);
  await moved.service.request('PATCH', '/named/a.md', { json: { name: 'b.md' } });
  await syncUntil(moved, 'place');
  await assertTexts(moved, ['a']);
});

test('sync: a text whose answer was lost is no change of somebody else', async (t) => {
  for (const path of ['a.md', 'new.md']) {
    const synced = await startInStep(t);
    synced.write(path, 'sent');
    let isSent = false;
    afterAnswer(t, path === 'a.md' ? 'PATCH' : 'POST', async () => {
      isSent = true;
    });
    await syncUntil(synced, 'state', () => isSent);
    synced.write(path, 'later');
    await assertTexts(synced, path === 'a.md' ? ['later'] : ['a', 'later']);
  }
});

test('sync: a note that changes while all notes are read is looked at again', async (t) => {
  const synced = await startInStep(t);
  const other = folderOf(t, synced.service);
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

test('sync: a note that changes behind the changes of a run is in the next run', async (t) => {
  const synced = await startInStep(t);
  synced.write('b.md', 'b');
  afterAnswer(t, 'POST', () => synced.put('a.md', 'there'));
  await synced.sync();
  await assertTexts(synced, ['b', 'there']);
});

test('sync: a first run that breaks off, and then another service: nothing is deleted', {
  skip: needsFile,
}, async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md']) await synced.put(path, path);
  for (let states = 1, isThere = true; isThere; states += 1) {
    const folder = folderOf(t, synced.service);
    // On a new file, which has a generation of its own.
    const other = await startSynced(t, { db: newFile(t) });
    folder.write('c.md', 'c');
    let count = 0;
    isThere = await syncUntil(folder, 'state', () => {
      count += 1;
      return count === states;
    }).then(
      () => true,
      () => false,
    );
    const files = folder.files();
    await runInProcess(['sync', folder.folder, other.service.url]);
    assert.deepEqual(folder.files(), { ...files, ...(await other.notes()) }, `state ${states}`);
    assert.deepEqual(await other.notes(), folder.files());
  }
});

test('sync: a file that is away while it is saved is not deleted', async (t) => {
  const synced = await startInStep(t);
  const { id } = await synced.note('a.md');
  const { missing } = SYNC_TIMES;
  SYNC_TIMES.missing = MISSING_MS;
  t.after(() => {
    SYNC_TIMES.missing = missing;
  });
  synced.remove('a.md');
  afterAnswer(t, 'GET /changes', async () => {
    setTimeout(() => synced.write('a.md', 'saved'), MISSING_MS / 4);
  });
  await synced.sync();
  await assertTexts(synced, ['saved']);
  assert.equal((await synced.note('a.md')).id, id);
});
