// `notes-server import`: wrong lines, existing data, interruptions, and the limits.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { headLine } from '../../../src/commands/export-format.ts';
import { typeOf } from '../../../src/resources/resource.ts';
import { RELATIONS } from '../../../src/resources/resources.ts';
import { LAUNCHER, runCommand } from '../../support/command.ts';
import { NO_RECORDS, newFile, openDatabase, openPath } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { filledFile } from '../../support/filled.ts';
import {
  breakAt,
  exported,
  type InProcessParts,
  runInProcess,
} from '../../support/in-process-command.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { assertSound } from '../../support/stored-data.ts';

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
const END = '{"type":"end","records":3}\n';
const WHOLE = HEAD + NOTES + COMMENT + END;

/** The second tag is wrong. When the first one is read, the notes before it are added. */
const TAGS = '{"type":"tag","id":1,"name":"t"}\n{"type":"tag","id":2,"name":" "}\n';

/** Returns an export that holds notes with these ids, with the last ids in its first line. */
function linesOf(ids: readonly number[], lastIds = {}): string {
  const head = {
    type: 'notes-server',
    version: 1,
    counts: { notes: ids.length },
    last_ids: lastIds,
  };
  const notes = ids.map((id) => ({ type: 'note', id, title: `title ${id}`, body: 'b' }));
  return [head, ...notes, { type: 'end', records: ids.length }]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}

/** Returns the lines without the last one, so that an import of them is not finished. */
const withoutEnd = (lines: string): string => lines.replace(/.*\n$/, '');

const imported = (db: string, input: NonNullable<InProcessParts['input']>) =>
  runInProcess(['import', '--db', db], { input });

/** Returns the path of a database without records. */
async function emptyFile(t: TestContext): Promise<string> {
  const db = newFile(t);
  await (await openDatabase(t, db)).close();
  return db;
}

function fileWith(t: TestContext, text: string): string {
  const file = join(temporaryFolder(t), 'notes.jsonl');
  writeFileSync(file, text);
  return file;
}

/** Input that is wrong, and the reason. */
const WRONG: Record<string, [input: string | Buffer, RegExp]> = {
  'an empty input': ['', /it is empty$/],
  'a byte order mark': [
    `\ufeff${WHOLE}`,
    /line 1: it is not valid JSON; remove the byte order mark at its start\.$/,
  ],
  'a blank line at the start': [`\n${WHOLE}`, /line 1: it is empty; a JSON text is expected\.$/],
  'another file': ['{"a":1}\n', /line 1: it is not an export of notes-server$/],
  'a newer version': [
    WHOLE.replace('"version":2', '"version":3'),
    /line 1: its version is 3; this program reads the versions 1 and 2$/,
  ],
  'wrong counts': [
    WHOLE.replace('"notes":2', '"notes":-2'),
    new RegExp(`line 1: counts must map ${TABLES} to whole numbers from 0 to \\d+`),
  ],
  'a missing last line': [HEAD + NOTES, /the last line is missing: the export ends after line 3$/],
  'half a line': [WHOLE.slice(0, -40), /line 4: it is not valid JSON\.$/],
  'a missing line': [
    HEAD + COMMENT.replace('3', '1') + END,
    /line 3: the first line states 3 records, the last line 3, but there are 1$/,
  ],
  'a line after the end': [
    `${WHOLE}${COMMENT}`,
    /line 6: nothing may follow the last line of an export$/,
  ],
  'a list': [`${HEAD}[]\n`, /line 2: it is not a JSON object$/],
  'bytes that are no UTF-8': [
    Buffer.from(`${HEAD}{"type":"note\xff"}\n`, 'latin1'),
    /line 2: it is not valid UTF-8\.$/,
  ],
  'an unknown type': [
    `${HEAD}{"type":"user"}\n`,
    new RegExp(`line 2: its type must be ${RELATIONS.map(typeOf).join(', ')} or end$`),
  ],
  'a blank title': [WHOLE.replace('"c"', '" "'), /line 3: title must not be blank\.$/],
  'a text that is too long': [
    WHOLE.replace('"c"', `"${'c'.repeat(501)}"`),
    /line 3: title must have at most 500 characters\.$/,
  ],
  'half a character': [WHOLE.replace('"d"', '"\\ud800"'), /line 3: body must be valid Unicode/],
  'no id': [WHOLE.replace('"id":3,', ''), /line 3: id must be a whole number from 1 to \d+$/],
  'an id that is a float': [
    WHOLE.replace('"id":3', '"id":3.0'),
    /line 3: id must be a whole number from 1 to \d+$/,
  ],
  'a number that is a float': [
    WHOLE.replace('"number":29', '"number":29e0'),
    /line 3: number must be a whole number from 1 to 40, as the first line states$/,
  ],
  'a record after blank lines that is wrong': [
    WHOLE.replace(COMMENT, `\n \t\r\n${COMMENT.replace('"e"', '" "')}`),
    /line 6: body must not be blank\.$/,
  ],
  'an id of zero': [
    WHOLE.replace('"id":1,', '"id":0,'),
    /line 2: id must be a whole number from 1 to \d+$/,
  ],
  'an id twice': [
    WHOLE.replace('"id":3', '"id":1'),
    /line 3: ids must increase within each type, but 1 follows 1$/,
  ],
  'a number of zero': [
    WHOLE.replace('"number":31', '"number":0'),
    /line 2: number must be a whole number from 1 to 40, as the first line states$/,
  ],
  'a number above the last one': [
    WHOLE.replace('"number":30', '"number":41'),
    /line 4: number must be a whole number from 1 to 40, as the first line states$/,
  ],
  'a number twice': [
    WHOLE.replace('"number":30', '"number":31'),
    /line 4: the number 31 occurs twice$/,
  ],
  'a time without milliseconds': [
    WHOLE.replace('12:00:00.000Z', '12:00:00Z'),
    /line 3: created_at must be null or a time like 9999-12-31T23:59:59\.999Z$/,
  ],
  'a time that does not exist': [
    WHOLE.replace('02-28', '02-29'),
    /line 3: updated_at must be null or a time like /,
  ],
  'a time that is a number': [
    WHOLE.replace('"2026-02-28T23:59:59.999Z"', '0'),
    /line 3: updated_at must be null or a time like /,
  ],
  'a link without its tag': [
    WHOLE.replace(
      END,
      '{"type":"note_tag","note_id":3,"tag_id":2}\n{"type":"end","records":4}\n',
    ).replace('"note_tags":0', '"note_tags":1'),
    /line 5: tag_id refers to a tag that does not exist$/,
  ],
  'a link twice': [
    HEAD + '{"type":"note_tag","note_id":3,"tag_id":2}\n'.repeat(2),
    /line 3: ids must increase within each type, but 3,2 follows 3,2$/,
  ],
  'a comment without its note': [
    WHOLE.replace('"note_id":3', '"note_id":4'),
    /line 4: note_id refers to a note that does not exist$/,
  ],
};

