// A call of a tool is one request for the log, the limit and the rights, as the one that it stands
// for would be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, legacy, withKeys } from '../../support/assistants.ts';
import { startService } from '../../support/service.ts';

test('requests: the log has one line for a call, with its tool and what it wrote', async (t) => {
  const service = await startService(t);
  await callTool(service, 'create_note', { title: 'a', body: 'b', tags: ['c'] });
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

test('requests: a key for reading neither sees nor calls tools that write', async (t) => {
  const service = await startService(t, withKeys(t, 'reader access=read', 'writer'));
  const reader = { authorization: 'Bearer reader' };
  await callTool(
    service,
    'create_note',
    { title: 'a', body: 'b' },
    { authorization: 'Bearer writer' },
  );
  const { json } = await service.request('POST', '/mcp', legacy('tools/list', {}, reader));
  const tools: readonly { name: string }[] = json.result.tools;
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['search_notes', 'get_note', 'list_tags', 'list_changes'],
  );
  const { isError, text } = await callTool(service, 'delete_note', { id: 1 }, reader);
  assert.ok(isError && text.startsWith('This key may only read. Tell the user'), text);
  const { level, fields } = service.log.at(-1) ?? {};
  assert.deepEqual([level, fields?.reason], ['info', 'This key may only read.']);
  assert.equal((await callTool(service, 'get_note', { id: 1 }, reader)).json.body, 'b');
});

test('requests: each call counts once towards the rate limit', async (t) => {
  const service = await startService(t, { rateLimit: 3 });
  for (const id of [1, 2, 3]) await callTool(service, 'restore_note', { id });
  const refused = await service.request('POST', '/mcp', legacy('tools/list'));
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '20']);
});

test('requests: with --no-mcp there is no endpoint', async (t) => {
  const service = await startService(t, { noMcp: true });
  assert.equal((await service.request('POST', '/mcp', legacy('ping'))).status, 404);
});

test('requests: a long note is read in parts, and a list says how to go on', async (t) => {
  const service = await startService(t);
  const body = `${'👋'.repeat(20_000)}end`;
  for (const title of ['a', 'b']) await callTool(service, 'create_note', { title, body });
  const { json: first } = await callTool(service, 'get_note', { id: 1 });
  assert.deepEqual([first.remaining, first.next_offset], [3, 20_000]);
  const rest = await callTool(service, 'get_note', { id: 1, offset: first.next_offset });
  assert.equal(first.body + rest.json.body, body);
  assert.equal(rest.json.next_offset, undefined);
  const page = await callTool(service, 'search_notes', { query: 'end', limit: 1 });
  assert.deepEqual([page.json.total, page.json.next_offset], [2, 1]);
  assert.match(page.json.items[0].snippet, /end$/);
  const last = await callTool(service, 'search_notes', { query: 'end', limit: 1, offset: 1 });
  assert.equal(last.json.next_offset, undefined);
});

test('requests: a refusal to restore lists the versions of the note', async (t) => {
  const service = await startService(t);
  const { json } = await callTool(service, 'create_note', { title: 'a', body: 'b' });
  await callTool(service, 'update_note', { id: 1, etag: json.etag, body: 'c' });
  const refused = await callTool(service, 'restore_note', { id: 1 });
  assert.match(refused.text, /^version must be a version of the note; the latest are 1\. /);
  await callTool(service, 'restore_note', { id: 1, version: 1 });
  assert.equal((await callTool(service, 'get_note', { id: 1 })).json.body, 'b');
});
