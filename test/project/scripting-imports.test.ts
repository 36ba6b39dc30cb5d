// The recipes of the guide to scripting that bring notes from other programs, run on samples of the
// formats of these programs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/engine.ts';
import { startListener } from '../support/ports.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { root } from '../support/sources.ts';
import { addressed, codeBlocks, guide, inShell, sectionOf, textOf } from './documents.ts';

const section = sectionOf(guide('scripting'), 'Bring notes from other programs');
const blocks = codeBlocks(section, 'sh');
const recipeOf = (name: string) =>
  blocks.find((block) => block.endsWith(`>${name}.jsonl\n`)) ?? assert.fail(name);
const hasJq = !spawnSync('jq', ['--version']).error;
const SAMPLES = 'test/project/samples';

/** A note as the service lists it. */
type Stored = Record<'title' | 'body' | 'created_at' | 'updated_at', string> & { tags: string[] };

const NEW_YEAR = '2020-01-01T00:00:00.000Z';
const MAY = '2021-05-01T16:40:00.000Z';
const later = (time: string) => `2021-05-02T${time}Z`;

/** Where each program has its file, and the notes that its sample has. */
const FORMATS: Record<string, { from: string; to: string; notes: unknown[][]; left: string[] }> = {
  keep: {
    from: 'keep',
    to: 'Takeout/Keep',
    left: ['without text: 2020-01-01T00:00:00Z'],
    notes: [
      ['Camping', '- [x] tent\n- [ ] \n- [ ] lamp', ['home'], NEW_YEAR],
      ['Milk', 'Oat milk\n"2 l" \\ 東京 😀', ['errands', 'home'], MAY, later('09:00:00.000')],
      ['Call Ann', '\n## Call Ann\nabout the garden', [], NEW_YEAR],
      ['Buy stamps', 'Buy stamps', [], '2020-01-01T00:00:01.000Z'],
    ],
  },
  simplenote: {
    from: 'simplenote.json',
    to: 'source/notes.json',
    left: [`without text: ${MAY}`],
    notes: [
      ['Milk', 'Oat milk\n', ['errands', 'home'], MAY, later('08:00:00.500')],
      ['Only a title', 'Only a title', [], MAY],
      ['Late', ' \nLate\nbegin\\n', [], MAY],
    ],
  },
  'standard-notes': {
    from: 'standard-notes.json',
    to: 'Standard Notes Backup and Import File.txt',
    left: [`without text: ${MAY}`],
    notes: [
      ['Milk', 'Oat milk', ['errands', 'home.garden'], MAY, later('08:00:00.000')],
      [
        ...['Dear diary,', 'Dear diary,\nrain.', ['home.garden']],
        ...['2021-05-01T16:40:00.123Z', '2021-05-03T08:00:00.123Z'],
      ],
      ['Plan', 'Plan', [], MAY],
    ],
  },
  memos: {
    from: 'memos.json',
    to: 'memos.json',
    left: ['without text: 2021-05-01T16:40:00Z'],
    notes: [
      ['Milk', '# Milk\n\nOat milk #errands', ['errands'], MAY, later('08:00:00.123')],
      ['Rain\\t again', 'Rain\\t again', [], '2021-05-01T16:40:00.500Z'],
      ['Sun', 'Sun', [], MAY],
    ],
  },
};

/** Returns a folder with the script that sends notes, and what runs commands there in a shell. */
function shellIn(t: TestContext, shell: 'sh' | 'bash', env: Record<string, string> = {}) {
  const cwd = temporaryFolder(t);
  const script = (blocks[0] ?? '').replace('/bin/sh', `/usr/bin/env ${shell}`);
  writeFileSync(join(cwd, 'send-notes'), script, { mode: 0o755 });
  const options = { cwd, env: { PATH: process.env.PATH, HOME: cwd, ...env } };
  return { cwd, run: (commands: string) => inShell(shell, commands, options) };
}

/** Serves the pages of the sample of memos. */
function startMemos(t: TestContext): Promise<string> {
  const pages = JSON.parse(textOf(`${SAMPLES}/memos.json`));
  return startListener(t, (request, response) => {
    const asked = new URL(request.url ?? '', 'http://host').searchParams.get('pageToken');
    const at = ['', pages[0].nextPageToken].indexOf(asked);
    const isAllowed = request.headers.authorization === 'Bearer secret';
    response.writeHead(isAllowed ? 200 : 401).end(JSON.stringify(pages[at]));
  });
}

for (const [name, { from, to, notes, left }] of Object.entries(FORMATS)) {
  test(`scripting: the recipe brings notes of ${name} with tags and times`, async (t) => {
    if (!hasJq) return skipLoudly(t, 'there is no jq here');
    const { url, request } = await startService(t);
    const { cwd, run } = shellIn(t, 'sh', { TOKEN: 'secret' });
    cpSync(fileURLToPath(new URL(`${SAMPLES}/${from}`, root)), join(cwd, to), { recursive: true });
    const recipe = recipeOf(name);
    const memos = name === 'memos' ? await startMemos(t) : '';
    assert.equal((await run(recipe.replace('https://memos.example.com', memos))).stderr, '');
    const send = addressed(blocks[1] ?? '', url).replace('keep', name);
    const { stdout, stderr } = await run(send);
    assert.equal(stdout, `${notes.length} notes stored\n`);
    assert.equal(stderr, left.map((why) => `["DEBUG:","left out, ${why}"]\n`).join(''));
    const { items } = (await request('GET', '/notes?include=times,tags')).json;
    const stored = (items as Stored[]).map(({ title, body, tags, created_at, updated_at }) => [
      ...[title, body, tags.sort(), created_at],
      ...(updated_at === created_at ? [] : [updated_at]),
    ]);
    assert.deepEqual(stored, notes);
  });
}

