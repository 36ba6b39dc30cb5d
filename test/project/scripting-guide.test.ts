// The guide to scripting: its tables hold, and its scripts work.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { LAUNCHER } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { killGroup } from '../support/processes.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { until } from '../support/until.ts';
import { addressed, codeBlocks, codeIn, guide, inShell, sectionOf, tablesIn } from './documents.ts';

const service = await startService({ after });
const { url } = service;
const TEXT = guide('scripting');
const text = addressed(TEXT, url);

async function post(body: string, query = '', type = 'text/markdown') {
  const parts = { body, headers: { 'content-type': type } };
  return (await service.request('POST', `/notes${query}`, parts)).json;
}

test('scripting: the table of titles and bodies holds', async () => {
  const [rows = []] = tablesIn(sectionOf(text, 'Send and read texts'));
  assert.ok(rows.length > 4);
  for (const row of rows) {
    const [sent = '', title = '', body = sent] = row
      .flatMap(codeIn)
      .map((code) => JSON.parse(`"${code}"`));
    for (const type of ['text/markdown', 'text/plain'])
      for (const query of ['', '?tags=a']) {
        const note = await post(sent, query, type);
        assert.deepEqual([note.title, note.body], [title, body]);
      }
    assert.equal((await post(sent, '?title=a')).body, sent);
  }
});

test('scripting: the table of what clients accept holds', async () => {
  const { id } = await post('# Milk\n\nOat');
  const [rows = []] = tablesIn(sectionOf(text, 'Which form a client gets'));
  assert.ok(rows.length > 5);
  for (const row of rows) {
    const [accept = '', type] = row.flatMap(codeIn);
    const { headers } = await service.request('GET', `/notes/${id}`, { headers: { accept } });
    assert.equal(headers['content-type']?.split(';')[0], type, accept);
  }
});

