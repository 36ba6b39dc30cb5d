// A call of a tool is one request for the log, the limit and the rights, as the one that it stands
// for would be.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { mcpRoute } from '../../../src/assistants/protocol.ts';
import { Problem } from '../../../src/http/problem.ts';
import type { Call } from '../../../src/http/route.ts';
import { callTool, legacy, withKeys } from '../../support/assistants.ts';
import { startBareServer } from '../../support/bare-server.ts';
import { parseExposition } from '../../support/exposition.ts';
import { openSocket, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { root } from '../../support/sources.ts';
import { until } from '../../support/until.ts';

test('requests: the log has one line for a call, with its tool and what it wrote', async (t) => {
  const service = await startService(t);
  // Large answers have one, too.
  const body = 'b'.repeat(20_000);
  await callTool(service, 'create_note', { title: 'a', body, tags: ['c'] });
  await callTool(service, 'append_to_note', { id: '1', text: 'd' });
  await callTool(service, 'get_note', { id: 1 });
  await callTool(service, 'get_note', { id: 2 });
  await callTool(service, 'delete_note', { id: 1 });
  await callTool(service, 'restore_note', { id: 1 });
  await callTool(service, 'restore_note', { id: 1 });
  await service.request('POST', '/mcp', legacy('ping'));
  const lines = service.log.filter(({ message }) => message === 'request');
  const shown = lines.map(({ level, fields }) => {
    const { method, route, status, tool, problem, ids } = fields;
    assert.deepEqual([level, method, route, status], ['info', 'POST', '/mcp', 200]);
    return [tool, problem, ids];
  });
  assert.deepEqual(shown, [
    ['create_note', undefined, { note_id: 1, tag_id: 1 }],
    ['append_to_note', undefined, { note_id: 1 }],
    ['get_note', undefined, undefined],
    ['get_note', 'not-found', undefined],
    ['delete_note', undefined, { note_id: 1 }],
    ['restore_note', undefined, { note_id: 1 }],
    ['restore_note', 'validation-failed', undefined],
    [undefined, undefined, undefined],
  ]);
});

test('requests: with a key for reading, a tool that writes is refused, and logged', async (t) => {
  const service = await startService(t, withKeys(t, 'reader access=read'));
  const reader = { authorization: 'Bearer reader' };
  const { isError, text } = await callTool(service, 'delete_note', { id: 1 }, reader);
  assert.ok(isError && text.startsWith('This key may only read. Tell the user'), text);
  const { level, fields } = service.log.at(-1) ?? {};
  assert.deepEqual([level, fields?.reason], ['info', 'This key may only read.']);
});

test('requests: each call counts once towards the rate limit', async (t) => {
  const service = await startService(t, { rateLimit: 3 });
  for (const id of [1, 2, 3]) await callTool(service, 'restore_note', { id });
  const refused = await service.request('POST', '/mcp', legacy('tools/list'));
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '20']);
});