for (const [what, [input, reason]] of Object.entries(WRONG)) {
  test(`import: ${what} is refused, and no file is left`, async (t) => {
    const db = newFile(t);
    await assert.rejects(imported(db, input), (error: Error) => {
      assert.match(error.message, /^cannot import the input: /);
      assert.match(error.message, reason);
      return true;
    });
    assert.deepEqual(readdirSync(dirname(db)), []);
  });
}

test('import: once wrong lines are refused, the correct ones succeed', async (t) => {
  const db = newFile(t);
  for (const [input] of Object.values(WRONG).slice(-3))
    await assert.rejects(imported(db, input), /^DatabaseUnusable: cannot import the input: /);
  assert.match(
    String((await imported(db, WHOLE)).line),
    /^imported 3 records from the input into \S+, 0 already present$/,
  );
  const other = newFile(t);
  await imported(other, WHOLE);
  assert.equal(await exported(db), await exported(other));
});

test('import: a wrong line on standard input, status 1', async (t) => {
  const { status, stdout, stderr } = await runCommand(t, ['import', '--db', newFile(t)], {
    input: withoutEnd(WHOLE),
  });
  assert.match(
    stderr,
    /\nnotes-server: cannot import the input: the last line is missing: [^\n]+\n$/,
  );
  assert.deepEqual([status, stdout], [1, '']);
});

test('import: blank lines are skipped, but count as lines', async (t) => {
  const [db, other] = [newFile(t), newFile(t)];
  const spaced = WHOLE.replaceAll('\n', '\r\n\r\n \t\n');
  await imported(db, spaced);
  await imported(other, WHOLE);
  assert.equal(await exported(db), await exported(other));
  const changed = imported(db, spaced.replace('"d"', '"x"'));
  await assert.rejects(changed, /line 7: another note already has the id 3$/);
});

test('import: another record with the same id stays', async (t) => {
  const db = newFile(t);
  await imported(db, WHOLE);
  const other = imported(db, WHOLE.replace('"d"', '"x"'));
  await assert.rejects(other, /line 3: another note already has the id 3$/);
  assert.match(await exported(db), /"id":3,"title":"c","body":"d"/);
  await startService(t, { db });
});

