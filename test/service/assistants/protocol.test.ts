// What the Model Context Protocol demands of a server of tools, message by message, in both of its
// eras: the transport, the headers that repeat the body, the methods and the handshake.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { callTool, LEGACY, legacy, META, MODERN, modern } from '../../support/assistants.ts';
import type { RequestParts } from '../../support/http.ts';
import { startService } from '../../support/service.ts';

const service = await startService({ after });
const { json: note } = await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });

/** The codes of errors by what they mean. */
const PARSE = -32_700;
const INVALID = -32_600;
const UNKNOWN_METHOD = -32_601;
const PARAMS = -32_602;
const MISMATCH = -32_020;
const VERSION = -32_022;

const VERSIONS = [MODERN, ...LEGACY];

/** What is sent, the status, and the code of the error; undefined for a result or no body. */
type Row = readonly [what: string, sent: RequestParts, status: number, code?: number];

const send = (parts: RequestParts) => service.request('POST', '/mcp', parts);
const raw = (json: unknown): RequestParts => ({ json });

/** Sends each row, in which an error names the request if its id could be read. */
function testRows(name: string, rows: readonly Row[]): void {
  test(`protocol: ${name}`, async () => {
    for (const [what, parts, status, code] of rows) {
      const answer = await send(parts);
      const { json = {} } = answer;
      assert.deepEqual(
        [answer.status, json.error?.code],
        [status, code],
        `${what}: ${answer.text}`,
      );
      if (status === 202) assert.equal(answer.text, '', what);
      if (status === 202 || status === 415) continue;
      assert.equal(answer.headers['content-type'], 'application/json', what);
      const { id } = Object(parts.json);
      const isReadable = typeof id === 'string' || Number.isInteger(id);
      assert.deepEqual([json.jsonrpc, json.id], ['2.0', isReadable ? id : undefined], what);
      assert.equal('id' in json, isReadable, what);
      if (code) assert.ok(json.error.message.length > 5, what);
      else assert.equal(json.result.resultType, what.includes('modern') ? 'complete' : undefined);
    }
  });
}

const CALL = { name: 'get_note', arguments: { id: note.id } };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const { id: _, ...notification } = list;

testRows('the body is one request or notification', [
  ['a list of requests', raw([list]), 400, INVALID],
  ['an empty list', raw([]), 400, INVALID],
  ...[null, 1, 'tools/list', true].map((body): Row => [`${body}`, raw(body), 400, INVALID]),
  ['no JSON', { body: '{"jsonrpc"', headers: { 'content-type': 'application/json' } }, 400, PARSE],
  ['a form', { body: 'a=b', headers: { 'content-type': 'text/plain' } }, 415],
  ['a response', raw({ jsonrpc: '2.0', id: 1, result: {} }), 400, INVALID],
  ['another version of JSON-RPC', raw({ ...list, jsonrpc: '1.0' }), 400, INVALID],
  ['no version of JSON-RPC', raw({ id: 1, method: 'tools/list' }), 400, INVALID],
  ['no method', raw({ jsonrpc: '2.0', id: 'x' }), 400, INVALID],
  ['a method that is no text', raw({ ...list, method: 1 }), 400, INVALID],
  ...[null, 1.5, true, {}, [1]].map(
    (id): Row => [`the id ${JSON.stringify(id)}`, raw({ ...list, id }), 400, INVALID],
  ),
  ...['', 'x', 0, -1, Number.MAX_SAFE_INTEGER].map(
    (id): Row => [`the id ${JSON.stringify(id)}`, raw({ ...list, id }), 200],
  ),
]);

testRows('a notification has an empty answer, whatever its method', [
  ['initialized', raw({ jsonrpc: '2.0', method: 'notifications/initialized' }), 202],
  ['one that is unknown', raw({ jsonrpc: '2.0', method: 'notifications/x', params: {} }), 202],
  ['a method without an id', raw(notification), 202],
  ['by the header', { json: notification, headers: { 'mcp-protocol-version': MODERN } }, 202],
  ['malformed', raw({ jsonrpc: '1.0', method: 'notifications/initialized' }), 400, INVALID],
]);

testRows('clients may send headers that mean nothing here', [
  ['no accept', legacy('tools/list', {}, { accept: 'application/json' }), 200],
  ['accept', legacy('tools/list', {}, { accept: 'text/event-stream' }), 200],
  ['a session', legacy('tools/list', {}, { 'mcp-session-id': 'x', 'last-event-id': '1' }), 200],
  ['a parameter in modern', modern('tools/list', {}, { 'mcp-param-x': 'y' }), 200],
]);

