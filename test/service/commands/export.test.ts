// `notes-server export` and `import` as their users meet them: out beside a service and in again, after a break, and where a
// line is wrong.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { exportLines } from '../../../src/commands/export.ts';
import { importLines } from '../../../src/commands/import.ts';
import type { StorageOptions } from '../../../src/storage/open.ts';
import {
  assertRefused,
  type CommandParts,
  type Ending,
  LAUNCHER,
  runCommand,
  startCommand,
} from '../../support/command.ts';
import { newFile } from '../../support/databases.ts';
import { clusterAddress } from '../../support/engine.ts';
import { filledFile, ODD_TEXTS } from '../../support/filled.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.ts';
import { assertSound } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

const HEAD = '{"type":"notes-server","version":1,"counts":{"notes":2,"tags":0,"comments":1},"last_ids":{"notes":9}}\n';
const NOTES = '{"type":"note","id":1,"title":"a","body":"b"}\n{"type":"note","id":3,"title":"c","body":"d"}\n';
const COMMENT = '{"type":"comment","id":2,"note_id":3,"body":"e"}\n';
const END = '{"type":"end","records":3}\n';
const QUIET = { isTerminal: false, write() {} };
const WHOLE = HEAD + NOTES + COMMENT + END;

const exported = (t: TestContext, db: string, ...file: string[]): Promise<Ending> =>
  runCommand(t, ['export', ...file, '--db', db]);

const imported = (t: TestContext, db: string, input: CommandParts['input'] = ''): Promise<Ending> =>
  runCommand(t, ['import', '--db', db], { input });

/** Asserts that a command failed, and said in its last line why. */
function assertFailed({ status, stdout, stderr }: Ending, reason: RegExp): void {
  assert.match(stderr, /(?:^|\n)notes-server: [^\n]+\n$/);
  assert.match(stderr, reason);
  assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
}

test('what is exported beside a service is imported as it was, served, and exported again byte by byte', async (t) => {
  const from = await filledFile(t, 3_000);
  const service = await startService(t, { db: from });
  const file = newFile(t);
  const out = await exported(t, from, file);
  assert.deepEqual([out.status, out.stdout], [0, `${file} holds 3,006 notes, 2 tags, 1 comments\n`]);
  assert.match(out.stderr, /^exported [\s\S]*\nexported 100 % of 3,009, [\d,]+\/s\n$/);
  assert.equal((await service.request('GET', '/health')).status, 200);
  assert.equal(statSync(file).mode, statSync(from).mode);
  const lines = readFileSync(file, 'utf8').split('\n');
  assert.equal(lines.length, 3_009 + 3);
  assert.deepEqual(JSON.parse(lines[3_000] ?? ''), {
    type: 'note',
    id: 3_001,
    title: ODD_TEXTS[0],
    body: ODD_TEXTS[0],
  });

  const db = newFile(t);
  for (const added of ['3,009', '0']) {
    const into = await runCommand(t, ['import', file, '--db', db]);
    const line = `${db} holds the 3,009 records of ${file}; ${added} were not there before\n`;
    assert.deepEqual([into.status, into.stdout], [0, line]);
    assert.equal((await exported(t, db)).stdout, readFileSync(file, 'utf8'));
  }
  const { request } = await startService(t, { db });
  for (const [index, text] of ODD_TEXTS.entries()) {
    const { json } = await request('GET', `/notes/${3_001 + index}`);
    assert.deepEqual([json.title, json.body], [text, text]);
  }
  assert.equal((await request('POST', '/notes', { json: { title: 'a', body: 'b' } })).json.id, 3_009);
  await assertSound(db);
});

test('an export is of one moment, whatever is written while it goes on', async (t) => {
  const from = await filledFile(t, 20_000);
  const service = await startService(t, { db: from });
  const before = (await exported(t, from)).stdout;
  const reader = spawn(process.execPath, [LAUNCHER, 'export', '--db', from], { stdio: ['ignore', 'pipe', 'ignore'] });
  const closed = once(reader, 'close');
  // It has begun, and cannot go on while nobody reads.
  const [first] = await once(reader.stdout.setEncoding('utf8').pause(), 'readable').then(() => [reader.stdout.read()]);
  assert.equal((await service.request('PUT', '/notes/20000', { json: { title: 'other', body: 'b' } })).status, 200);
  assert.equal((await service.request('DELETE', '/notes/19999')).status, 204);
  let text = String(first);
  reader.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await closed;
  assert.ok(text === before);
});

test('a cluster is exported, and imported into', async (t) => {
  const [from, file] = [await filledFile(t, 100), newFile(t)];
  assert.equal((await exported(t, from, file)).status, 0);
  const db = clusterAddress((await startStandIn(t)).nodes);
  assert.equal((await runCommand(t, ['import', file, '--db', db])).status, 0);
  assert.equal((await exported(t, db)).stdout, readFileSync(file, 'utf8'));
  await assertSound(db);
});