test('import: adds to what is there, and keeps the larger last ids', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  for (const json of [NOTE, { title: 'own', body: 'b' }])
    await service.request('POST', '/notes', { json });
  await assert.rejects(
    imported(db, WHOLE),
    /another process is using it; stop that process first$/,
  );
  await service.close();
  assert.match(String((await imported(db, WHOLE)).line), /^imported 2 records from /);
  const output = await exported(db);
  assert.match(output, /"id":2,"title":"own"/);
  assert.match(output, /"last_ids":\{"changes":42,"comments":2,"notes":9\}/);
  const { request } = await startService(t, { db });
  assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, 10);
});

test('import: a line that is too long is not read to its end', async (t) => {
  let pieces = 0;
  async function* input() {
    yield Buffer.from(HEAD);
    for (; pieces < 100; pieces += 1) yield Buffer.alloc(500_000, '"');
  }
  await assert.rejects(imported(newFile(t), input()), /line 2: it has more than 2097152 bytes$/);
  assert.equal(pieces, 4);
});

test('import: adds page by page, not all at the end', async (t) => {
  const [from, db] = [await filledFile(t, 2_000), newFile(t)];
  const bytes = Buffer.from(await exported(from));
  const piece = 100_000;
  let added = 0;
  let most = 0;
  async function* input() {
    for (let read = 0; read < bytes.length; read += piece) {
      most = Math.max(most, read - added);
      yield bytes.subarray(read, read + piece);
    }
  }
  const onProgress = (line: string) => {
    added = (Number(/ (\d+) %/.exec(line)?.[1] ?? 0) / 100) * bytes.length;
  };
  await runInProcess(['import', '--db', db], { input: input(), onProgress });
  // A page, a chunk and the rounding of the progress.
  assert.ok(most < 1_500_000, `${most} bytes were read ahead`);
});

test('import: once interrupted, no service starts until another run finishes it', async (t) => {
  const [from, file, db] = [await filledFile(t, 2_000), newFile(t), await emptyFile(t)];
  await runInProcess(['export', file, '--db', from]);
  const broken = runInProcess(['import', file, '--db', db], { onProgress: breakAt('imported') });
  await assert.rejects(broken, /cannot import \S+: broken off$/);
  const half = /it holds an unfinished import: run the import again$/;
  await assert.rejects(startService(t, { db }), half);
  await assert.rejects(exported(db), half);
  await assert.rejects(runInProcess(['copy', '--from', from, '--to', db]), half);
  await runInProcess(['import', file, '--db', db]);
  assert.equal(await exported(db), readFileSync(file, 'utf8'));
  await assertSound(db);
});

test('import: once interrupted, only the same lines finish it', async (t) => {
  const [db, lines] = [await emptyFile(t), linesOf([1, 2, 3])];
  await assert.rejects(imported(db, withoutEnd(lines) + TAGS), /line 6: name must not be blank/);
  for (const other of [linesOf([7]), linesOf([])]) {
    await assert.rejects(
      imported(db, other),
      /it holds an unfinished import of another file: finish that import first$/,
    );
    await assert.rejects(startService(t, { db }), /it holds an unfinished import/);
  }
  await imported(db, lines);
  await imported(db, linesOf([7]));
  const { request } = await startService(t, { db });
  assert.equal((await request('GET', '/notes')).json.total, 4);
});

test('import: times are kept, and numbers follow those of the database in order', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  await service.request('POST', '/tags', { json: { name: 'own' } });
  const [before] = String((await service.request('GET', '/tags/1')).headers.etag).split('-');
  await service.close();
  for (const run of ['first', 'second']) {
    await imported(db, WHOLE);
    const [head = '', ...lines] = (await exported(db)).split('\n').slice(0, -2);
    assert.equal(JSON.parse(head).last_ids.changes, 41, run);
    const found = lines.map((line) => JSON.parse(line));
    assert.deepEqual(
      found.map(({ type, id, number }) => [type, id, number]),
      [
        ['note', 1, 32],
        ['note', 3, 30],
        ['tag', 1, 1],
        ['comment', 2, 31],
      ],
    );
    const { created_at: createdAt, updated_at: updatedAt } = found[1];
    assert.deepEqual(
      [createdAt, updatedAt],
      ['2026-01-31T12:00:00.000Z', '2026-02-28T23:59:59.999Z'],
    );
  }
  await assertSound(db);
  const { request } = await startService(t, { db });
  const [after, number] = String((await request('GET', '/tags/1')).headers.etag).split('-');
  assert.notEqual(after, before);
  assert.equal(number, '1"');
  const created = await request('POST', '/tags', { json: { name: 'next' } });
  assert.equal(String(created.headers.etag), `${after}-42"`);
});