const without = (name: string) => ({
  _meta: Object.fromEntries(Object.entries(META).filter(([key]) => !key.endsWith(name))),
});
const asking = (version: unknown) => ({
  _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': version },
});
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** In the order of the checks: a request with several faults gets the first. */
testRows('what a modern request says of its client', [
  ['no _meta', modern('tools/list', { _meta: undefined }), 400, PARAMS],
  ['a _meta that is no object', modern('tools/list', { _meta: 'x' }), 400, PARAMS],
  ['no version', modern('tools/list', without('protocolVersion')), 400, PARAMS],
  ['a version that is no text', modern('tools/list', asking(1)), 400, PARAMS],
  ['no capabilities', modern('tools/list', without('clientCapabilities')), 400, PARAMS],
  [
    'capabilities that are no object, another version',
    modern('tools/list', { _meta: { ...META, 'io.modelcontextprotocol/clientCapabilities': [] } }),
    ...([400, PARAMS] as const),
  ],
  ['no header', modern('tools/list', {}, { 'mcp-protocol-version': '' }), 400, MISMATCH],
  ['another', modern('x', {}, { 'mcp-protocol-version': '2025-11-25' }), 400, MISMATCH],
  ['_meta', modern('tools/list', asking('v9'), { 'mcp-method': '' }), 400, MISMATCH],
  ['unknown', modern('x', asking('v9'), { 'mcp-protocol-version': 'v9' }), 400, VERSION],
  ['no method', modern('tools/list', {}, { 'mcp-method': '' }), 400, MISMATCH],
  ['another method', modern('tools/list', {}, { 'mcp-method': 'x' }), 400, MISMATCH],
  ['the case of a method', modern('tools/list', {}, { 'mcp-method': 'tools/List' }), 400, MISMATCH],
  ['no name', modern('tools/call', CALL, { 'mcp-name': '' }), 400, MISMATCH],
  ['another name', modern('tools/call', CALL, { 'mcp-name': 'list_tags' }), 400, MISMATCH],
  ['the case of a name', modern('tools/call', CALL, { 'mcp-name': 'Get_note' }), 400, MISMATCH],
  ['no Base64', modern('tools/call', CALL, { 'mcp-name': '=?base64?*?=' }), 400, MISMATCH],
  ['sloppy', modern('tools/call', CALL, { 'mcp-name': '=?base64?Z2V0*X25vdGU=?=' }), 400, MISMATCH],
  ['Base64', modern('tools/call', CALL, { 'mcp-name': encoded('list_tags') }), 400, MISMATCH],
  ['another prompt', modern('prompts/get', { name: 'a' }, { 'mcp-name': 'b' }), 400, MISMATCH],
  ['another URI', modern('resources/read', { uri: 'a' }, { 'mcp-name': 'b' }), 400, MISMATCH],
  ['a URI', modern('resources/read', { uri: 'a' }, { 'mcp-name': 'a' }), 404, UNKNOWN_METHOD],
  ['modern: Base64', modern('tools/call', CALL, { 'mcp-name': encoded('get_note') }), 200],
  ['modern: spaces', modern('tools/list', {}, { 'MCP-METHOD': '  tools/list\t' }), 200],
  ['a name that is no text', modern('tools/call', { name: 1 }, { 'mcp-name': '1' }), 400, MISMATCH],
  ...[
    ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'],
    ...['prompts/list', 'resources/list', 'subscriptions/listen', 'unknown/method', 'constructor'],
  ].map((method): Row => [method, modern(method), 404, UNKNOWN_METHOD]),
]);

for (const [era, message] of Object.entries({ modern, legacy }))
  testRows(`what goes wrong in a call of the ${era} era is told in the body`, [
    ['an unknown tool', message('tools/call', { name: 'x', arguments: {} }), 200, PARAMS],
    ['__proto__', message('tools/call', { name: '__proto__', arguments: {} }), 200, PARAMS],
    ...['x', [], null].map(
      (args): Row => [
        `the arguments ${JSON.stringify(args)}`,
        message('tools/call', { ...CALL, arguments: args }),
        ...([200, PARAMS] as const),
      ],
    ),
    ['a cursor', message('tools/list', { cursor: 'x' }), 200, PARAMS],
    [`${era}: a result`, message('tools/call', CALL), 200],
    [
      `${era}: more`,
      message('tools/call', { ...CALL, requestState: 'x', inputResponses: {} }),
      200,
    ],
    [`${era}: no arguments`, message('tools/call', { name: 'get_note' }), 200],
  ]);

