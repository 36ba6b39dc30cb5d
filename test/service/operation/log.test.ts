// What the running service logs: one line per request, and no secrets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { jsonLine } from '../../../src/log/log.ts';
import { startCommand, stop } from '../../support/command.ts';
import { request } from '../../support/http.ts';
import { exchange, openSocket, requestText } from '../../support/raw.ts';
import { type Service, startService } from '../../support/service.ts';
import { beside } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };

function breakNotes({ file }: Pick<Service, 'file'>): Promise<unknown> {
  return beside(file, (connection) => connection.execute('ALTER TABLE notes RENAME TO elsewhere'));
}

function linesOf({ log }: Service): string {
  return log
    .map(({ level, message, fields }) => jsonLine({ level, message, ...fields }))
    .join('\n');
}

test('log: one line per request with id, method, route and status', async (t) => {
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  const answers = [
    await request(url, 'POST', '/notes', { json: NOTE }),
    await request(url, 'GET', '/notes/1'),
    await request(url, 'HEAD', '/notes?limit=3'),
    await request(url, 'GET', '/notes/2'),
    await request(url, 'PUT', '/notes/1', { json: {} }),
    await request(url, 'GET', '/nowhere'),
  ];
  const { stderr } = await stop(command);
  assert.match(stderr, /\n$/);
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.pop().message, 'stopping');
  const { message, address, keys } = lines.shift();
  assert.deepEqual([message, address, keys], ['listening', url, 0]);
  const expected = [
    ['info', 'POST', '/notes', 201],
    ['info', 'GET', '/notes/{note_id}', 200],
    ['info', 'HEAD', '/notes', 200],
    ['warn', 'GET', '/notes/{note_id}', 404],
    ['warn', 'PUT', '/notes/{note_id}', 422],
    ['warn', 'GET', undefined, 404],
  ];
  assert.deepEqual(
    lines.map(({ level, method, route, status }) => [level, method, route, status]),
    expected,
  );
  for (const [index, line] of lines.entries()) {
    const { time, level, message, request_id, client, method, route, status, ms, ...rest } = line;
    const { ids, ...others } = rest;
    assert.equal(message, 'request');
    assert.equal(new Date(time).toISOString(), time);
    assert.equal(request_id, answers[index]?.headers['x-request-id']);
    assert.equal(client, '127.0.0.1');
    assert.ok(ms >= 0 && ms < 60_000);
    assert.deepEqual(ids, status === 201 ? { note_id: 1 } : undefined);
    assert.deepEqual(others, {});
  }
});

test('log: a request whose client goes away has no status', async (t) => {
  const service = await startService(t);
  const socket = await openSocket(service);
  socket.write(requestText('POST /notes', ['content-length: 9', 'expect: 100-continue']));
  await once(socket, 'data');
  socket.resetAndDestroy();
  await until(() => service.log.length > 0);
  const [line, ...rest] = service.log;
  const { route, status, error, client } = line?.fields ?? {};
  assert.deepEqual(
    [line?.level, line?.message, route, status, error, client],
    ['info', 'request', '/notes', undefined, undefined, '127.0.0.1'],
  );
  assert.deepEqual(rest, []);
});

test('log: the client by address or by the hash of its key', async (t) => {
  const keys = { apiKeys: ['first', 'second'], rateLimit: 1, trustProxy: true };
  const service = await startService(t, keys);
  const forwarded = { 'x-forwarded-for': '203.0.113.7, 2001:db8::1' };
  for (const headers of [
    { 'x-api-key': 'wrong' },
    { authorization: 'Bearer second' },
    { ...forwarded, 'x-api-key': 'second' },
    { ...forwarded, host: 'evil.example' },
  ])
    await service.request('GET', '/notes', { headers });
  await service.request('GET', '/health', { headers: { ...forwarded, 'x-api-key': 'second' } });
  assert.deepEqual(
    service.log.map(({ fields }) => [fields.status, fields.client, typeof fields.reason]),
    [
      [401, '127.0.0.1', 'string'],
      [200, 'key 16367aac', 'undefined'],
      [429, 'key 16367aac', 'string'],
      [403, '2001:db8::1', 'string'],
      [200, '2001:db8::1', 'undefined'],
    ],
  );
});

test('log: refused requests too, with their trace if the headers were complete', async (t) => {
  const service = await startService(t);
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = [`traceparent: 00-${trace}-00f067aa0ba902b7-01`, 'x-request-id: mine'];
  await exchange(service, requestText('GET /notes', ['connection: close', ...headers]));
  await exchange(service, requestText('CONNECT a.example:80', headers));
  const malformed = await exchange(service, requestText('GET /notes', [...headers, 'no header']));
  const { level, message, fields } = service.log.at(-1) ?? {};
  assert.deepEqual([level, message, fields?.client], ['warn', 'refused', '127.0.0.1']);
  assert.match(String(fields?.reason), /^HPE_/);
  assert.equal(fields?.request_id, malformed.headers['x-request-id']);
  assert.deepEqual(
    service.log.map(({ fields }) => [fields.status, fields.trace_id, fields.request_id === 'mine']),
    [
      [200, trace, true],
      [405, trace, true],
      [400, undefined, false],
    ],
  );
});

test('log: no bodies, queries, paths or headers, even of failures', async (t) => {
  const service = await startService(t);
  const secret = 'Jabberwocky';
  const json = { title: secret, body: secret };
  const headers = {
    authorization: `Bearer ${secret}`,
    'x-api-key': secret,
    cookie: secret,
    'x-request-id': `${secret}!`,
    'user-agent': secret,
    referer: secret,
  };
  await service.request('POST', '/notes', { json });
  await service.request('POST', '/notes', { json: { ...json, [secret]: { [secret]: secret } } });
  await service.request('POST', '/event/sync', { json: { payload: secret } });
  await service.request('GET', `/notes?limit=${secret}&${secret}=1`);
  await service.request('GET', `/notes/${secret}`);
  await service.request('GET', `/${secret}`);
  await service.request('GET', `/docs/${secret}`);
  await service.request('GET', '/notes', { headers });
  await service.request('POST', '/notes', { body: `{"title":"${secret}` });
  await exchange(service, `GET /${secret} HTTP/9.9\r\n${secret}\r\n\r\n`);
  await breakNotes(service);
  assert.equal((await service.request('POST', '/notes', { json })).status, 500);
  assert.equal((await service.request('PUT', '/notes/1', { json })).status, 500);
  assert.equal(service.log.length, 12);
  assert.doesNotMatch(linesOf(service), new RegExp(secret));
});

test('log: only the log describes a failure, by the id of the answer', async (t) => {
  const service = await startService(t);
  await breakNotes(service);
  const answer = await service.request('GET', '/notes/1');
  assert.deepEqual(answer.json, {
    type: `${service.url}/problems/internal-server-error`,
    title: 'Internal Server Error',
    status: 500,
    detail: 'Something unexpected happened.',
  });
  const line = JSON.parse(linesOf(service));
  assert.deepEqual([line.level, line.route, line.status], ['error', '/notes/{note_id}', 500]);
  assert.equal(line.request_id, answer.headers['x-request-id']);
  assert.match(line.error.message, /no such table: (main\.)?notes/);
  assert.match(line.error.stack, /^Error: SQLITE_ERROR/);
});
