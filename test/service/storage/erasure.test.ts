// What is erased leaves no byte in the database when the service has stopped, nor in a backup.
// Its words leave the search index, too.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { checkFile } from '../../../src/commands/check.ts';
import { ERASURE_TIMES, IS_LEFT } from '../../../src/history/erasure.ts';
import { PURGES } from '../../../src/search/purge.ts';
import { guide, sectionOf } from '../../project/documents.ts';
import { LAUNCHER } from '../../support/command.ts';
import { newFile, openPath, writeForeignFile } from '../../support/databases.ts';
import { needsFile } from '../../support/engine.ts';
import { runInProcess } from '../../support/in-process-command.ts';
import { setLimits } from '../../support/overload.ts';
import { type Service, startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** Parts of texts: of an earlier one, of a deleted note, and of its comment. */
const TEXTS = ['quagga one', 'zebra two 麒麟座', 'okapi three'];
/** Words as the search index has them, also pairs of characters. */
const WORDS = ['quagga', 'zebra', 'okapi', '麒麟', '麟座'];

/** Ways to erase all of them. */
const WAYS: Record<string, (service: Service) => Promise<unknown>> = {
  'the trash': ({ request }) => request('DELETE', '/trash'),
  'a note in the trash': ({ request }) => request('DELETE', '/trash/1'),
  'the versions of a note, and its trash': async ({ request }) => {
    assert.equal((await request('POST', '/trash/1/restore')).status, 200);
    assert.equal((await request('DELETE', '/notes/1/versions')).status, 204);
    await request('DELETE', '/notes/1');
    await request('DELETE', '/trash');
  },
};

async function deleteTexts({ request }: Service): Promise<void> {
  const [earlier, deleted, comment] = TEXTS;
  // What stays, so that no page of the file is simply cut off, and the index has several pages.
  const others = Array.from({ length: 40 }, (_, note) =>
    Array.from({ length: 60 }, (_, word) => `w${note}x${word}`).join(' '),
  );
  const notes = [earlier, 'lion', ...others].map((body) => JSON.stringify({ title: 'a', body }));
  const headers = { 'content-type': 'application/x-ndjson' };
  await request('POST', '/notes', { body: notes.join('\n'), headers });
  await request('GET', '/notes?q=lion');
  await request('PUT', '/notes/1', { json: { title: 'a', body: deleted } });
  await request('POST', '/notes/1/comments', { json: { body: comment } });
  await request('GET', '/notes?q=lion');
  await request('DELETE', '/notes/1');
}

function found(folder: string, texts: readonly string[]): string[] {
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
  return texts.filter((text) => files.some((bytes) => bytes.includes(text)));
}

/** Resolves when a service on a database has removed the words from its index. */
async function purge(t: TestContext, db: string): Promise<void> {
  setLimits(t, PURGES, { firstPauseMs: 1, pauseFactor: 0, mergePauseFactor: 0, pages: 1 });
  const { request, close } = await startService(t, { db });
  // The index follows the deletion.
  assert.equal((await request('GET', '/notes?q=lion')).json.total, 1);
  const database = await openPath(db);
  const sql = 'SELECT count(*) AS count FROM note_words_data WHERE instr(hex(block), ?1)';
  for (const word of WORDS) {
    const parameter = Buffer.from(word).toString('hex').toUpperCase();
    await until(async () => (await database.read({ sql, parameter }))[0]?.count === 0);
  }
  await database.close();
  await close();
}

/** Resolves when the background has erased all that belonged to erased records. */
async function eraseRest({ file }: Service): Promise<void> {
  const database = await openPath(file);
  await until(async () => (await database.read({ sql: IS_LEFT }))[0]?.is_left === 0);
  await database.close();
}

async function assertErased(t: TestContext, file: string): Promise<void> {
  assert.deepEqual(found(dirname(file), TEXTS), []);
  const copy = newFile(t);
  await runInProcess(['backup', copy, '--db', file]);
  assert.deepEqual(found(dirname(copy), WORDS), []);
  assert.deepEqual(await checkFile(copy), []);
  await purge(t, file);
  await writeForeignFile(file, 'VACUUM');
  assert.deepEqual(found(dirname(file), [...TEXTS, ...WORDS]), []);
  assert.equal((await runInProcess(['check', file])).line, `${file}: ok`);
}

test('erasure: words leave the index of a running service', async (t) => {
  const service = await startService(t);
  await deleteTexts(service);
  await service.request('DELETE', '/trash');
  await purge(t, service.file);
});

for (const [what, erase] of Object.entries(WAYS)) {
  test(`erasure: no byte is left of ${what}`, { skip: needsFile }, async (t) => {
    setLimits(t, ERASURE_TIMES, { everyMs: 1 });
    const service = await startService(t);
    await deleteTexts(service);
    await erase(service);
    await eraseRest(service);
    await service.close();
    await assertErased(t, service.file);
  });
}

test('erasure: the commands of the guide leave no word', { skip: needsFile }, async (t) => {
  const service = await startService(t);
  await deleteTexts(service);
  await service.request('DELETE', '/trash');
  await service.close();
  const [, commands = ''] = /```sh\n([^`]*)```/.exec(sectionOf(guide('undoing'), 'Erase')) ?? [];
  const here = commands.replaceAll('bin/notes-server', `'${process.execPath}' '${LAUNCHER}'`);
  const folder = dirname(service.file);
  await promisify(execFile)('sh', ['-ec', here], { cwd: folder });
  assert.deepEqual(readdirSync(folder), ['notes.db']);
  assert.deepEqual(found(folder, [...TEXTS, ...WORDS]), []);
});

test('erasure: no byte is left with --history-days 0', { skip: needsFile }, async (t) => {
  const first = await startService(t);
  await deleteTexts(first);
  await first.close();
  setLimits(t, ERASURE_TIMES, { everyMs: 1 });
  const service = await startService(t, { db: first.file, historyDays: 0 });
  await until(async () => (await service.request('GET', '/trash')).json.total === 0);
  await eraseRest(service);
  await service.close();
  await assertErased(t, service.file);
});
