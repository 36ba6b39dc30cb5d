// `notes-server import`: wrong lines, existing data, interruptions, and the limits.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { headLine } from '../../../src/commands/export-format.ts';
import { typeOf } from '../../../src/resources/relation.ts';
import { RELATIONS } from '../../../src/storage/schema/steps.ts';
import { assertRefused, LAUNCHER, runCommand } from '../../support/command.ts';
import { NO_RECORDS, newFile } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { filledFile } from '../../support/filled.ts';
import {
  breakAt,
  exported,
  type InProcessParts,
  runInProcess,
} from '../../support/in-process-command.ts';
import { exportLine } from '../../support/records.ts';
import { setIndexTimes } from '../../support/search-index.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';
import { hasTerminals, SCRIPT } from '../../support/terminal.ts';

const TABLES = Object.keys(NO_RECORDS).join(', ');
const NOTE = { title: 'a', body: 'b' };
const HEAD = headLine({
  counts: { ...NO_RECORDS, notes: 2, comments: 1 },
  lastIds: { changes: 40, notes: 9 },
});
const NOTES =
  '{"type":"note","id":1,"title":"a","body":"b","number":31,' +
  '"created_at":null,"updated_at":null}\n' +
  '{"type":"note","id":3,"title":"c","body":"d","number":29,' +
  '"created_at":"2026-01-31T12:00:00.000Z","updated_at":"2026-02-28T23:59:59.999Z"}\n';
const COMMENT =
  '{"type":"comment","id":2,"note_id":3,"body":"e","number":30,' +
  '"created_at":null,"updated_at":null}\n';
const TAG = '{"type":"tag","id":2,"name":"t","number":28}\n';
const END = '{"type":"end","records":3}\n';
const WHOLE = HEAD + NOTES + COMMENT + END;

const imported = (db: string, input: NonNullable<InProcessParts['input']>) =>
  runInProcess(['import', '--db', db], { input });

const changed = (from: string, to: string) => WHOLE.replace(from, to);

const ID = 'id must be a whole number from -4503599627370496 to 4503599627370496';
const NUMBER = 'number must be a whole number from 1 to 40, as the first line states';
const DELETED =
  '{"type":"deleted_note","id":1,"position":1,"deleted_at":null,"name":null,"tag_ids":[3],' +
  '"number":31,"created_at":null,"updated_at":null,"title":"a","body":"b"}\n';
const LINK = '{"type":"note_tag","note_id":3,"tag_id":2}\n';
const nameLine = (id: number, name: unknown) =>
  `${JSON.stringify({ type: 'note_name', note_id: id, name })}\n`;
const NO_PARENT = 'it refers to a record that does not exist';
const SAME = 'an earlier line has the same';
const TIME = 'must be null or a time like 9999-12-31T23:59:59.999Z';
const NO_NAME = 'name must not have dot segments, but segment 2 of 2 is one';