test('scripting: the recipe copies notes of another service as they are', async (t) => {
  if (!hasJq) return skipLoudly(t, 'there is no jq here');
  const [source, target] = [await startService(t), await startService(t)];
  const lines = Array.from({ length: 101 }, (_, id) => `{"title":" ${id} ","body":"\\r\\nb"}`);
  const headers = { 'content-type': 'application/x-ndjson' };
  await source.request('POST', '/notes', { headers, body: lines.join('\n') });
  const old = { created_at: '2020-01-01T00:00:00Z', updated_at: '2021-01-01T00:00:00Z' };
  await source.request('PATCH', '/notes/101', { json: { tags: ['a', 'b'] } });
  await source.request('POST', '/notes', { json: { title: '# a', body: ' \u2028b', ...old } });
  const { run } = shellIn(t, 'sh');
  const recipe = recipeOf('notes-server').replace('http://127.0.0.1:4000', source.url);
  await run(`${recipe}./send-notes ${target.url} <notes-server.jsonl`);
  const list = '/notes?include=times,tags&limit=100';
  for (const page of [list, `${list}&after=100`]) {
    const { text } = await source.request('GET', page);
    assert.equal((await target.request('GET', page)).text, text);
  }
});

test('scripting: each recipe is tested', () => {
  assert.equal(blocks.length, 3 + Object.keys(FORMATS).length);
});

test('scripting: notes are sent in requests of at most 50 notes and a megabyte', async (t) => {
  if (!hasJq) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  const { cwd, run } = shellIn(t, 'bash');
  const long = '😀'.repeat(100_000);
  const notes: object[] = Array.from({ length: 51 }, (_, id) => ({ title: `${id}`, body: 'b' }));
  notes.push(...[1, 2, 3].map((id) => ({ title: `long ${id}`, body: long })));
  const line = 'x'.repeat(501);
  notes.push({ title: line, body: 'b' }, { body: line }, { body: '#' });
  notes.push({ title: 'too long', body: `${long}x` });
  writeFileSync(join(cwd, 'a.jsonl'), notes.map((note) => JSON.stringify(note)).join('\n'));
  const { stdout, stderr } = await run(`./send-notes ${url} <a.jsonl`);
  assert.match(stdout, /^50 notes stored\n3 notes stored\n4 notes stored\n$/);
  assert.equal(stderr, '["DEBUG:","left out, too long: too long"]\n');
  const { json } = await request('GET', '/notes?order=-id&limit=3');
  assert.equal(json.total, 57);
  const stored = json.items.map(({ title, body }: Stored) => [title, body]);
  const [cut, whole] = [line.slice(1), `${line}\n\nb`];
  assert.deepEqual(stored.flat(), ['Untitled', '#', cut, line, cut, whole]);
});

test('scripting: what the service would refuse is cut or left out, with a message', async (t) => {
  if (!hasJq) return skipLoudly(t, 'there is no jq here');
  const keys = join(temporaryFolder(t), 'keys');
  writeFileSync(keys, 'k\n', { mode: 0o600 });
  const { url, request } = await startService(t, { apiKeysFile: keys });
  const { cwd, run } = shellIn(t, 'sh');
  writeFileSync(join(cwd, '.netrc'), 'machine 127.0.0.1 login notes password k\n');
  const long = 'x'.repeat(201);
  const names = Array.from({ length: 101 }, (_, at) => `${100 + at}`);
  const notes = [
    { title: '\ufeff', body: ' \ufeff', created_at: 'May' },
    { title: '\ufeff', body: '\ufeffa \ufeff\nb' },
    { title: 'b', body: '\ufeff', tags: [long, `${long}y`, '\ufeff', '\ufeffa'] },
    { title: 'c', body: 'c', tags: names },
  ];
  writeFileSync(join(cwd, 'a.jsonl'), notes.map((note) => JSON.stringify(note)).join('\n'));
  const { stdout, stderr } = await run(`./send-notes ${url} <a.jsonl`);
  assert.equal(stdout, '3 notes stored\n');
  const messages = stderr
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text)[1]);
  const cut = 'cut after 200 characters, tag: ';
  assert.deepEqual(messages, [
    ...['left out, without text: May', cut + long, `${cut}${long}y`],
    'left out, tags 200 of: c',
  ]);
  const headers = { authorization: 'Bearer k' };
  const { items } = (await request('GET', '/notes?include=tags', { headers })).json;
  const stored = items.map(({ title, body, tags }: Stored) => [title, body, ...tags]);
  assert.deepEqual(stored, [
    ['a', '\ufeffa \ufeff\nb'],
    ['b', 'b', 'a', long.slice(1)],
    ['c', 'c', ...names.slice(0, 100)],
  ]);
});

test('scripting: sending notes stops at a request that fails, and can be repeated', async (t) => {
  if (!hasJq) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  const { cwd, run } = shellIn(t, 'bash');
  const lines = [...Array(51).fill('{"body":"b"}'), '{"title":"\\\\n","created_at":"May"}'];
  writeFileSync(join(cwd, 'a.jsonl'), lines.join('\n'));
  const fault = {
    code: 1,
    stdout: '50 notes stored\n',
    stderr: /422\n.*"#\/1\/.*\nrefused: \\n\n$/,
  };
  await assert.rejects(run(`./send-notes ${url} <a.jsonl`), fault);
  // What was stored is not stored again.
  await assert.rejects(run(`./send-notes ${url} <a.jsonl`), fault);
  assert.equal((await request('GET', '/notes')).json.total, 50);
  await assert.rejects(run(`echo '{' | ./send-notes ${url}`), {
    stdout: '',
    stderr: /jq: error/,
  });
});
