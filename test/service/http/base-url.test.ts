// --base-url and --problem-base in everything that carries a URL or a path.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastingPort } from '../../support/ports.ts';
import { exchange } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };

test('base URL: precedes every path in an answer', async (t) => {
  const base = 'http://example.org:8443/api';
  const service = await startService(t, { baseUrl: base });
  const request = { json: NOTE, headers: { host: 'example.org:8443' } };
  const created = await service.request('POST', '/notes', request);
  assert.equal(created.headers.location, '/api/notes/1');
  const comment = await service.request('POST', '/notes/1/comments', { json: { body: 'c' } });
  assert.equal(comment.headers.location, '/api/notes/1/comments/1');
  const headers = { 'content-type': 'application/x-ndjson' };
  const bulk = await service.request('POST', '/tags', { body: '{"name":"n"}', headers });
  assert.equal(bulk.headers.location, '/api/tags');
  assert.equal((await service.request('GET', '/')).headers.location, '/api/docs');
  const missing = await service.request('GET', '/notes/2');
  assert.equal(missing.json.type, `${base}/problems/not-found`);
  const malformed = JSON.parse((await exchange(service, 'nonsense\r\n\r\n')).body);
  assert.equal(malformed.type, `${base}/problems/bad-request`);
});

test('base URL: an invalid one leaves the port free', async (t) => {
  const port = await lastingPort();
  await assert.rejects(startService(t, { port, baseUrl: 'no URL' }), TypeError);
  assert.equal((await startService(t, { port })).port, port);
});

test('problem base: precedes the type of every problem, and nothing else', async (t) => {
  const service = await startService(t, { problemBase: 'https://errors.example.org/notes' });
  const missing = await service.request('GET', '/notes/1');
  assert.equal(missing.json.type, 'https://errors.example.org/notes/not-found');
  const malformed = JSON.parse((await exchange(service, 'nonsense\r\n\r\n')).body);
  assert.equal(malformed.type, 'https://errors.example.org/notes/bad-request');
  assert.equal((await service.request('GET', '/')).headers.location, '/docs');
});