/** Input that is wrong, and the end of the message. */
const WRONG: Record<string, [input: string | Buffer, reason: string]> = {
  'an empty input': ['', 'it is empty'],
  'a byte order mark': [
    `\ufeff${WHOLE}`,
    'line 1: it is not valid JSON at column 1: expected a value, found a byte order mark.',
  ],
  'a blank line at the start': [`\n${WHOLE}`, 'line 1: it is empty; a JSON text is expected.'],
  'another file': ['{"a":1}\n', 'line 1: it is not an export of notes-server'],
  'another version': [
    changed('"version":5', '"version":6'),
    'line 1: this program reads versions 2 to 5',
  ],
  'a version that is a text': [
    changed('"version":5', '"version":"5"'),
    'line 1: this program reads versions 2 to 5',
  ],
  'wrong counts': [
    changed('"notes":2', '"notes":-2'),
    `line 1: counts must map ${TABLES}, deleted_comments to whole numbers from 0 to ${2 ** 52}`,
  ],
  'a missing last line': [HEAD + NOTES, 'the last line is missing: the export ends after line 3'],
  'half a line': [
    WHOLE.slice(0, -40),
    'line 4: it is not valid JSON at column 85: it ends too early, expected the rest of a string.',
  ],
  'a missing line': [
    HEAD + NOTES + END,
    'line 4: the first line states 1 in comments, but there are 0',
  ],
  'a record of another kind': [
    changed('"notes":2,"tags":0', '"notes":1,"tags":1'),
    'line 5: the first line states 1 in notes, but there are 2',
  ],
  'a record of a table without a count': [
    changed(',"comments":1', ''),
    'line 5: the first line states 0 in comments, but there are 1',
  ],
  'a line after the end': [
    `${WHOLE}${COMMENT}`,
    'line 6: nothing may follow the last line of an export',
  ],
  'a list': [`${HEAD}[]\n`, 'line 2: it is not a JSON object'],
  'bytes that are no UTF-8': [
    Buffer.from(`${HEAD}{"type":"note\xff"}\n`, 'latin1'),
    'line 2: it is not valid UTF-8 at column 14.',
  ],
  'an unknown type': [
    `${HEAD}{"type":"user"}\n`,
    `line 2: its type must be ${RELATIONS.map(typeOf).join(', ')} or end`,
  ],
  'a blank title': [changed('"c"', '" "'), 'line 3: title must not be blank.'],
  'half a character': [
    changed('"d"', '"\\ud800"'),
    'line 3: body must be valid Unicode, without lone surrogates.',
  ],
  'no id': [changed('"id":3,', ''), `line 3: ${ID}`],
  'an id that is a float': [changed('"id":3', '"id":3.0'), `line 3: ${ID}`],
  'an id that is too large': [changed('"id":3', `"id":${2 ** 52 + 1}`), `line 3: ${ID}`],
  'a record after blank lines that is wrong': [
    changed(COMMENT, `\n \t\r\n${COMMENT.replace('"e"', '" "')}`),
    'line 6: body must not be blank.',
  ],
  'an id twice': [changed('"id":3', '"id":1'), 'line 3: an earlier line has the same id'],
  'a record without a number': [changed(',"number":31', ''), `line 2: ${NUMBER}`],
  'a number of zero': [changed('"number":31', '"number":0'), `line 2: ${NUMBER}`],
  'a number above the last one': [changed('"number":30', '"number":41'), `line 4: ${NUMBER}`],
  'a number twice': [
    changed('"number":30', '"number":31'),
    'the number 31 belongs to 2 records, such as comment 2 and note 1',
  ],
  'a time without milliseconds': [
    changed('12:00:00.000Z', '12:00:00Z'),
    `line 3: created_at ${TIME}`,
  ],
  'a time that does not exist': [changed('02-28', '02-29'), `line 3: updated_at ${TIME}`],
  'a link without its note': [HEAD + TAG + LINK, `line 3: ${NO_PARENT}`],
  'a link without its tag': [
    headLine({ counts: { ...NO_RECORDS, notes: 2, note_tags: 1 }, lastIds: { changes: 40 } }) +
      `${NOTES}${LINK}${END}`,
    'note_tags: record 3 has no tag',
  ],
  'a link twice': [
    HEAD + NOTES + TAG + LINK.repeat(2),
    'line 6: an earlier line has the same note_id and tag_id',
  ],
  'a name that no note can have': [HEAD + NOTES + nameLine(1, 'a/..'), `line 4: ${NO_NAME}`],
  'a name that is not in NFC': [
    HEAD + NOTES + nameLine(1, 'u\u0308'),
    'line 4: name must be in NFC',
  ],
  'a name that is no text': [
    HEAD + NOTES + nameLine(1, 1),
    'line 4: name must be null or a string',
  ],
  'a name twice': [HEAD + NOTES + nameLine(1, 'a') + nameLine(3, 'a'), `line 5: ${SAME} name`],
  'two names of a note': [
    HEAD + NOTES + nameLine(1, 'a') + nameLine(1, 'b'),
    `line 5: ${SAME} note_id`,
  ],
  'a name without its note': [HEAD + NOTES + nameLine(2, 'a'), `line 4: ${NO_PARENT}`],
  'a deleted note with a name that no note can have': [
    HEAD + DELETED.replace('null,"tag', '"a/..","tag'),
    `line 2: ${NO_NAME}`,
  ],
  'a deleted note whose tags are no ids': [
    HEAD + DELETED.replace('[3]', '[3,"4"]'),
    'line 2: tag_ids must be an array of whole numbers',
  ],
  'a deleted note without a text': [
    HEAD + DELETED.replace('"b"', '" "'),
    'line 2: body must not be blank.',
  ],
  'a deleted note at no position': [
    HEAD + DELETED.replace('"position":1', '"position":0'),
    'line 2: position must be a whole number from 1 to 4503599627370496',
  ],
  'two deleted notes at one position': [
    HEAD + DELETED + DELETED.replace('"id":1', '"id":2'),
    `line 3: ${SAME} position`,
  ],
  'an earlier text without its number': [
    `${HEAD}{"type":"note_version","id":1,"note_id":1}\n`,
    `line 2: ${ID.replace('id', 'version')}`,
  ],
  'an earlier text without its note': [
    headLine({ counts: { ...NO_RECORDS, note_versions: 1 }, lastIds: {} }) +
      '{"type":"note_version","id":1,"note_id":1,"version":1,"title":"a","body":"b"}\n' +
      '{"type":"end","records":1}\n',
    'note_versions: record 1 has no note',
  ],
  'a comment without its note': [
    changed('"note_id":3', '"note_id":4'),
    'comments: record 2 has no note',
  ],
  'a note that is deleted, too': [
    headLine({ counts: { ...NO_RECORDS, notes: 2, deleted_notes: 1 }, lastIds: { changes: 40 } }) +
      `${NOTES}${DELETED}${END}`,
    'deleted_notes: note 1 is not deleted',
  ],
};

