// The guide to scripting: its tables hold, and its scripts work.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { LAUNCHER } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { expected } from '../support/records.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
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

for (const shell of ['sh', 'bash']) {
  test(`scripting: the script edits a note in ${shell}, and only its last version`, async (t) => {
    const [block = ''] = codeBlocks(sectionOf(text, 'Edit a note in your editor'), 'sh');
    assert.equal(block.trim().split('\n').length, 4);
    const folder = temporaryFolder(t);
    const editor = join(folder, 'editor');
    const { id } = await post('# Milk\n\nOat');
    const edit = (commands: string, at = id) => {
      writeFileSync(editor, `#!/bin/sh\n${commands}`);
      chmodSync(editor, 0o755);
      const env = { PATH: process.env.PATH, HOME: folder, EDITOR: editor, TMPDIR: folder };
      return inShell(shell, block, { env }, 'edit-note', String(at));
    };
    const read = async () => (await service.request('GET', `/notes/${id}`)).json;
    await edit('echo " milk" >>"$1"');
    assert.deepEqual(await read(), expected({ id, title: 'Milk', body: 'Oat milk\n' }));
    await edit('exit');
    await assert.rejects(edit('exit 1'), { code: 1 });
    await assert.rejects(edit(`touch ${folder}/opened`, id + 1), { code: 1, stderr: /404/ });
    assert.ok(!existsSync(join(folder, 'opened')));
    assert.deepEqual(await read(), expected({ id, title: 'Milk', body: 'Oat milk\n' }));
    const change = `curl -sX PATCH --json '{"body":"Soy"}' ${url}/notes/${id}; echo more >>"$1"`;
    const answered = await edit(change).catch((error) => error);
    assert.match(answered.stderr, /error: 412\nNot saved\. Your text is in /);
    const [, file = ''] = /is in (.*)/.exec(answered.stderr) ?? [];
    assert.equal(readFileSync(file, 'utf8'), '# Milk\n\nOat milk\nmore\n');
    assert.equal((await read()).body, 'Soy');
  });
}

for (const shell of ['sh', 'bash']) {
  test(`scripting: the loop sends files in ${shell}`, async (t) => {
    if (spawnSync('jq', ['--version']).error) return skipLoudly(t, 'there is no jq here');
    const cwd = temporaryFolder(t);
    const files = {
      'Bread.md': '# Bread\r\n\nFlour',
      "it's {1,2} [3-4] (a_b).md": 'x',
      'Oat milk & 東京😀%.md': '---\ntitle: Oat\n---\n',
    };
    for (const [name, body] of Object.entries(files)) writeFileSync(join(cwd, name), body);
    writeFileSync(join(cwd, 'empty.md'), '');
    const [loop = ''] = codeBlocks(sectionOf(TEXT, 'Send a folder of Markdown files'), 'sh');
    const { request, ...own } = await startService(t);
    const options = { cwd, env: { PATH: process.env.PATH, HOME: cwd } };
    for (const _ of [1, 2]) {
      const { stdout, stderr } = await inShell(shell, addressed(loop, own.url), options);
      assert.equal(stdout, '');
      assert.match(stderr, /error: 422\nNot sent: empty\.md\n.*"body must not be .*\n$/);
    }
    const { items } = (await request('GET', '/notes?include=name')).json;
    const names = ['Bread', 'it_39_s_32__123_1_44_2', 'Oat_32_milk_32__38__32__26481__20140_'];
    Object.entries(files).forEach(([file, body], at) => {
      const note = items.find((item: { title: string }) => `${item.title}.md` === file);
      assert.equal(note?.body, body, file);
      assert.ok(note.name.startsWith(`recipes.${names[at]}`), note.name);
    });
    assert.equal(items.length, 3);
  });
}

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
