// What a key allows, what the service tells its holder, and what log and metrics say of it.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { contract } from '../../support/contract.ts';
import { holdLock } from '../../support/databases.ts';
import { needsFile, temporaryFolder } from '../../support/engine.ts';
import { openStream } from '../../support/event-stream.ts';
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import { send } from '../../support/http.ts';
import { openSocket, requestText } from '../../support/raw.ts';
import { type Service, startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };
const NO_KEY =
  'This service asks for a key: send "authorization: Bearer KEY", or with curl: -u :KEY.';
const READER = { authorization: 'Bearer secret-reader' };
const WRITER = { authorization: 'Bearer secret-writer' };

const file = join(temporaryFolder({ after }), 'keys');
writeFileSync(
  file,
  `secret-reader name=reader access=read expires=2999-03-01
   secret-writer name=writer access=write`,
);
const KEYED = { apiKeysFile: file, apiKeys: ['secret-plain'] };

const service = await startService({ after }, KEYED);

const isOpen = (path: string) =>
  /^\/(?:$|health$|livez$|readyz$|docs|openapi\.json|problems)/.test(path);

/** The methods of each path that needs a key, with 1 for each id. */
const operations = Object.entries(contract.paths).flatMap(([template, item]) =>
  Object.keys(item)
    .filter((name) => name !== 'parameters' && !isOpen(template))
    .map((name) => [name.toUpperCase(), template.replace(/\{\w+\}/g, '1')] as const),
);

const countOf = async ({ request }: Pick<Service, 'request'>) =>
  (await request('GET', '/notes', { headers: WRITER })).json.total;

test('rights: without a key, nothing; one for reading reads whatever others read', async () => {
  for (const headers of [WRITER, { 'x-api-key': 'secret-plain' }])
    assert.equal((await service.request('POST', '/notes', { json: NOTE, headers })).status, 201);
  let refused = 0;
  for (const [method, path] of operations) {
    const parts = method === 'GET' ? {} : { json: NOTE };
    const keyless = await service.request(method, path, parts);
    assert.equal(keyless.json.detail, NO_KEY, `${method} ${path}`);
    assert.deepEqual([keyless.status, keyless.headers['www-authenticate']], [401, 'Bearer']);
    // There, each tool has its rights.
    if (path === '/mcp') continue;
    const answer = await service.request(method, path, { ...parts, headers: READER });
    if (method === 'GET') {
      const other = await service.request(method, path, { headers: WRITER });
      assert.equal(answer.status, other.status, path);
      const head = await service.request('HEAD', path, { headers: READER });
      assert.equal(head.status, answer.status, `HEAD ${path}`);
      continue;
    }
    refused += 1;
    const { type, detail } = answer.json;
    assert.deepEqual(
      [answer.status, type, detail, answer.headers['www-authenticate']],
      [
        403,
        `${service.url}/problems/insufficient-access`,
        'This key may only read.',
        'Bearer error="insufficient_scope"',
      ],
      `${method} ${path}`,
    );
  }
  assert.ok(refused > 15, String(refused));
  assert.equal(await countOf(service), 2);
  const options = await service.request('OPTIONS', '/notes', { headers: READER });
  assert.deepEqual([options.status, options.headers.allow], [204, 'GET, HEAD, POST, OPTIONS']);
});

test('rights: methods that no path has need more than reading', async () => {
  for (const method of ['TRACE', 'QUERY', 'PROPFIND']) {
    const answer = await send(service.url, method, '/notes', { headers: READER });
    assert.equal(answer.status, 403, method);
  }
});

test('rights: open paths do not look at a key', async () => {
  const answer = await service.request('POST', '/health', { json: {}, headers: READER });
  assert.equal(answer.status, 405);
});

test('rights: decided before the path is looked up and a body is sent', async () => {
  assert.equal((await service.request('DELETE', '/nowhere', { headers: READER })).status, 403);
  const headers = { ...READER, expect: '100-continue', 'content-length': '999' };
  assert.equal((await service.request('POST', '/notes', { headers })).status, 403);
});

test('rights: refused after another site, and after the rate limit has counted', async (t) => {
  const service = await startService(t, { ...KEYED, rateLimit: 2 });
  const post = (headers = {}) =>
    service.request('POST', '/notes', { json: NOTE, headers: { ...READER, ...headers } });
  const { json } = await post({ 'sec-fetch-site': 'cross-site' });
  assert.match(json.type, /\/forbidden$/);
  const refused = [await post(), await post(), await post()];
  assert.deepEqual(
    refused.map(({ status, headers }) => [status, /r=\d/.exec(String(headers.ratelimit))?.[0]]),
    [
      [403, 'r=1'],
      [403, 'r=0'],
      [429, 'r=0'],
    ],
  );
});

test('GET /key: name, access and end of the key of the request', async () => {
  for (const [headers, json] of [
    [READER, { name: 'reader', access: 'read', expires_at: '2999-03-01T23:59:59Z' }],
    [WRITER, { name: 'writer', access: 'write', expires_at: null }],
    [{ 'x-api-key': 'secret-plain' }, { name: null, access: 'write', expires_at: null }],
  ] as const) {
    const answer = await service.request('GET', '/key', { headers });
    assert.deepEqual([answer.status, answer.json], [200, json]);
    assert.equal(answer.headers['cache-control'], 'no-store');
  }
});