test('scripting: the commands ask what is new', async (t) => {
  if (spawnSync('jq', ['--version']).status !== 0) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  const create = (title: string, ...tags: string[]) =>
    request('POST', '/notes', { json: { title, body: 'b', tags } });
  await create('Milk', 'todo');
  await create('Bread', 'todo', 'done');
  await request('PATCH', '/notes/1', { json: { body: 'c' } });
  await request('DELETE', '/notes/2');
  for (let count = 0; count < 600; count += 1) await create('a', 'other');
  const section = addressed(sectionOf(TEXT, 'Ask what is new'), url);
  const [open = '', report = '', trigger = ''] = codeBlocks(section, 'sh');
  assert.equal((await inShell('sh', open)).stdout, '1 Milk\n');
  const lines = (await inShell('sh', report.replace('limit=1000', 'limit=99'))).stdout.split('\n');
  assert.deepEqual(
    [lines.length, ...lines.slice(0, 2), lines.at(-2)],
    [602, '1 Milk', '3 a', '602 a'],
  );
  for (const script of [report, trigger])
    await assert.rejects(
      inShell('sh', script.replaceAll(url, 'http://127.0.0.1:1')),
      /curl: \(7\)/,
    );
  const running = spawn('sh', ['-c', trigger], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  running.stdout.setEncoding('utf8').on('data', (part) => {
    printed += part;
  });
  // It ends by itself if the service ends before.
  t.after(() => killGroup(running));
  // The stream begins when it is open.
  await until(async () => {
    await create('Rent', 'urgent');
    return printed !== '';
  });
  assert.match(printed, /^(?:Urgent: Rent\n)+$/);
});

test('scripting: the command undoes what a loop changed since a time', async (t) => {
  if (spawnSync('jq', ['--version']).status !== 0) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  const bodyOf = async (id: number) => (await request('GET', `/notes/${id}`)).json.body;
  const { now } = Date;
  let aheadMs = 0;
  t.mock.method(Date, 'now', () => now() + aheadMs);
  for (let id = 1; id <= 3; id += 1) {
    await request('POST', '/notes', { json: { title: `${id}`, body: 'first' } });
    await request('PATCH', `/notes/${id}`, { json: { body: `good ${id}` } });
  }
  aheadMs = 10_000;
  const since = `${new Date(now() + 5_000).toISOString().slice(0, 19)}Z`;
  for (const id of [1, 3])
    for (let count = 0; count < 20; count += 1)
      await request('PATCH', `/notes/${id}`, { json: { body: `bad ${count}` } });
  await request('DELETE', '/notes/3');
  const section = addressed(sectionOf(TEXT, 'Ask what is new'), url);
  const script = codeBlocks(section, 'sh').find((code) => code.includes('undo-since')) ?? '';
  const file = join(temporaryFolder(t), 'undo-since');
  writeFileSync(file, script.replace('limit=1000', 'limit=7'), { mode: 0o755 });
  // The times of versions, with which it compares, end with Z.
  const isElsewhere = inShell('sh', `'${file}' ${since.replace('Z', '-05:00')}`);
  await assert.rejects(isElsewhere, /usage: undo-since TIME, in UTC/);
  const unheard = script.replaceAll(url, 'http://127.0.0.1:1');
  const args = ['undo-since', since];
  await assert.rejects(inShell('sh', unheard, {}, ...args), /curl: \(7\)/);
  // Note 3 is in the trash.
  const { code, stdout, stderr } = await inShell('sh', `'${file}' ${since}`).catch(
    (error) => error,
  );
  assert.match(stderr, /404\nnot undone: note 3\n$/);
  assert.deepEqual(
    [code, stdout.match(/good \d/g), await bodyOf(1), await bodyOf(2)],
    [1, ['good 1'], 'good 1', 'good 2'],
  );
});

test('scripting: the commands back up the notes with a key of ~/.netrc', async (t) => {
  const cwd = temporaryFolder(t);
  const keys = join(cwd, 'keys');
  writeFileSync(keys, 'w\nr access=read\n', { mode: 0o600 });
  const guarded = await startService(t, { apiKeysFile: keys });
  const headers = { 'x-api-key': 'w' };
  await guarded.request('POST', '/notes', { headers, json: { title: 'a', body: 'b' } });
  const section = addressed(sectionOf(TEXT, 'Back up from another machine'), guarded.url);
  const [netrc = ''] = codeBlocks(section, 'text');
  writeFileSync(join(cwd, '.netrc'), netrc.replace('KEY', 'r'));
  const program = `'${process.execPath}' '${LAUNCHER}'`;
  const [save = '', restore = ''] = codeBlocks(section.replace('bin/notes-server', program), 'sh');
  const options = { cwd, env: { PATH: process.env.PATH, HOME: cwd } };
  const { stdout } = await inShell('sh', `set -e\n${save}${restore}`, options);
  writeFileSync(join(cwd, '.curlrc'), 'netrc\n');
  await inShell('sh', `set -e\n${save.replace('-n ', '')}`, options);
  assert.match(stdout, /^{"type":"end","records":1}\n/);
  const copy = await startService(t, { db: join(cwd, 'restored.db') });
  assert.equal((await copy.request('GET', '/notes/1')).json.body, 'b');
});

const [EDIT = ''] = codeBlocks(sectionOf(TEXT, 'Edit a note in your editor'), 'sh');

/** A service with note 1, and the script, whose editor runs commands with the file as `$1`. */
async function startEditing(t: TestContext, shell: string) {
  const service = await startService(t);
  const { url, request } = service;
  const json = { title: 'Milk', body: 'Oat\n\nRye\n\nTea' };
  await request('POST', '/notes', { json });
  const home = temporaryFolder(t);
  const editor = join(home, 'editor');
  const env = { PATH: process.env.PATH, HOME: home, EDITOR: editor, TMPDIR: home };
  /** Edits a note; resolves with the status and what is printed. */
  const edit = async (commands: string, ...args: string[]) => {
    writeFileSync(editor, `#!/bin/sh\n${commands}\ncp "$1" "${home}/opened"\n`);
    chmodSync(editor, 0o755);
    const run = inShell(shell, addressed(EDIT, url), { env }, 'edit-note', ...args);
    const { code = 0, stdout, stderr } = await run.catch((error) => error);
    return { code, printed: stdout + stderr };
  };
  const read = async () => (await request('GET', '/notes/1')).json.body;
  const change = (body: string) => `curl -sX PATCH --json '{"body":"${body}"}' ${url}/notes/1`;
  const left = () => readdirSync(home).filter((name) => !['editor', 'opened'].includes(name));
  return { change, edit, home, left, read, service };
}

for (const shell of ['sh', 'bash']) {
  test(`edit: a note is edited at its id and its name in ${shell}`, async (t) => {
    const { edit, left, read, service } = await startEditing(t, shell);
    assert.deepEqual(await edit('echo " milk" >>"$1"', '1'), { code: 0, printed: '' });
    assert.equal(await read(), 'Oat\n\nRye\n\nTea milk\n');
    const json = { title: 'Log', body: 'One' };
    for (const name of ['a.b_c-1', "Küche/it's 100%?.md"]) {
      const path = `/named/${encodeURIComponent(name)}`;
      await service.request('PUT', path, { json });
      assert.deepEqual(await edit('echo ", two" >>"$1"', name), { code: 0, printed: '' });
      assert.equal((await service.request('GET', path)).json.body, 'One, two\n');
    }
    const { etag } = (await service.request('GET', '/notes/1')).headers;
    assert.deepEqual(await edit('exit', '1'), { code: 0, printed: '' });
    assert.equal((await service.request('GET', '/notes/1')).headers.etag, etag);
    assert.deepEqual(left(), []);
  });

  test(`edit: without a note there is nothing to edit in ${shell}`, async (t) => {
    const { edit, home, left } = await startEditing(t, shell);
    for (const args of [[], [''], ['1', '2']])
      assert.deepEqual(await edit('', ...args), { code: 2, printed: 'usage: edit-note ID|NAME\n' });
    const dots = await edit('', '../notes/1');
    assert.deepEqual([dots.code, /"detail":"name must not have dot/.test(dots.printed)], [1, true]);
    for (const missing of ['42', 'missing']) {
      const { code, printed } = await edit('', missing);
      assert.equal(code, 1);
      assert.match(
        printed,
        /"detail":"(?:Note with ID 42 was not found|No note is named missing)\."/,
      );
      assert.doesNotMatch(printed, /saved|Your text/);
    }
    assert.ok(!existsSync(join(home, 'opened')));
    assert.deepEqual(left(), []);
  });

  test(`edit: what others change meanwhile is there, too, in ${shell}`, async (t) => {
    const { change, edit, home, left, read } = await startEditing(t, shell);
    const told = 'Somebody has changed the note meanwhile. Edit what comes of both changes.\n';
    // The editor is opened twice, and changes nothing the second time.
    const apart = await edit(
      `[ -e '${home}/opened' ] || { ${change('Soy\\n\\nRye\\n\\nTea')}; echo Water >>"$1"; }`,
      '1',
    );
    assert.equal(apart.code, 0);
    assert.ok(apart.printed.endsWith(told));
    assert.equal(await read(), 'Soy\n\nRye\n\nTeaWater\n');
    assert.deepEqual(left(), []);
  });
}

test('edit: both texts and the last common one are shown where they meet', async (t) => {
  const { change, edit, home, left, read } = await startEditing(t, 'sh');
  const collide = `case $(cat "$1") in
    *'<<<'*) cp "$1" ${home}/marked; sed -i '/^<<</d;/^|||/,$d' "$1" ;;
    *) ${change('Soy')} >&2; printf '# Milk\\n\\nOat\\nRice' >"$1" ;;
  esac`;
  assert.equal((await edit(collide, '1')).code, 0);
  const marked = readFileSync(join(home, 'marked'), 'utf8');
  const texts = ['yours\nOat\nRice\n', '|||||| before\nOat\n\nRye\n\nTea\n', '======\nSoy\n'];
  for (const text of texts) assert.ok(marked.includes(text), marked);
  assert.equal(await read(), 'Oat\nRice\n');
  assert.deepEqual(left(), ['marked']);
  const { code, printed } = await edit(
    `grep -q '<<<' "$1" || { ${change('Hemp')} >&2; echo Nut >"$1"; }`,
    '1',
  );
  assert.equal(code, 1);
  assert.match(printed, /\nNot saved: there are still marks of both changes\. Your text is in /);
  assert.equal(await read(), 'Hemp');
});

test('edit: a note whose name is free meanwhile is not created again', async (t) => {
  const { edit, service } = await startEditing(t, 'sh');
  await service.request('PUT', '/named/log', { json: { title: 'Log', body: 'One' } });
  const remove = `curl -sX DELETE ${service.url}/named/log; echo x >>"$1"`;
  const { code, printed } = await edit(remove, 'log');
  assert.equal(code, 1);
  assert.match(
    printed,
    /No note is named log\.[\s\S]*\nNot saved: the note cannot be read any more\./,
  );
  assert.equal((await service.request('GET', '/named/log')).status, 404);
});

test('edit: a text that is not saved stays, with the reason', async (t) => {
  const { edit, read, service } = await startEditing(t, 'sh');
  const remove = `curl -sX DELETE ${service.url}/notes/1; echo x >>"$1"`;
  for (const [commands, reason] of [
    ['echo x >>"$1"; exit 1', /^\nNot saved: the editor has failed\./],
    [`printf '%0100001d' 0 >"$1"`, /"status":422,[\s\S]*\nNot saved: the answer is 422\./],
    [remove, /was not found\.[\s\S]*\nNot saved: the answer is 404\./],
  ] as const) {
    const { code, printed } = await edit(commands, '1');
    assert.equal(code, 1, printed);
    assert.match(printed, reason);
    const [, file = ''] = /Your text is in (.*)\n$/.exec(printed) ?? [];
    assert.match(readFileSync(file, 'utf8'), /x\n$|^0+1?$/);
    if (commands !== remove) assert.equal(await read(), 'Oat\n\nRye\n\nTea');
  }
});
