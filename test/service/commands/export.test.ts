// `notes-server export`: beside a service, to a file or a pipe, and back through `import`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runCommand, startCommand } from '../../support/command.ts';
import { newFile } from '../../support/databases.ts';
import { clusterAddress, temporaryFolder } from '../../support/engine.ts';
import { filledFile, ODD_TEXTS } from '../../support/filled.ts';
import {
  breakAt,
  exported,
  type InProcessParts,
  runInProcess,
} from '../../support/in-process-command.ts';
import { expected } from '../../support/records.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.ts';
import { assertSound } from '../../support/stored-data.ts';

const NOTE = { title: 'a', body: 'b' };

const exportTo = (file: string, db: string, parts?: InProcessParts) =>
  runInProcess(['export', file, '--db', db], parts);

async function emptyCluster(t: TestContext): Promise<string> {
  return clusterAddress((await startStandIn(t)).nodes);
}

test('export: import and another export give the same bytes', async (t) => {
  const from = await filledFile(t, 1_100);
  const service = await startService(t, { db: from });
  const file = newFile(t);
  const out = await runCommand(t, ['export', file, '--db', from]);
  const stdout = `exported 1,114 records to ${file}\n`;
  assert.deepEqual(out, { status: 0, signal: null, stdout, stderr: '' });
  assert.equal((await service.request('GET', '/health')).status, 200);
  assert.equal(statSync(file).mode, statSync(from).mode);
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  assert.equal(lines.length, 1_114 + 3);
  const odd = {
    ...{ type: 'note', id: 1_101, title: ODD_TEXTS[0], body: ODD_TEXTS[0] },
    ...{ number: 1_101, created_at: null, updated_at: null },
  };
  assert.deepEqual(JSON.parse(lines[1_100] ?? ''), expected(odd));

  const db = newFile(t);
  const first = await runCommand(t, ['import', file, '--db', db]);
  const line = `imported 1,114 records from ${file} into ${db}\n`;
  assert.deepEqual([first.status, first.stdout], [0, line]);
  assert.equal(await exported(db), text);
  const { request } = await startService(t, { db });
  for (const [index, text] of ODD_TEXTS.entries()) {
    const { json } = await request('GET', `/notes/${1_101 + index}`);
    assert.deepEqual([json.title, json.body], [text, text]);
  }
  assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, 1_109);
  await assertSound(db);
});

test('export: names, trash and versions are the same after an import', async (t) => {
  const from = await startService(t, { db: newFile(t) });
  await from.request('PUT', '/named/Projekte/K%C3%BCche.md', {
    json: { ...NOTE, tags: ['x', 'y'] },
  });
  await from.request('PUT', '/notes/1', { json: { title: 'a', body: 'c' } });
  await from.request('POST', '/notes/1/comments', { json: { body: 'd' } });
  await from.request('PUT', '/named/a/%252F%20%F0%9F%98%80', { json: NOTE });
  await from.request('PATCH', '/notes/2', { json: { body: 'e' } });
  await from.request('DELETE', '/notes/1');
  const db = newFile(t);
  const { text } = await from.request('GET', '/export');
  assert.equal(text, await exported(from.file));
  const { line } = await runInProcess(['import', '--db', db], { input: text });
  assert.match(line ?? '', /^imported \d records from the input into /);
  assert.equal(await exported(db), text);
  const to = await startService(t, { db });
  for (const [method, path] of [
    ...['/trash', '/trash/1', '/named/a/%252F%20%F0%9F%98%80', '/notes/2/versions'].map(
      (path) => ['GET', path] as const,
    ),
    ['POST', '/trash/1/restore'],
    ...['', '/comments', '/versions'].map(
      (list) => ['GET', `/notes/1${list}${list ? '' : '?include=times,tags,name'}`] as const,
    ),
  ] as const) {
    const [answer, wanted] = [await to.request(method, path), await from.request(method, path)];
    assert.deepEqual([answer.status, answer.json], [200, wanted.json], path);
  }
  await assertSound(db);
});

