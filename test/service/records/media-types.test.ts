import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../../support/contract.ts';
import { startService } from '../../support/service.ts';

const NOTE = '{"title":"a","body":"b"}';

const JSON_TYPES = [
  ...['application/json', 'Application/JSON', 'application/json; charset=utf-8', 'application/json;charset="UTF-8"'],
  ...['application/json; charset=utf8', 'application/merge-patch+json', 'application/vnd.api+json; profile="a;b"'],
];

const OTHER_TYPES = [
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain', 'text/plain;charset=UTF-8'],
  ...['text/json', 'application/xml', 'application/octet-stream', 'application/jsonx', 'json', '*/*', '', ' ', ';'],
  ...['application/json; charset=latin1', 'application/json; charset=utf-16le', 'application/json; charset="utf-32"'],
  ...['application/json, text/plain', 'application/json; charset', 'application/ld+json;charset=iso-8859-1'],
];

const bodyOperations = Object.entries(contract.paths).flatMap(([template, item]) =>
  ['post', 'put']
    .filter((method) => method in item)
    .map((method) => ({ method: method.toUpperCase(), path: template.replace(/\{\w+\}/g, '1') })),
);

test('JSON is read under each of its names', async (t) => {
  const service = await startService(t);
  for (const type of JSON_TYPES) {
    const { status, json } = await service.request('POST', '/notes', { body: NOTE, headers: { 'content-type': type } });
    assert.equal(status, 201, type);
    assert.equal(json.title, 'a');
  }
});

test('a body without a content-type is read as JSON', async (t) => {
  const service = await startService(t);
  assert.equal((await service.request('POST', '/notes', { body: NOTE })).status, 201);
});

test('any other content-type is 415, and the answer says what to send, to users of curl too', async (t) => {
  const service = await startService(t);
  for (const type of OTHER_TYPES) {
    const answer = await service.request('POST', '/notes', { body: NOTE, headers: { 'content-type': type } });
    assert.equal(answer.status, 415, type);
    assert.match(answer.json.detail, /content-type: application\/json/);
    assert.match(answer.json.detail, /curl: --json DATA, or -H "content-type: application\/json"/);
    assert.equal(answer.headers.accept, 'application/json');
  }
  assert.equal((await service.request('GET', '/notes')).json.total, 0);
});

test('each operation that takes a body asks for JSON', async (t) => {
  const service = await startService(t);
  assert.equal(bodyOperations.length, 12);
  for (const { method, path } of bodyOperations) {
    const { status } = await service.request(method, path, { body: '{}', headers: { 'content-type': 'text/plain' } });
    assert.equal(status, 415, `${method} ${path}`);
  }
});

test('a content-encoding is 415, unless it is identity', async (t) => {
  const service = await startService(t);
  for (const coding of [
    'gzip',
    'br',
    'deflate',
    'zstd',
    'x-gzip',
    'aes128gcm',
    'identity, gzip',
    'gzip, identity',
    '*',
  ]) {
    const answer = await service.request('POST', '/notes', { body: NOTE, headers: { 'content-encoding': coding } });
    assert.equal(answer.status, 415, coding);
    assert.match(answer.json.detail, /content-encoding/);
    assert.equal(answer.headers['accept-encoding'], 'identity');
  }
  for (const coding of ['identity', 'Identity', ' identity ']) {
    const { status } = await service.request('POST', '/notes', { body: NOTE, headers: { 'content-encoding': coding } });
    assert.equal(status, 201, coding);
  }
});

test('what a request says of a body that nobody reads does not matter', async (t) => {
  const service = await startService(t);
  const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
  assert.equal((await service.request('GET', '/notes', { headers, body: 'x' })).status, 200);
  assert.equal((await service.request('DELETE', '/notes/1', { headers, body: 'x' })).status, 404);
});

test('an accept header refuses nobody: answers are JSON, and errors are problems', async (t) => {
  const service = await startService(t);
  for (const accept of ['text/html', 'application/xml', 'application/json;q=0', 'nonsense', '']) {
    const found = await service.request('GET', '/notes', { headers: { accept } });
    assert.deepEqual([found.status, found.headers['content-type']], [200, 'application/json'], accept);
    const missing = await service.request('GET', '/notes/1', { headers: { accept } });
    assert.deepEqual([missing.status, missing.headers['content-type']], [404, 'application/problem+json'], accept);
  }
});