test('requests: each header of the guide admits an assistant', async (t) => {
  const guide = readFileSync(new URL('src/docs/guides/assistants.md', root), 'utf8');
  const service = await startService(t, withKeys(t, 'a-key-of-an-assistant'));
  const headers = [
    ...guide.matchAll(/--header "?([\w-]+: ?[^"`]+)|"headers":{"([^"]+)":"([^"]+)"/g),
  ];
  assert.equal(headers.length, 3);
  for (const [, line, name = line?.split(/: ?/)[0], value = line?.split(/: ?/)[1]] of headers) {
    const key = `${value}`.replace('KEY', 'a-key-of-an-assistant');
    const sent = legacy('tools/list', {}, { [`${name}`]: key });
    assert.equal((await service.request('POST', '/mcp', sent)).status, 200, name);
  }
  // Clients that start mcp-remote split an argument at its space.
  assert.match(guide, /`mcp-remote`: add `--header x-api-key:KEY`/);
});

test('requests: with --no-mcp there is no endpoint', async (t) => {
  const service = await startService(t, { noMcp: true });
  assert.equal((await service.request('POST', '/mcp', legacy('ping'))).status, 404);
});

test('requests: a long note is read in parts, cut between characters', async (t) => {
  const service = await startService(t);
  const body = `a${'👋'.repeat(20_000)}bc`;
  await callTool(service, 'create_note', { title: 'a', body });
  for (const [offset, remaining, next] of [
    [0, 3, 20_000],
    [1, 2, 20_001],
    [3, undefined, undefined],
    [20_003, undefined, undefined],
  ]) {
    const { json } = await callTool(service, 'get_note', { id: 1, offset });
    assert.deepEqual([json.remaining, json.next_offset], [remaining, next]);
    assert.equal(json.body, [...body].slice(offset, next).join(''));
  }
  const { text } = await callTool(service, 'get_note', { id: 1, offset: 20_004 });
  assert.match(text, /^offset must be at most 20003, the number of characters of the body\. /);
  // Thai, of which some clients accept fewer characters.
  const thai = 'ที่นี่มีน้ำ'.repeat(100);
  await callTool(service, 'create_note', { title: 'b', body: thai });
  let read = '';
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const { json } = await callTool(service, 'get_note', { id: 2, offset, limit: 300 });
    assert.ok([...json.body].length <= 300);
    read += json.body;
    offset = json.next_offset;
  }
  assert.equal(read, thai);
});

test('requests: whole numbers of arguments have any form, but not in the API', async (t) => {
  const service = await startService(t);
  const send = (path: string, body: string) =>
    service.request('POST', path, { body, headers: { 'content-type': 'application/json' } });
  const call = async (name: string, args: string) => {
    const params = `{"name":"${name}","arguments":${args}}`;
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    return (await send('/mcp', message)).json.result;
  };
  await callTool(service, 'create_note', { title: 'a', body: 'bcd' });
  await callTool(service, 'append_to_note', { id: 1, text: 'e' });
  for (const one of ['1', '1.0', '1e0', '10E-1', '0.1e+1', '"1.0"', '"1e0"', '1.00000']) {
    const { content } = await call('get_note', `{"id":${one},"offset":${one}}`);
    assert.equal(JSON.parse(content[0].text).body, 'cd\ne', one);
    for (const [tool, args] of [
      ['search_notes', `{"limit":${one},"after":${one}}`],
      ['list_tags', `{"limit":${one},"after":${one}}`],
      ['list_changes', `{"limit":${one}}`],
      ['restore_note', `{"id":${one},"version":${one}}`],
      ['append_to_note', `{"id":${one},"text":"e"}`],
      ['edit_note', `{"id":${one},"old_text":"bcd","new_text":"bcd"}`],
      ['tag_note', `{"id":${one},"add":[]}`],
      ['delete_note', `{"id":${one}}`],
      ['restore_note', `{"id":${one}}`],
    ] as const) {
      const result = await call(tool, args);
      assert.equal(result.isError, undefined, `${tool} ${args}: ${result.content[0].text}`);
    }
  }
  for (const none of ['1.5', '1e-1', '1e999', '-1e999', '1e30', '"1.5"', '[1.0]']) {
    const { isError, content } = await call('get_note', `{"id":${none}}`);
    assert.deepEqual([isError, content[0].text], [true, `id must be an integer. ${EITHER}`], none);
  }
  for (const one of ['1.0', '1e0', '"1.0"']) {
    const { status, json } = await send('/notes/1/restore', `{"version":${one}}`);
    assert.deepEqual([status, json.errors[0].detail], [422, 'must be an integer'], one);
  }
});

test('requests: a refusal to restore lists the versions of the note', async (t) => {
  const service = await startService(t);
  const { json } = await callTool(service, 'create_note', { title: 'a', body: 'b' });
  await callTool(service, 'update_note', { id: 1, etag: json.etag, body: 'c' });
  const refused = await callTool(service, 'restore_note', { id: 1 });
  const versions =
    /^version must be a version of the note, latest first: 1 \(replaced at 2\S+Z\)\. /;
  assert.match(refused.text, versions);
  await callTool(service, 'restore_note', { id: 1, version: 1 });
  assert.equal((await callTool(service, 'get_note', { id: 1 })).json.body, 'b');
});

test('requests: the log has the tool of a client that has left, whatever came of it', async (t) => {
  let calls = 0;
  const tool = (name: string, end: () => object) => ({
    listing: { name, annotations: {} },
    async call(_: unknown, call: Call) {
      calls += 1;
      await once(call.signal(), 'abort');
      return end();
    },
  });
  const refuse = () => {
    throw new Problem('not-found', 'There is none.');
  };
  const tools = [tool('writes', () => ({})), tool('refuses', refuse)];
  const server = await startBareServer(t, [mcpRoute(tools)]);
  for (const { listing } of tools) {
    const body = JSON.stringify(legacy('tools/call', listing).json);
    const headers = ['content-type: application/json'];
    const socket = await openSocket(server);
    const before = calls;
    socket.write(requestText('POST /mcp', headers, body));
    await until(() => calls > before);
    socket.resetAndDestroy();
    await until(() => server.outcomes.length === calls);
  }
  assert.deepEqual(
    server.outcomes.map(({ status, logged }) => [status, logged]),
    [
      [undefined, { tool: 'writes' }],
      [undefined, { tool: 'refuses', problem: 'not-found' }],
    ],
  );
});

test('requests: the metrics count calls by tool and problem', async (t) => {
  const service = await startService(t);
  for (const id of [1, 'x', 1]) await callTool(service, 'get_note', { id });
  await callTool(service, 'list_tags');
  await service.request('POST', '/mcp', legacy('tools/call', { name: 'invented' }));
  const { text } = await service.request('GET', '/metrics');
  const { samples = [] } = parseExposition(text).get('notes_tool_calls_total') ?? {};
  assert.deepEqual(
    samples.map(({ labels, value }) => [labels.tool, labels.problem, value]),
    [
      ['get_note', 'not-found', 2],
      ['get_note', 'validation-failed', 1],
      ['list_tags', '', 1],
    ],
  );
});

/** The advice that several rows share. */
const GENERAL = 'Correct the arguments and call the tool again.';
const LIST = 'Give tags as a list of names, such as ["home", "work"].';
const EITHER = 'Give the id, which search_notes finds, or the name of the note.';
const VERSION = 'Choose one that is listed; if there is none, tell the user.';
const NAME = 'name must not have empty segments, but segment 2 of 3 is empty.';
const BY_TITLE =
  'Only some notes have a name: find others by words of their title with search_notes';

test('requests: a refusal names arguments of the tool, and what to do about each', async (t) => {
  const service = await startService(t);
  await callTool(service, 'create_note', { title: 'a', body: 'b' });
  for (const [tool, args, text] of [
    ['search_notes', { query: '*' }, `query must contain at least one word. ${GENERAL}`],
    ['search_notes', { q: 'a' }, `q is not known. ${GENERAL}`],
    ['append_to_note', { id: 1, text: 'a', tags: [] }, `tags is not known. ${GENERAL}`],
    ['search_notes', { tags: 'a' }, `tags must be an array. ${LIST}`],
    ['search_notes', { tags: ['a', 5] }, `tags.1 must be a string. ${LIST}`],
    ['search_notes', { tags: [''] }, `tags.0 must not be empty. ${LIST}`],
    [
      'search_notes',
      { updated_after: 'today' },
      `updated_after must be a time (RFC 3339), such as 2026-11-22T09:30:00Z. ${GENERAL}`,
    ],
    ['tag_note', { id: 1, add: 'a,b' }, `add must be an array. ${GENERAL}`],
    ['tag_note', { id: 1, add: [''] }, `add.0 must not be empty. ${GENERAL}`],
    ['tag_note', { id: 1, add: ['a', 'a'] }, `add must not contain an item twice. ${GENERAL}`],
    [
      'tag_note',
      { id: 1, add: ['a'], remove: ['a'] },
      `remove.0 must not be in add, too. ${GENERAL}`,
    ],
    ['get_note', { id: 1e30 }, `id must be an integer. ${EITHER}`],
    ['get_note', {}, `id is required. ${EITHER}`],
    ['get_note', { name: 'a//b' }, `${NAME} ${BY_TITLE}, and give the id.`],
    [
      'get_note',
      { id: 'x', offset: -1 },
      `id must be an integer; offset must be at least 0. ${EITHER} ${GENERAL}`,
    ],
    ['get_note', { id: 1, limit: 0 }, `limit must be at least 1. ${GENERAL}`],
    ['get_note', { id: 1, limit: 20_001 }, `limit must be at most 20000. ${GENERAL}`],
    ['update_note', { id: 1 }, 'etag is required. Give the etag that get_note returned.'],
    [
      'restore_note',
      { id: 1 },
      `version must be a version of the note, but it has none. ${VERSION}`,
    ],
    [
      'restore_note',
      { id: 2 },
      'Note with ID 2 was not found. If you gave a version, call again without it: the note may ' +
        'be deleted; list_trash shows which are. If it is not there either, it is gone: tell the ' +
        'user.',
    ],
  ] as const) {
    const answer = await callTool(service, tool, args);
    assert.deepEqual([answer.isError, answer.text], [true, text]);
  }
});

test('requests: changes have the titles of notes and the names of tags', async (t) => {
  const service = await startService(t);
  await callTool(service, 'create_note', { title: 'a', body: 'b', tags: ['c', 'd'] });
  await callTool(service, 'add_comment', { id: 1, text: 'e' });
  await service.request('DELETE', '/tags/2');
  const { json } = await callTool(service, 'list_changes');
  assert.deepEqual(
    json.items.map(({ type, title }: Record<string, string>) => [type, title]),
    [
      ['note.created', 'a'],
      ['tag.created', 'c'],
      ['tag.created', null],
      ['note.tagged', 'a'],
      ['note.tagged', 'a'],
      ['comment.created', 'a'],
      ['tag.deleted', null],
    ],
  );
});

test('requests: a deletion says which note had the name', async (t) => {
  const service = await startService(t);
  for (const name of ['a', 'b'])
    await callTool(service, 'create_note', { title: 'a', body: 'b', name });
  const { json } = await callTool(service, 'delete_note', { name: 'b' });
  assert.deepEqual(json, { id: 2, deleted: true });
});

test('requests: what a write made of the tags', async (t) => {
  const service = await startService(t);
  const call = async (tool: string, args: object) => (await callTool(service, tool, args)).json;
  const note = { title: 'a', body: 'b👋c', tags: ['d'] };
  const { tags, characters } = await call('create_note', note);
  assert.deepEqual([tags, characters], [['d'], 3]);
  assert.deepEqual((await call('tag_note', { id: 1, add: '["e"]' })).tags, ['d', 'e']);
  assert.deepEqual((await call('tag_note', { id: 1, remove: ['d', 'f'] })).tags, ['e']);
  const { total } = await call('search_notes', { updated_after: '2999-01-01T00:00:00Z' });
  assert.equal(total, 0);
});
