// X-Request-Id: taken from the request or generated, in every answer and in the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exchange, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('request ids: a valid one is kept', async (t) => {
  const service = await startService(t);
  for (const id of [...'a 0 - . _ aZ0.9_- constructor __proto__'.split(' '), 'x'.repeat(128)]) {
    const { headers } = await service.request('GET', '/notes', { headers: { 'x-request-id': id } });
    assert.equal(headers['x-request-id'], id);
  }
});

test('request ids: an invalid one is replaced by a UUID', async (t) => {
  const service = await startService(t);
  const ids = [
    ...['', ' ', 'x'.repeat(129), 'a b', 'a,b', 'a:b', 'a/b', 'a"', '<b>', 'a%20', '{}', 'é'],
    ...['a\tb', '$(id)', 'a\\'],
  ];
  const given = new Set<unknown>();
  for (const sent of [...ids, ['a', 'b'], ['a', 'a'], undefined]) {
    const headers = sent === undefined ? {} : { 'x-request-id': sent };
    const answer = await service.request('GET', '/notes', { headers });
    assert.match(String(answer.headers['x-request-id']), UUID, String(sent));
    given.add(answer.headers['x-request-id']);
  }
  assert.equal(given.size, ids.length + 3);
});

test('request ids: in every kind of answer and in its log line', async (t) => {
  const service = await startService(t, { bodyLimitBytes: 100 });
  const note = { json: { title: 'a', body: 'b' } };
  const { etag } = (await service.request('GET', '/docs')).headers;
  const requests = [
    ['POST', '/notes', note, 201],
    ['GET', '/notes/1', {}, 200],
    ['HEAD', '/notes/1', {}, 200],
    ['PUT', '/notes/1', note, 200],
    ['OPTIONS', '/notes/1', {}, 204],
    ['DELETE', '/notes/1', {}, 204],
    ['GET', '/', {}, 307],
    ['GET', '/docs', { headers: { 'if-none-match': String(etag) } }, 304],
    ['POST', '/notes', { body: '{' }, 400],
    ['GET', '/notes/1', {}, 404],
    ['PATCH', '/notes', {}, 405],
    ['POST', '/notes', { body: 'x'.repeat(101) }, 413],
    ['POST', '/notes', { body: '{}', headers: { 'content-type': 'text/xml' } }, 415],
    ['POST', '/notes', { json: {} }, 422],
  ] as const;
  for (const [index, [method, path, parts, status]] of requests.entries()) {
    const id = `request-${index}`;
    const headers = { ...('headers' in parts ? parts.headers : {}), 'x-request-id': id };
    const answer = await service.request(method, path, { ...parts, headers });
    assert.deepEqual(
      [answer.status, answer.headers['x-request-id']],
      [status, id],
      `${method} ${path}`,
    );
    const lines = service.log.filter(({ fields }) => fields.request_id === id);
    assert.deepEqual(
      lines.map(({ fields }) => [fields.method, fields.status]),
      [[method, status]],
    );
  }
});

test('request ids: malformed input has one, whatever it sends, in all log lines', async (t) => {
  const service = await startService(t);
  const head = requestText('POST /notes', ['transfer-encoding: chunked']);
  for (const [sent, expected] of [
    ['GET / HTTP/1.1\r\nhost: a\r\nx-request-id: mine\r\nnonsense\r\n\r\n', ['refused']],
    [`${head}zz\r\n`, ['refused', 'request']],
  ] as const) {
    const { 'x-request-id': id = '' } = (await exchange(service, sent)).headers;
    assert.match(id, UUID);
    const lines = () => service.log.filter(({ fields }) => fields.request_id === id);
    await until(() => lines().length === expected.length);
    assert.deepEqual(
      lines()
        .map(({ message, fields }) => [message, fields.status])
        .sort(),
      expected.map((message) => [message, message === 'refused' ? 400 : undefined]),
    );
  }
});