test('import: comments on deleted notes of version 4', async (t) => {
  const db = newFile(t);
  const head = HEAD.replace('"notes":2', '"notes":0')
    .replace('"comments":1', '"comments":0,"deleted_comments":1')
    .replace('"deleted_notes":0', '"deleted_notes":1')
    .replace('"version":5', '"version":4');
  const comment = COMMENT.replace('comment', 'deleted_comment').replace(
    '"note_id":3',
    '"note_id":1',
  );
  await imported(db, head + DELETED + comment + END.replace('3', '2'));
  const { request } = await startService(t, { db });
  assert.equal((await request('GET', '/notes/1/comments')).status, 404);
  assert.equal((await request('POST', '/trash/1/restore')).status, 200);
  const { items } = (await request('GET', '/notes/1/comments')).json;
  assert.deepEqual(items, [{ id: 2, note_id: 1, body: 'e' }]);
});

for (const [what, [input, reason]] of Object.entries(WRONG)) {
  test(`import: ${what} is refused`, async (t) => {
    await assert.rejects(imported(newFile(t), input), ({ message }: Error) => {
      assert.equal(message, `cannot import the input: ${reason}`);
      return true;
    });
  });
}

test('import: once wrong lines are refused, the correct ones succeed', async (t) => {
  const db = newFile(t);
  for (const [input] of Object.values(WRONG).slice(-3))
    await assert.rejects(imported(db, input), /^DatabaseUnusable: cannot import the input: /);
  const { line } = await imported(db, WHOLE);
  assert.equal(line, `imported 3 records from the input into ${db}`);
  const head = HEAD.replace('"changes":40', '"changes":40,"comments":2');
  const records = (NOTES + COMMENT).replace(/.+/g, (line) => exportLine(JSON.parse(line)));
  assert.equal(await exported(db), head + records + END);
  await assertSound(db);
});