test('an export of a cluster in which records come or go fails, and is not whole', async (t) => {
  const { db, storage } = await cluster(t);
  const { request } = await startService(t, { db });
  const note = { title: 'a', body: 'b' };
  assert.equal((await request('POST', '/notes', { json: note })).status, 201);
  const parts: string[] = [];
  const write = async (text: string) => {
    parts.push(text);
    if (parts.length === 1) assert.equal((await request('POST', '/notes', { json: note })).status, 201);
  };
  await assert.rejects(exportLines(storage, undefined, write, QUIET), /records came or went meanwhile: run it again/);
  assert.doesNotMatch(parts.join(''), /"end"/);
});

test('while a cluster is imported into, its services keep nothing new', async (t) => {
  const { db, storage } = await cluster(t);
  const { request } = await startService(t, { db });
  const post = async () => (await request('POST', '/notes', { json: { title: 'a', body: 'b' } })).status;
  async function* input() {
    yield Buffer.from(HEAD + NOTES + COMMENT);
    assert.equal((await request('GET', '/notes')).json.total, 2);
    assert.equal(await post(), 503);
    yield Buffer.from(END);
  }
  await importLines(undefined, input(), storage, QUIET);
  assert.equal(await post(), 201);
  assert.equal((await request('GET', '/notes')).json.items.at(-1).id, 10);
});

/** Returns an empty cluster, and how a command is told of it. */
async function cluster(t: TestContext): Promise<{ db: string; storage: StorageOptions }> {
  const db = clusterAddress((await startStandIn(t)).nodes);
  return { db, storage: { db, dbPassword: undefined, dbPasswordFile: undefined } };
}

test('who closes the pipe has seen enough: that is no error to be told', async (t) => {
  const from = await filledFile(t, 5_000);
  const reader = spawn(process.execPath, [LAUNCHER, 'export', '--db', from], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  reader.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  await once(reader.stdout, 'data');
  reader.stdout.destroy();
  assert.deepEqual(await once(reader, 'close'), [1, null]);
  assert.doesNotMatch(stderr, /notes-server|Error/);
});

test('an export that is killed, or finds no room, leaves no file, and is not in the way of the next', async (t) => {
  const from = await filledFile(t, 100_000);
  const file = newFile(t);
  const first = startCommand(t, ['export', file, '--db', from]);
  const unfinished = `${file}.unfinished-${first.process.pid}`;
  await until(() => existsSync(unfinished) && statSync(unfinished).size > 0);
  first.process.kill('SIGKILL');
  await first.ended;
  assert.ok(!existsSync(file));
  assert.equal((await exported(t, from, file)).status, 0);
  assert.deepEqual(readdirSync(dirname(file)), [basename(file)]);
  assertRefused(await exported(t, from, file), 1, /is there already$/m);
  const folder = smallDisk(t);
  if (!folder) return skipLoudly(t, NO_MOUNT);
  assertFailed(await exported(t, from, `${folder}/notes.jsonl`), /cannot write \S+notes\.jsonl: ENOSPC/);
  assert.deepEqual(readdirSync(folder), []);
});

test('an import that is killed again and again is finished by the last run; until then no service starts', async (t) => {
  const [from, file, db] = [await filledFile(t, 40_000), newFile(t), newFile(t)];
  assert.equal((await exported(t, from, file)).status, 0);
  const args = ['import', file, '--db', db];
  for (const tenth of ['1', '3', '5']) {
    const run = startCommand(t, args);
    await run.says(`imported ${tenth}`);
    run.process.kill('SIGKILL');
    assert.equal((await run.ended).signal, 'SIGKILL');
    const half = /an import into it was not finished: run it again/;
    assertRefused(await runCommand(t, ['--port', '0', '--db', db]), 1, half);
    assertRefused(await exported(t, db), 1, half);
    assertRefused(await runCommand(t, ['copy', '--from', from, '--to', db]), 1, half);
  }
  assert.equal((await runCommand(t, args)).status, 0);
  assert.equal((await exported(t, db)).stdout, readFileSync(file, 'utf8'));
  await assertSound(db);
});

test('a file that a service uses is not imported into', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  assertRefused(await imported(t, db, WHOLE), 1, /another process holds a lock on it/);
  await service.close();
  assert.equal((await imported(t, db, WHOLE)).status, 0);
  const { request } = await startService(t, { db });
  assert.equal((await request('POST', '/notes', { json: { title: 'a', body: 'b' } })).json.id, 10);
});

test('an import adds what is missing beside what is there, and keeps the larger of the last ids', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  for (const json of [
    { title: 'a', body: 'b' },
    { title: 'own', body: 'b' },
  ]) {
    await service.request('POST', '/notes', { json });
  }
  await service.close();
  assert.match((await imported(t, db, WHOLE)).stdout, /; 2 were not there before$/m);
  const { stdout } = await exported(t, db);
  assert.match(stdout, /"id":2,"title":"own"/);
  assert.match(stdout, /"last_ids":\{"comments":2,"notes":9\}/);
});