test('import: records without a number get those after the last one', async (t) => {
  const db = newFile(t);
  await imported(db, WHOLE.replace(',"number":31', '').replace(',"number":30', ''));
  const numbers = (await exported(db)).match(/"number":\d+/g);
  assert.deepEqual(numbers, ['"number":41', '"number":29', '"number":42']);
  await assertSound(db);
});

test('import: once interrupted, continues with the same numbers', async (t) => {
  const db = newFile(t);
  await imported(db, linesOf([7]));
  const broken = WHOLE.replace('"note_id":3,"body"', '"note_id":4,"body"');
  await assert.rejects(
    imported(db, broken),
    /line 4: note_id refers to a note that does not exist/,
  );
  await imported(db, WHOLE);
  const numbers = (await exported(db)).match(/"number":\d+/g);
  assert.deepEqual(numbers, ['"number":32', '"number":30', '"number":1', '"number":31']);
  await assertSound(db);
});

test('import: links arrive once, beside those of the database', async (t) => {
  const [from, db] = [await filledFile(t, 3), newFile(t)];
  const all = await exported(from);
  const links = all.match(/\{"type":"note_tag".*\}/g);
  assert.deepEqual(links, [
    '{"type":"note_tag","note_id":1,"tag_id":1}',
    '{"type":"note_tag","note_id":1,"tag_id":2}',
    '{"type":"note_tag","note_id":3,"tag_id":1}',
  ]);
  const fewer = all
    .replace(`${links[1]}\n`, '')
    .replace('"note_tags":3', '"note_tags":2')
    .replace(/"records":\d+/, '"records":14');
  assert.match(String((await imported(db, fewer)).line), /^imported 14 records /);
  assert.match(String((await imported(db, all)).line), /^imported 1 record .* 14 already present$/);
  assert.deepEqual((await exported(db)).match(/\{"type":"note_tag".*\}/g), links);
  await assertSound(db);
});

test('import: numbers beyond 2 ** 52 are refused', async (t) => {
  const db = newFile(t);
  const largest = linesOf([1], { changes: 2 ** 52 }).replace('"version":1', '"version":2');
  await imported(db, linesOf([7]));
  await assert.rejects(imported(db, largest), /the numbers of its changes are too large$/);
});

test('import: a file with a wrong line adds nothing to existing data', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  for (let count = 0; count < 3; count += 1)
    await service.request('POST', '/notes', { json: NOTE });
  await service.request('DELETE', '/notes/1');
  await service.request('DELETE', '/notes/2');
  await service.close();
  for (const [lines, reason] of [
    [linesOf([1, 2, 3]), /line 4: another note already has the id 3$/],
    [withoutEnd(linesOf([1, 2])), /the last line is missing/],
    [withoutEnd(linesOf([1, 2])) + TAGS, /line 5: name must not be blank/],
  ] as const) {
    await assert.rejects(runInProcess(['import', fileWith(t, lines), '--db', db]), reason);
    const { request, close } = await startService(t, { db });
    assert.equal((await request('GET', '/notes')).json.total, 1);
    await close();
  }
  const { line } = await runInProcess(['import', fileWith(t, linesOf([1, 2])), '--db', db]);
  assert.match(String(line), /^imported 2 records from /);
});

test('import: a pipe is read only once', async (t) => {
  const [db, pipe] = [newFile(t), join(temporaryFolder(t), 'pipe')];
  await imported(db, linesOf([7]));
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const run = runInProcess(['import', pipe, '--db', db]);
  const writer = spawn('sh', ['-c', 'cat > "$0"', pipe], { stdio: ['pipe', 'ignore', 'inherit'] });
  const closed = once(writer, 'close');
  writer.stdin.end(linesOf([1, 2]));
  assert.match(String((await run).line), /^imported 2 records from /);
  await closed;
});

test('import: ids up to 2 ** 52', async (t) => {
  const [largest, beyond] = [2 ** 52, 2 ** 52 + 1];
  for (const [lines, reason] of [
    [linesOf([beyond]), /line 2: id must be a whole number from 1 to 4503599627370496$/],
    [
      linesOf([], { tags: beyond }),
      new RegExp(
        'line 1: last_ids must map notes, tags, comments, changes to whole numbers ' +
          `from 0 to ${largest}$`,
      ),
    ],
  ] as const) {
    await assert.rejects(imported(newFile(t), lines), reason);
  }
  const db = newFile(t);
  await imported(db, linesOf([largest], { tags: largest }));
  const { request } = await startService(t, { db });
  for (let id = largest + 1; id < largest + 4; id += 1) {
    assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, id);
    assert.equal((await request('POST', '/tags', { json: { name: 'a' } })).json.id, id);
  }
});