test('GET /key: without keys it is 404', async (t) => {
  const { request } = await startService(t);
  const answer = await request('GET', '/key', { headers: READER });
  assert.deepEqual([answer.status, answer.json.detail], [404, 'This service has no keys.']);
});

test('keys: the log names the key, and the ids of what a write has touched', async (t) => {
  const service = await startService(t, KEYED);
  const lines = { headers: { ...WRITER, 'content-type': 'application/x-ndjson' } };
  const bulk = { ...lines, body: '{"title":"a","body":"b"}\n'.repeat(3) };
  for (const [method, path, parts, ids] of [
    ['POST', '/notes', { json: NOTE }, { note_id: 1 }],
    ['POST', '/notes', bulk, { note_id: [2, 4] }],
    [
      'POST',
      '/notes/3/comments',
      { ...lines, body: '{"body":"a"}\n{"body":"b"}' },
      { note_id: 3, comment_id: [1, 2] },
    ],
    ['POST', '/tags', { json: { name: 'n' } }, { tag_id: 1 }],
    ['PUT', '/notes/3/tags/1', {}, { note_id: 3, tag_id: 1 }],
    ['PUT', '/notes/2', { json: NOTE }, { note_id: 2 }],
    ['PATCH', '/notes/2', { json: { title: 'c' } }, { note_id: 2 }],
    ['DELETE', '/notes/3/comments/2', {}, { note_id: 3, comment_id: 2 }],
    ['DELETE', '/notes/42', {}, undefined],
    ['PUT', '/notes/1', { json: {} }, undefined],
    ['DELETE', '/notes/secret', {}, undefined],
    ['POST', '/counter/increment', { json: { workers: 1, count: 1 } }, undefined],
    ['GET', '/notes/1', {}, undefined],
  ] as const) {
    await service.request(method, path, { headers: WRITER, ...parts });
    const { fields } = service.log.at(-1) ?? {};
    const logged = [fields?.client, fields?.method, fields?.ids];
    assert.deepEqual(logged, ['key writer', method, ids], `${method} ${path}`);
  }
});

test('keys: the log has the ids of a write whose client left before its answer', {
  skip: needsFile,
}, async (t) => {
  const service = await startService(t, KEYED);
  await service.request('POST', '/notes', { json: NOTE, headers: WRITER });
  const headers = ['x-api-key: secret-writer', 'x-request-id: gone'];
  const release = await holdLock(t, service.file, 'BEGIN IMMEDIATE');
  const socket = await openSocket(service);
  socket.write(requestText('DELETE /notes/1', headers));
  const isActive = async () => {
    const { text } = await service.request('GET', '/metrics', { headers: WRITER });
    return sampleOf(parseExposition(text), 'http_server_active_requests') === 2;
  };
  await until(isActive);
  socket.resetAndDestroy();
  await until(() => socket.closed);
  await release();
  const lineOf = () => service.log.find(({ fields }) => fields.request_id === 'gone')?.fields;
  await until(() => lineOf() !== undefined);
  assert.deepEqual(lineOf()?.ids, { note_id: 1 });
  assert.equal(await countOf(service), 0);
});

test('keys: the metrics count requests, refusals and bytes of each', async (t) => {
  const service = await startService(t, KEYED);
  const read = async () => {
    const { text } = await service.request('GET', '/metrics', { headers: WRITER });
    const families = parseExposition(text);
    return (key: string) =>
      [
        sampleOf(families, 'notes_key_requests_total', { key }),
        sampleOf(families, 'notes_key_refusals_total', { key }),
        sampleOf(families, 'notes_key_bytes_total', { key, direction: 'received' }),
        sampleOf(families, 'notes_key_bytes_total', { key, direction: 'sent' }),
      ] as const;
  };
  assert.deepEqual((await read())('reader'), [0, 0, 0, 0]);
  await service.request('GET', '/notes', { headers: { authorization: 'Bearer secret-wrong' } });
  const sent = JSON.stringify(NOTE);
  const created = await service.request('POST', '/notes', { body: sent, headers: WRITER });
  const refused = await service.request('POST', '/notes', { body: sent, headers: READER });
  const found = await service.request('GET', '/notes/1', { headers: READER });
  await service.request('HEAD', '/notes/1', { headers: READER });
  const stream = await openStream(t, service.url, '/changes', READER);
  const before = (await read())('reader');
  assert.deepEqual(before, [4, 1, 0, refused.bytes.length + found.bytes.length]);
  stream.close();
  await until(async () => (await read())('reader')[3] === before[3] + stream.text().length);
  const [requests, refusals, received, answered] = (await read())('writer');
  assert.deepEqual([requests >= 4, refusals, received], [true, 0, sent.length]);
  assert.ok(answered > created.bytes.length);
  const unnamed = hash('sha256', 'secret-plain').slice(0, 8);
  assert.deepEqual((await read())(unnamed), [0, 0, 0, 0]);
  await service.request('GET', '/notes', { headers: { 'x-api-key': 'secret-plain' } });
  assert.equal((await read())(unnamed)[0], 1);
  assert.equal((await read())('reader')[0], 4, 'the end of the stream is no request');
});
