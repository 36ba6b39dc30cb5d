// The recipes of the guide to scripting that bring notes from other programs, run on samples of the
// formats of these programs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
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

/** Where each program has its file, the notes that its sample has, and those that are left out. */
const FORMATS: Record<
  string,
  { from: string; to: string; notes: unknown[][]; left: string[]; unread?: RegExp }
> = {
  keep: {
    from: 'keep',
    to: 'Takeout/Keep',
    left: ['keep.1577836800000000.image.json'],
    unread: /^.*parse error.*\nnot read: Takeout\/Keep\/not-json\.json\n$/,
    notes: [
      [
        'Links',
        'Read https://a.example/x today\n[B](https://b.example/)\nhttps://c.example/',
        [],
        NEW_YEAR,
      ],
      ['Camping', '- [x] tent\n- [ ] \n- [ ] lamp', ['home'], NEW_YEAR],
      ['Milk', 'Oat milk\n"2 l" \\ 東京 😀', ['errands', 'home'], MAY, later('09:00:00.000')],
      ['Call Ann', '\n## Call Ann\nabout the garden', [], NEW_YEAR],
      ['[B](https://b.example/)', '[B](https://b.example/)', [], NEW_YEAR],
      ['Buy stamps', 'Buy stamps', [], '2020-01-01T00:00:01.000Z'],
    ],
  },
  simplenote: {
    from: 'simplenote.json',
    to: 'source/notes.json',
    left: ['simplenote.2', 'simplenote.6'],
    notes: [
      ['Milk', 'Oat milk\n', ['errands', 'home'], MAY, later('08:00:00.500')],
      ['Only a title', 'Only a title', [], MAY],
      ['Late', ' \nLate\nbegin\\n', [], MAY],
    ],
  },
  'standard-notes': {
    from: 'standard-notes.json',
    to: 'Standard Notes Backup and Import File.txt',
    left: ['standard-notes.n5', 'standard-notes.n9', 'standard-notes.n8'],
    notes: [
      ['Milk', 'Oat milk', ['errands', 'home.garden'], MAY, later('08:00:00.000')],
      [
        ...['Dear diary,', 'Dear diary,\nrain.', ['home.garden']],
        ...['2021-05-01T16:40:00.123Z', '2021-05-03T08:00:00.123Z'],
      ],
      ['Plan', 'Plan', [], MAY],
      [
        'Super',
        '## Plan\n\nSee [a](https://a.example)\nhttps://b.example\n- [x] tent\n  1. one\n' +
          '  2. two\n- [ ] lamp\n> q\n> r\n~~~\nx = 1\n~~~\n---\na | b\n',
        ...[[], MAY, '2021-11-24T15:13:05.000Z'],
      ],
      [...['Not a tree', '{rain', []], ...['2021-11-24T15:13:05.000Z', '2021-11-24T19:43:05.000Z']],
    ],
  },
  memos: {
    from: 'memos.json',
    to: 'memos.json',
    left: ['MEMOS/memos/3'],
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

for (const [name, { from, to, notes, left, unread }] of Object.entries(FORMATS)) {
  test(`scripting: the recipe brings notes of ${name} once, with tags and times`, async (t) => {
    if (!hasJq) return skipLoudly(t, 'there is no jq here');
    const { url, request } = await startService(t);
    const { cwd, run } = shellIn(t, 'sh', { TOKEN: 'secret', ME: 'users/1' });
    cpSync(fileURLToPath(new URL(`${SAMPLES}/${from}`, root)), join(cwd, to), { recursive: true });
    const memos = name === 'memos' ? await startMemos(t) : '';
    const recipe = recipeOf(name).replace('https://memos.example.com', memos);
    const send = addressed(blocks[1] ?? '', url).replace('keep', name);
    const wanted = left
      .map((key) => `.*\nnot sent, invalid: {"key":"${key}".*\n`)
      .join('')
      .replace('MEMOS', memos);
    // The second time, the notes are there. The third time, only the service knows that.
    for (const count of [notes.length, 0, notes.length]) {
      const { code = 0, stderr: faults } = await run(recipe).catch((error) => error);
      assert.equal(code, unread ? 1 : 0, faults);
      assert.match(faults, unread ?? /^$/);
      const fault = {
        code: 1,
        stdout: `${count} notes stored\n`,
        stderr: new RegExp(`^${wanted}$`),
      };
      await assert.rejects(run(send), fault);
      if (count === 0) rmSync(join(cwd, 'notes-sent'));
    }
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

test('scripting: long notes are sent whole, and titles are cut', async (t) => {
  if (!hasJq) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  const { cwd, run } = shellIn(t, 'bash');
  const long = '😀'.repeat(100_000);
  const line = 'x'.repeat(501);
  const notes = [
    { title: 'long', body: long },
    { title: line, body: 'b' },
    ...[{ body: line }, { body: '#' }, { title: 'too long', body: `${long}x` }],
  ];
  writeFileSync(join(cwd, 'a.jsonl'), notes.map((note) => JSON.stringify(note)).join('\n'));
  const fault = {
    stdout: '4 notes stored\n',
    stderr: /^The text is too long\.\nnot sent, invalid: \{"title":"too long".*\n$/,
  };
  await assert.rejects(run(`./send-notes ${url} <a.jsonl`), fault);
  const { json } = await request('GET', '/notes?order=-id');
  const stored = json.items.map(({ title, body }: Stored) => [title, body]);
  const [cut, whole] = [line.slice(1), `${line}\n\nb`];
  assert.deepEqual(stored.flat(), ['Untitled', '#', cut, line, cut, whole, 'long', long]);
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
  const sending = run(`./send-notes ${url} <a.jsonl`);
  const { code, stdout, stderr } = await sending.catch((error) => error);
  assert.deepEqual([code, stdout], [1, '3 notes stored\n']);
  const lines: string[] = stderr.trim().split('\n');
  assert.equal(lines.shift(), 'There is no text.');
  assert.match(lines.shift() ?? '', /^not sent, invalid: \{"title":.*"May"/);
  const messages = lines.map((text) => JSON.parse(text)[1]);
  const cut = 'cut after 200 characters, tag: ';
  assert.deepEqual(messages, [...[cut + long, `${cut}${long}y`, 'left out, tags 200 of: c']]);
  const headers = { authorization: 'Bearer k' };
  const { items } = (await request('GET', '/notes?include=tags', { headers })).json;
  const stored = items.map(({ title, body, tags }: Stored) => [title, body, ...tags]);
  assert.deepEqual(stored, [
    ['a', '\ufeffa \ufeff\nb'],
    ['b', 'b', 'a', long.slice(1)],
    ['c', 'c', ...names.slice(0, 100)],
  ]);
});

test('scripting: a note that cannot be brought is named, and stops no other', async (t) => {
  if (!hasJq) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  const { cwd, run } = shellIn(t, 'bash');
  const refused = [
    '{"title":"\\\\n","body":"b","created_at":"May"}',
    '{"title":"\\u0001","body":7}',
  ];
  const lines = ['{"body":"a"}', '{"body":', '[]', ...refused, '', '{"body":"z"}', '{"body":"a"}'];
  writeFileSync(join(cwd, 'a.jsonl'), lines.join('\n'));
  const { code, stdout, stderr } = await run(`./send-notes ${url} <a.jsonl`).catch((e) => e);
  assert.deepEqual([code, stdout], [1, '2 notes stored\n']);
  const named = stderr.split('\n').filter((text: string) => text.startsWith('not sent'));
  const [unfinished, list, dated, numeric] = ['{"body":', '[]', ...refused];
  assert.deepEqual(named, [
    ...[unfinished, list].map((line) => `not sent, invalid: ${line}`),
    ...[`not sent, 422: ${dated}`, `not sent, invalid: ${numeric}`],
  ]);
  assert.match(stderr, /^created_at must be /m);
  const { items } = (await request('GET', '/notes')).json;
  assert.deepEqual(
    items.map(({ body }: Stored) => body),
    ['a', 'z'],
  );
});

test('scripting: sending goes on where it was stopped', async (t) => {
  if (!hasJq) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  let left = 2;
  const passing = await startListener(t, async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (left === 0) return void answer.writeHead(401).end('{"detail":"No."}');
    left -= 1;
    const { 'idempotency-key': key } = incoming.headers;
    const headers = { 'content-type': 'application/json', 'idempotency-key': String(key) };
    const { status } = await request('POST', '/notes', {
      headers,
      body: Buffer.concat(chunks).toString(),
    });
    answer.writeHead(status).end();
  });
  const { cwd, run } = shellIn(t, 'sh');
  writeFileSync(join(cwd, 'a.jsonl'), '{"body":"1"}\n{"body":"2"}\n{"body":"3"}\n{"body":"4"}\n');
  const stopped = {
    code: 1,
    stdout: '2 notes stored\n',
    stderr: 'No.\nnot sent, 401: {"body":"3"}\n',
  };
  await assert.rejects(run(`./send-notes ${passing} <a.jsonl`), stopped);
  left = 9;
  // The source has one more at the front by now.
  const more = `{ echo '{"body":"0"}'; cat a.jsonl; } | ./send-notes ${passing}`;
  assert.equal((await run(more)).stdout, '3 notes stored\n');
  assert.equal((await request('GET', `/notes`)).json.total, 5);
  assert.equal((await run(`./send-notes ${url} </dev/null`)).stdout, '0 notes stored\n');
});