for (const kind of ['file', 'cluster'] as const) {
  test(`export: a snapshot of a ${kind}, whatever is written meanwhile`, async (t) => {
    const file = await filledFile(t, 1_100);
    const from = kind === 'file' ? file : await emptyCluster(t);
    const before = await exported(file);
    if (kind === 'cluster') await runInProcess(['import', '--db', from], { input: before });
    await assertSound(from);
    const { request } = await startService(t, { db: from });
    const statuses: number[] = [];
    const onOutput = async () => {
      if (statuses.length > 0) return;
      statuses.push((await request('PUT', '/notes/1100', { json: NOTE })).status);
      statuses.push((await request('DELETE', '/notes/1099')).status);
      statuses.push((await request('POST', '/notes', { json: NOTE })).status);
    };
    const { output } = await runInProcess(['export', '--db', from], { onOutput });
    assert.deepEqual(statuses, [200, 204, 201]);
    assert.ok(output === before);
  });
}

test('export: page by page, not all at once', async (t) => {
  const from = await filledFile(t, 3_000);
  const sizes: number[] = [];
  const onOutput = (text: string) => void sizes.push(text.length);
  await runInProcess(['export', '--db', from], { onOutput });
  assert.ok(Math.max(...sizes) < 1_300_000, String(sizes));
});

test('export: the copy of a cluster leaves no file behind, and is the latest state', async (t) => {
  const standIn = await startStandIn(t);
  const db = clusterAddress(standIn.nodes);
  const { request } = await startService(t, { db });
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
  const folder = temporaryFolder(t);
  const before = process.env.TMPDIR ?? '';
  t.after(() => {
    process.env.TMPDIR = before;
  });
  process.env.TMPDIR = folder;
  const onOutput = () => assert.deepEqual(readdirSync(folder), []);
  await runInProcess(['export', '--db', db], { onOutput });
  for (const [fault, reason] of [
    ['stale', /: the leader has changed: run the export again$/],
    ['forbidden', /: the cluster refuses \/db\/backup: wrong user name or password, or/],
  ] as const) {
    standIn.faults.push({ fault, of: 'backup' });
    await assert.rejects(exported(db), reason);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test('import: a cluster takes no writes meanwhile', async (t) => {
  const db = await emptyCluster(t);
  const { request } = await startService(t, { db });
  const post = async () => (await request('POST', '/notes', { json: NOTE })).status;
  const [head = '', ...lines] = (await exported(await filledFile(t, 1))).split(/(?<=\n)/);
  const end = lines.pop() ?? '';
  async function* input() {
    // Enough for a first transaction.
    yield Buffer.from([head, ...lines, ' '.repeat(1_048_576), '\n'].join(''));
    assert.equal((await request('GET', '/notes')).json.total, 7);
    assert.equal(await post(), 503);
    yield Buffer.from(end);
  }
  await runInProcess(['import', '--db', db], { input: input() });
  assert.equal(await post(), 201);
  assert.equal((await request('GET', '/notes')).json.items.at(-1).id, 10);
});

test('export: a closed pipe ends it without a message', async (t) => {
  // More than the system keeps of what nobody reads.
  const from = await filledFile(t, 5_000);
  const command = startCommand(t, ['export', '--db', from], { coverage: true });
  const { stdout } = command.process;
  assert.ok(stdout);
  await once(stdout, 'data');
  stdout.destroy();
  const { status, stderr } = await command.ended;
  assert.equal(status, 1);
  assert.doesNotMatch(stderr, /notes-server|Error/);
});

test('export: only complete files, which replace none', async (t) => {
  const [from, file] = [await filledFile(t, 10), newFile(t)];
  const broken = exportTo(file, from, { onProgress: breakAt('exported 100 %') });
  await assert.rejects(broken, /cannot write \S+: broken off$/);
  assert.deepEqual(readdirSync(dirname(file)), []);
  for (const present of [from, '/dev/stdout', '/dev/null'])
    await assert.rejects(exportTo(present, from), / already exists$/);
});

test('export: nothing is left on a full disk', async (t) => {
  const folder = smallDisk(t);
  if (!folder) return skipLoudly(t, NO_MOUNT);
  const full = exportTo(`${folder}/notes.jsonl`, await filledFile(t, 3_000));
  await assert.rejects(full, /cannot write \S+notes\.jsonl: ENOSPC: no space left/);
  assert.deepEqual(readdirSync(folder), []);
});

test('export: - is standard output, and a missing database is refused', async (t) => {
  const from = await filledFile(t, 1);
  assert.equal((await runInProcess(['export', '-', '--db', from])).output, await exported(from));
  await assert.rejects(exportTo('-', newFile(t)), /there is no such file$/);
  const text = join(dirname(from), 'text');
  writeFileSync(text, 'a shopping list\n'.repeat(100));
  await assert.rejects(exported(text), /it is not a SQLite database$/);
});