test('import: no database is made without an export', async (t) => {
  const db = newFile(t);
  const missing = runInProcess(['import', join(temporaryFolder(t), 'missing'), '--db', db]);
  await assert.rejects(missing, /cannot import \S+: there is no such file$/);
  await assert.rejects(imported(db, ''), /it is empty$/);
  await assert.rejects(imported(db, '{"type":"note"}\n'), /it is not an export of notes-server$/);
  assert.deepEqual(readdirSync(dirname(db)), []);
});

test('import: a failed one removes only the file that it has created', async (t) => {
  const wrong = withoutEnd(linesOf([1])) + TAGS;
  const db = newFile(t);
  const link = join(temporaryFolder(t), 'link.db');
  symlinkSync(db, link);
  await assert.rejects(imported(link, wrong), /name must not be blank/);
  assert.deepEqual([existsSync(db), lstatSync(link).isSymbolicLink()], [false, true]);
  writeFileSync(db, '');
  await assert.rejects(imported(link, wrong), /name must not be blank/);
  assert.deepEqual([readdirSync(dirname(db)), readFileSync(db).length], [['notes.db'], 0]);
  const empty = await emptyFile(t);
  await assert.rejects(imported(empty, wrong), /name must not be blank/);
  assert.deepEqual(readdirSync(dirname(empty)), ['notes.db']);
  await assert.rejects(runInProcess(['import', dirname(db), '--db', db]), /: it is a folder$/);
});

test('import: no file is left if the tables cannot be created', async (t) => {
  const db = newFile(t);
  const input = join(temporaryFolder(t), 'export.jsonl');
  writeFileSync(input, linesOf([1]));
  // In blocks of 512 bytes: room for the header, but not for the tables.
  const script = 'ulimit -f 20; exec "$0" "$@"';
  const words = [process.execPath, LAUNCHER, 'import', input, '--db', db];
  const { status, stderr } = spawnSync('sh', ['-c', script, ...words], { encoding: 'utf8' });
  assert.match(stderr, /^notes-server: cannot import /m);
  assert.deepEqual([status, readdirSync(dirname(db))], [1, []]);
});

test('import: no service starts on a file that a failed one removes', async (t) => {
  const db = newFile(t);
  let starting: Promise<unknown> | undefined;
  async function* input() {
    yield Buffer.from(withoutEnd(linesOf([1])) + TAGS.split('\n', 1)[0]);
    starting = openPath(db).then(({ close }) => close());
    starting.catch(() => {});
    yield Buffer.from(`\n${TAGS}`);
  }
  await assert.rejects(imported(db, input()), /cannot import/);
  await starting?.catch((error) => assert.match(error.message, /it is read-only$/));
});

test('import: messages do not quote long values', async (t) => {
  const lines = linesOf([1]);
  const long = `"${'9'.repeat(5_000)}"`;
  for (const [input, reason] of [
    [lines.replace('"title 1"', '{"toString":1}'), /line 2: title must be a string\.$/],
    [lines.replace('"title 1"', '[[[]]]'), /line 2: title must be a string\.$/],
    [lines.replace('"version":1', `"version":${long}`), /line 1: its version is not a number; /],
    [
      lines.replace('"records":1', `"records":${long}`),
      /line 3: .* the last line no number, but there are 1$/,
    ],
  ] as const) {
    await assert.rejects(imported(newFile(t), input), (error: Error) => {
      assert.match(error.message, reason);
      return error.message.length < 500;
    });
  }
});

const SCRIPT = '/usr/bin/script';

test('import: on a terminal the reason replaces the bar', (t) => {
  if (!existsSync(SCRIPT))
    return skipLoudly(t, `there is no ${SCRIPT} (of util-linux) to make a terminal`);
  const file = fileWith(t, linesOf([1, 1]));
  const line = `${process.execPath} ${LAUNCHER} import ${file} --db ${newFile(t)}`;
  const { stdout, status } = spawnSync(SCRIPT, ['-qfec', line, '/dev/null'], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(
    stdout.replaceAll('\u001b', '^'),
    /\^\[Kimported \[-+\] 0 % of 2[^\n]*\r\^\[Knotes-server: cannot import [^\n]+\n$/,
  );
});