testRows('how the legacy era differs', [
  ['a method that is unknown', legacy('prompts/list'), 200, UNKNOWN_METHOD],
  ['one of the modern era', legacy('server/discover'), 200, UNKNOWN_METHOD],
  ['a name that is no text', legacy('tools/call', { name: 1 }), 200, PARAMS],
  ['no name', legacy('tools/call'), 200, PARAMS],
  ['no handshake', legacy('tools/list'), 200],
  ['other headers', legacy('tools/list', {}, { 'mcp-method': 'x', 'mcp-name': 'y' }), 200],
  ...LEGACY.map((version): Row => {
    return [version, legacy('ping', {}, { 'mcp-protocol-version': version }), 200];
  }),
  ['unknown', legacy('tools/list', {}, { 'mcp-protocol-version': '1999-01-01' }), 400, VERSION],
  ['at first', legacy('initialize', {}, { 'mcp-protocol-version': '1999-01-01' }), 200],
  ['missing _meta', legacy('tools/list', {}, { 'mcp-protocol-version': MODERN }), 400, PARAMS],
]);

test('protocol: only POST is there', async () => {
  for (const method of ['GET', 'HEAD', 'DELETE', 'PUT']) {
    const { status, headers } = await service.request(method, '/mcp');
    assert.deepEqual([status, headers.allow], [405, 'POST, OPTIONS'], method);
  }
});

test('protocol: no answer begins a session', async () => {
  for (const parts of [legacy('initialize'), legacy('tools/list'), modern('server/discover')]) {
    const { headers } = await send({
      ...parts,
      headers: { 'mcp-session-id': 'x', ...parts.headers },
    });
    assert.equal(headers['mcp-session-id'], undefined);
  }
});

test('protocol: an unknown version is told which there are', async () => {
  const headers = { 'mcp-protocol-version': 'v9' };
  for (const parts of [modern('tools/list', asking('v9'), headers), legacy('ping', {}, headers)]) {
    const { json } = await send(parts);
    assert.deepEqual(json.error.data, { supported: VERSIONS, requested: 'v9' });
  }
});

test('protocol: the handshake agrees on a version that the server has', async () => {
  for (const [asked, agreed] of [
    ...LEGACY.map((version) => [version, version]),
    ...[MODERN, '2025-03-26', '1.0', 1, undefined].map((version) => [version, LEGACY[0]]),
  ]) {
    const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'c' } };
    const { result } = (await send(legacy('initialize', params))).json;
    const { instructions, serverInfo, ...rest } = result;
    assert.deepEqual(rest, { protocolVersion: agreed, capabilities: { tools: {} } });
    assert.equal(serverInfo.name, 'notes-server');
    assert.ok(instructions.length > 50 && instructions.length <= 500, instructions);
  }
  assert.deepEqual((await send(legacy('ping'))).json.result, {});
});

test('protocol: a modern client learns the versions and the name of the server', async () => {
  const { result } = (await send(modern('server/discover'))).json;
  const { instructions, ttlMs, _meta: meta, ...rest } = result;
  assert.deepEqual(rest, {
    resultType: 'complete',
    supportedVersions: VERSIONS,
    capabilities: { tools: {} },
    cacheScope: 'public',
  });
  const { result: begun } = (await send(legacy('initialize'))).json;
  assert.equal(instructions, begun.instructions);
  assert.ok(Number.isInteger(ttlMs) && ttlMs >= 0);
  for (const parts of [modern('tools/list'), modern('tools/call', CALL)])
    assert.deepEqual((await send(parts)).json.result._meta, meta);
  assert.deepEqual(meta, { 'io.modelcontextprotocol/serverInfo': begun.serverInfo });
});

test('protocol: the list of tools is the same in both eras and each time', async () => {
  const { ttlMs, cacheScope, tools } = (await send(modern('tools/list'))).json.result;
  assert.ok(Number.isInteger(ttlMs) && ttlMs >= 0);
  assert.match(cacheScope, /^(public|private)$/);
  assert.deepEqual((await send(legacy('tools/list'))).json.result, { tools });
  assert.deepEqual((await send(modern('tools/list'))).json.result.tools, tools);
});

test('protocol: a refusal by the tool is a result with a text and nothing else', async () => {
  for (const message of [modern, legacy]) {
    const params = { name: 'get_note', arguments: { id: 4711 } };
    const { status, json } = await send(message('tools/call', params));
    const { _meta, resultType, ...result } = json.result;
    const [{ text }] = result.content;
    assert.equal(status, 200);
    assert.deepEqual(result, { content: [{ type: 'text', text }], isError: true });
    assert.match(text, /4711/);
  }
  assert.equal((await callTool(service, 'get_note', { id: note.id })).json.title, 'a');
});