/** Input that is wrong, and how that is told. */
const WRONG: Record<string, [input: string | Buffer, RegExp]> = {
  'is empty': ['', /there is nothing in it$/m],
  'is another file': ['{"a":1}\n', /line 1: it is no export of notes-server$/m],
  'is of a newer version': [WHOLE.replace('"version":1', '"version":2'), /line 1: it has version 2; .* knows 1$/m],
  'has wrong counts': [
    WHOLE.replace('"notes":2', '"notes":-2'),
    /line 1: counts must be whole numbers from 0 to \d+ by notes, tags, /,
  ],
  'was cut off between lines': [HEAD + NOTES, /the last line is missing: it was cut off after line 3$/m],
  'was cut off in a line': [WHOLE.slice(0, -40), /line 4: it is no JSON in UTF-8$/m],
  'lacks a line': [
    HEAD + COMMENT.replace('3', '1') + END,
    /line 3: the first line says 3 records, the last 3, and there are 1$/m,
  ],
  'has more after its end': [`${WHOLE}${COMMENT}`, /line 6: it stands after the last one$/m],
  'has a list in it': [`${HEAD}[]\n`, /line 2: it is no JSON object$/m],
  'has bytes that are no UTF-8': [
    Buffer.from(`${HEAD}{"type":"note\xff"}\n`, 'latin1'),
    /line 2: it is no JSON in UTF-8$/m,
  ],
  'has a type of its own': [`${HEAD}{"type":"user"}\n`, /line 2: its type must be note, tag, comment or end$/m],
  'has a blank title': [WHOLE.replace('"c"', '" "'), /line 3: title must not be blank\.$/m],
  'has a text too long': [
    WHOLE.replace('"c"', `"${'c'.repeat(501)}"`),
    /line 3: title must NOT have more than 500 characters\.$/m,
  ],
  'has half a character': [WHOLE.replace('"d"', '"\\ud800"'), /line 3: body must be valid Unicode/],
  'has no id': [WHOLE.replace('"id":3,', ''), /line 3: id must be a whole number from 1 to \d+$/m],
  'has an id of zero': [WHOLE.replace('"id":1,', '"id":0,'), /line 2: id must be a whole number from 1 to \d+$/m],
  'has an id twice': [WHOLE.replace('"id":3', '"id":1'), /line 3: the ids of each type must rise, and 1 does not$/m],
  'has a comment on nothing': [WHOLE.replace('"note_id":3', '"note_id":4'), /line 4: note_id names nothing$/m],
};

for (const [what, [input, reason]] of Object.entries(WRONG)) {
  test(`an import that ${what} is told in one line, and the right one can follow`, async (t) => {
    const db = newFile(t);
    const ending = await imported(t, db, input);
    assertFailed(ending, /^notes-server: cannot import the input: /m);
    assertFailed(ending, reason);
    assert.match((await imported(t, db, WHOLE)).stdout, /holds the 3 records of the input/);
    const all = HEAD.replace('"last_ids":{', '"last_ids":{"comments":2,') + NOTES + COMMENT + END;
    assert.equal((await exported(t, db)).stdout, all);
  });
}

test('another record under an id is told with its line, and stays as it is', async (t) => {
  const db = newFile(t);
  assert.equal((await imported(t, db, WHOLE)).status, 0);
  const other = WHOLE.replace('"d"', '"x"');
  assertFailed(await imported(t, db, other), /line 3: another note has the id 3 already$/m);
  assert.match((await exported(t, db)).stdout, /"id":3,"title":"c","body":"d"/);
  await startService(t, { db });
});

test('a line without an end is refused before it has been read', async (t) => {
  const line = Buffer.alloc(30_000_000, '"');
  assertFailed(
    await imported(t, newFile(t), Buffer.concat([Buffer.from(HEAD), line])),
    /line 2: it has more than 2097152 bytes$/m,
  );
});

test('neither way keeps what it is through with in memory', async (t) => {
  const told = 'process.on("exit",()=>process.stderr.write("peak "+process.resourceUsage().maxRSS+"\\n"))';
  // More than a heap of 48 MB, the cache of the database and the program itself could hold: there are 126 MB of notes.
  const node = ['--max-old-space-size=48', '--import', `data:text/javascript,${encodeURIComponent(told)}`];
  const [from, file] = [await filledFile(t, 120_000), newFile(t)];
  for (const args of [
    ['export', file, '--db', from],
    ['import', file, '--db', newFile(t)],
  ]) {
    const { status, stderr } = await runCommand(t, args, { node });
    assert.equal(status, 0, stderr);
    const peakMegabytes = Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1_024;
    t.diagnostic(`${args[0]}: ${Math.round(peakMegabytes)} MB at most`);
    assert.ok(peakMegabytes < 300, stderr);
  }
});

test('an export or import with wrong words is told in one line, with exit status 2', async (t) => {
  for (const kind of ['export', 'import']) {
    for (const args of [['a', 'b'], ['--db', ':memory:'], [''], ['a', '--port', '0']]) {
      assertRefused(await runCommand(t, [kind, ...args]), 2, /see --help/);
    }
  }
  assertRefused(await exported(t, newFile(t), '-'), 1, /there is no such file/);
  assertFailed(await runCommand(t, ['import', newFile(t), '--db', newFile(t)]), /cannot import \S+: ENOENT/);
});
