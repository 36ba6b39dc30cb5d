// Hostile messages at /mcp: whatever arrives, the answer is short and belongs to the protocol,
// nothing breaks, and nothing is stored that HTTP would refuse.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../support/any-character.ts';
import { legacy, META, MODERN, modern } from '../../support/assistants.ts';
import { type RequestParts, send as sendTo } from '../../support/http.ts';
import { nested } from '../../support/json-texts.ts';
import { assertNoErrors, startService } from '../../support/service.ts';

const MEBIBYTE = 1_048_576;
/** The largest text that fits into a message of a mebibyte. */
const LONG = 'x'.repeat(MEBIBYTE - 500);
const MANY = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`a${index}`, index]));

const service = await startService({ after });
await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });

const send = (parts: RequestParts) => service.request('POST', '/mcp', parts);
const call = (name: unknown, args: unknown) => legacy('tools/call', { name, arguments: args });
const text = (body: string): RequestParts => {
  return { body, headers: { 'content-type': 'application/json' } };
};
const withArguments = (args: string) =>
  text(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_note",
    "arguments":${args},"_meta":{"__proto__":1}}}`);

/** Messages with the status of their answer. */
const MESSAGES: Readonly<Record<string, readonly [RequestParts, number]>> = {
  'a thousand requests in a list': [{ json: Array(1_000).fill(legacy('tools/list').json) }, 400],
  'nothing but brackets': [text(nested(100_000)), 400],
  'deep arguments': [withArguments(nested(10_000)), 400],
  'deep objects': [withArguments(nested(10_000, '{"a":', '}').replace('{}', '{"a":1}')), 400],
  'an argument of a mebibyte': [call('get_note', { id: LONG }), 200],
  'a title of a mebibyte': [call('create_note', { title: LONG, body: 'b' }), 200],
  'a body of a mebibyte': [call('create_note', { title: 'a', body: LONG }), 200],
  'a query of a mebibyte': [call('search_notes', { query: LONG }), 200],
  'many unknown arguments': [call('create_note', MANY), 200],
  'many tags': [call('create_note', { title: 'a', body: 'b', tags: Object.keys(MANY) }), 200],
  'more than a mebibyte': [call('create_note', { title: 'a', body: LONG + LONG }), 413],
  'a name of a mebibyte': [call(LONG, {}), 200],
  'a method of a mebibyte': [legacy(LONG), 200],
  'a method of a mebibyte, modern': [modern('x', {}, { 'mcp-method': 'x'.repeat(8_000) }), 400],
  'an id of a mebibyte': [{ json: { jsonrpc: '2.0', id: LONG, method: 'ping' } }, 400],
  'a version of a mebibyte': [legacy('initialize', { protocolVersion: LONG }), 200],
  'a long header': [legacy('ping', {}, { 'mcp-protocol-version': 'x'.repeat(8_000) }), 400],
  'a version of a mebibyte, modern': [
    modern('ping', { _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': LONG } }),
    400,
  ],
  'a long name in Base64': [
    modern('tools/call', { name: 'x' }, { 'mcp-name': `=?base64?${'eHh4'.repeat(2_000)}?=` }),
    400,
  ],
  'bytes that are no UTF-8 in Base64': [
    modern('tools/call', { name: 'x' }, { 'mcp-name': '=?base64?/w==?=' }),
    400,
  ],
  'a header beyond ASCII': [modern('tools/call', { name: 'x' }, { 'mcp-name': '\u00e9' }), 400],
  'a lone surrogate': [call('create_note', { title: '\ud800', body: 'b' }), 200],
  'a lone surrogate as a name': [call('\ud800', {}), 200],
};

test('hostile: each message has a short answer that belongs to the protocol', async () => {
  for (const [what, [parts, status]] of Object.entries(MESSAGES)) {
    const answer = await send(parts);
    assert.equal(answer.status, status, what);
    assert.ok(answer.bytes.length < 4_000, `${what}: ${answer.bytes.length} bytes`);
    if (status === 413) continue;
    const { error, result } = answer.json;
    assert.ok(error || result.isError || result.protocolVersion, `${what}: ${answer.text}`);
    assert.ok(answer.text.isWellFormed());
  }
  assert.equal((await service.request('GET', '/notes')).json.total, 1);
  assertNoErrors(service);
});

test('hostile: names of what every object has are names like others', async () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype']) {
    const pollution = `{"id":1,"${name}":{"isPolluted":true}}`;
    const answer = await send(withArguments(pollution));
    assert.equal(answer.json.result.isError, true, answer.text);
    const text = `${name} is not known. Correct the arguments and call the tool again.`;
    assert.equal(answer.json.result.content[0].text, text);
    assert.equal((await send(legacy(name))).json.error.code, -32_601);
    assert.equal((await send(call(name, {}))).json.error.code, -32_602);
    const { status } = await send(modern(name, JSON.parse(`{"${name}":{"a":1}}`)));
    assert.equal(status, 404);
  }
  assert.equal(Object({}).isPolluted, undefined);
});

test('hostile: a list that is asked for a thousand times stays the same', async () => {
  const { bytes } = await send(legacy('tools/list'));
  assert.ok(bytes.length < 14_436, String(bytes.length));
  const agent = new Agent({ keepAlive: true });
  const asking = Array.from({ length: 10 }, async () => {
    for (let count = 0; count < 100; count += 1) {
      const answer = await sendTo(service.url, 'POST', '/mcp', { agent, ...legacy('tools/list') });
      assert.ok(answer.bytes.equals(bytes));
    }
  });
  await Promise.all(asking);
  agent.destroy();
});

test('hostile: any call of a tool has a result or is refused', async () => {
  const { tools } = (await send(legacy('tools/list'))).json.result;
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(...'1|-1|1e3| 1|0x1|true|TRUE|[]|["a"]|{"a":1}|null'.split('|')),
    fc.string({ unit: anyCharacter, maxLength: 20 }),
    fc.constantFrom(1, 10, true, 'a', ['a'], { a: 1 }),
  );
  const calls = fc.constantFrom(...tools).chain(({ name, inputSchema }) => {
    const known = Object.keys(inputSchema.properties).map((property) => [property, junk]);
    const args = fc.record(Object.fromEntries([...known, ['extra', junk]]), { requiredKeys: [] });
    return fc.tuple(fc.constant(name), fc.oneof({ weight: 9, arbitrary: args }, junk));
  });
  const property = fc.asyncProperty(calls, fc.boolean(), async ([name, args], isModern) => {
    const message = isModern ? modern : legacy;
    const { status, json, text } = await send(message('tools/call', { name, arguments: args }));
    assert.equal(status, 200);
    if (json.error) assert.equal(json.error.code, -32_602, text);
    else assert.ok(json.result.content[0].text.length > 0);
  });
  await fc.assert(property, { numRuns: 150 });
  assertNoErrors(service);
});

test('hostile: any message is answered as the protocol demands', async () => {
  const member = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('2.0', 1, 'tools/list'));
  const messages = fc.record(
    {
      jsonrpc: fc.oneof(fc.constant('2.0'), member),
      id: member,
      method: fc.oneof(fc.constantFrom('tools/list', 'tools/call', 'initialize'), member),
      params: fc.oneof(fc.record({ _meta: member, name: member, arguments: member }), member),
    },
    { requiredKeys: [] },
  );
  const headers = fc.record(
    {
      'mcp-protocol-version': fc.constantFrom(MODERN, '2025-11-25', 'x'),
      'mcp-method': fc.constantFrom('tools/list', 'tools/call', 'x'),
    },
    { requiredKeys: [] },
  );
  const property = fc.asyncProperty(messages, headers, async (json, sent) => {
    const { status, json: answer, text } = await send({ json, headers: sent });
    assert.ok([200, 202, 400, 404].includes(status), text);
    if (status !== 202) assert.equal('error' in answer, !('result' in answer));
    assert.notEqual(answer?.error?.code, -32_603, text);
  });
  await fc.assert(property, { numRuns: 150 });
  assertNoErrors(service);
});