test('import: a wrong line on standard input, status 1', async (t) => {
  const input = WHOLE.slice(0, -END.length);
  const ending = await runCommand(t, ['import', '--db', newFile(t)], { input });
  assertRefused(ending, 1, /cannot import the input: the last line is missing/);
});

test('import: blank lines are skipped', async (t) => {
  const [db, other] = [newFile(t), newFile(t)];
  await imported(db, WHOLE.replaceAll('\n', '\r\n\r\n \t\n'));
  await imported(other, WHOLE);
  assert.equal(await exported(db), await exported(other));
});

test('import: only into an empty database that nobody uses', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  const used = /another process is using it; stop that process first$/;
  await assert.rejects(imported(db, WHOLE), used);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  await service.close();
  const refusal = /^DatabaseUnusable: cannot import the input: the database is not empty: import /;
  await assert.rejects(imported(db, WHOLE), refusal);
  await startService(t, { db });
});

test('import: once interrupted, no service starts until another run finishes it', async (t) => {
  const [from, file, db] = [await filledFile(t, 2_000), newFile(t), newFile(t)];
  await runInProcess(['export', file, '--db', from]);
  const broken = runInProcess(['import', file, '--db', db], { onProgress: breakAt('imported') });
  await assert.rejects(broken, /cannot import \S+: broken off$/);
  const half = /it holds an unfinished import: run the import again$/;
  await assert.rejects(startService(t, { db }), half);
  await assert.rejects(exported(db), half);
  await runInProcess(['import', file, '--db', db]);
  assert.equal(await exported(db), readFileSync(file, 'utf8'));
  await assertSound(db);
});

test('import: the first search finds the notes at once', async (t) => {
  const db = newFile(t);
  await imported(db, WHOLE.replace('"c"', '"Crème 東京都"'));
  // A search is refused if anything is left to index.
  setIndexTimes(t, { delayMs: 60_000, maxWaitMs: -1 });
  const service = await startService(t, { db });
  for (const word of ['creme', '京都']) {
    const { status, json } = await service.request('GET', `/notes?q=${encodeURIComponent(word)}`);
    assert.deepEqual([status, json.items?.[0]?.id], [200, 3], word);
  }
});

test('import: ids up to 2 ** 52', async (t) => {
  const largest = 2 ** 52;
  const withTags = (id: number) => WHOLE.replace('"notes":9', `"notes":9,"tags":${id}`);
  const beyond = imported(newFile(t), withTags(largest + 1));
  await assert.rejects(beyond, /last_ids must map [a-z, ]+ to whole numbers from 0 to \d+$/);
  const db = newFile(t);
  await imported(db, withTags(largest).replace('"id":1', `"id":${largest}`));
  const { request } = await startService(t, { db });
  for (let id = largest + 1; id < largest + 4; id += 1) {
    assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, id);
    assert.equal((await request('POST', '/tags', { json: { name: 'a' } })).json.id, id);
  }
});

test('import: no database is made without an export', async (t) => {
  const db = newFile(t);
  for (const [file, reason] of [
    [`${db}.jsonl`, /cannot import \S+: ENOENT: no such file or directory/],
    [dirname(db), /: EISDIR: /],
    ['/dev/null', /it is empty$/],
    [LAUNCHER, /line 1: it is not valid JSON/],
  ] as const)
    await assert.rejects(runInProcess(['import', file, '--db', db]), reason);
  assert.deepEqual(readdirSync(dirname(db)), []);
});

test('import: on a terminal the reason replaces the progress', (t) => {
  if (!hasTerminals(t)) return;
  const file = join(temporaryFolder(t), 'notes.jsonl');
  writeFileSync(file, changed('"id":3', '"id":1'));
  const line = `${process.execPath} ${LAUNCHER} import ${file} --db ${newFile(t)}`;
  const { stdout, status } = spawnSync(SCRIPT, ['-qfec', line, '/dev/null'], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(
    stdout.replaceAll('\u001b', '^'),
    /\^\[Kimported 0 % of 3[^\n]*\r\^\[Knotes-server: cannot import [^\n]+\n$/,
  );
});
