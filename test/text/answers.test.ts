// Notes and comments as texts in answers, over HTTP: which clients get them, and their entity tags.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import type { RequestParts } from '../support/http.ts';
import { startService } from '../support/service.ts';
import { anyText, filledText } from './texts.ts';

const FORMS = [
  ['application/json', '', 'application/json'],
  ['text/markdown', '.md', 'text/markdown; charset=utf-8'],
  ['text/plain', '.txt', 'text/plain; charset=utf-8'],
] as const;

const service = await startService({ after });
const asking = (accept: string, headers = {}): RequestParts => ({
  headers: { accept, ...headers },
});
const read = (path: string, accept: string, headers = {}) =>
  service.request('GET', path, asking(accept, headers));

async function createNote(title: string, body: string): Promise<string> {
  const { headers } = await service.request('POST', '/notes', { json: { title, body } });
  return String(headers.location);
}

async function createComment(body: string): Promise<string> {
  const note = await createNote('a', 'b');
  const { headers } = await service.request('POST', `${note}/comments`, { json: { body } });
  return String(headers.location);
}

test('texts: a note and a comment in each form, to GET and HEAD', async () => {
  const note = await createNote('Milk\r\nand\rmore\n', '\ufeffOat\r\n\0𝒂\n');
  const comment = await createComment('\ufeffOat\n');
  for (const [path, markdown, plain] of [
    [note, '# Milk and more \n\n\ufeffOat\r\n\0𝒂\n', '\ufeffOat\r\n\0𝒂\n'],
    [comment, '\ufeff\ufeffOat\n', '\ufeffOat\n'],
  ] as const) {
    // Read twice, from the file and from memory.
    for (const _ of ['file', 'memory'])
      for (const [accept, , type] of FORMS) {
        const { status, text, headers } = await read(path, accept);
        assert.deepEqual([status, headers['content-type'], headers.vary], [200, type, 'accept']);
        if (accept !== 'application/json')
          assert.equal(text, accept === 'text/markdown' ? markdown : plain);
        const head = await service.request('HEAD', path, asking(accept));
        for (const name of ['content-type', 'content-length', 'etag', 'vary'])
          assert.equal(head.headers[name], headers[name], name);
      }
  }
});

test('texts: JSON stays what others get', async () => {
  const path = await createNote('a', 'b');
  for (const accept of ['*/*', 'text/*', 'text/html', 'application/json, text/plain, */*', '']) {
    const { headers } = await read(path, accept);
    assert.deepEqual([headers['content-type'], headers.vary], ['application/json', 'accept']);
  }
  for (const [other, vary] of [
    [`${path}?fields=title`, undefined],
    [`${path}?include=tags`, undefined],
    ['/notes', 'accept'],
    ['/tags/1', undefined],
  ] as const) {
    await service.request('POST', '/tags', { json: { name: 'a' } });
    const { status, headers } = await read(other, 'text/markdown');
    assert.deepEqual([status, headers['content-type']], [200, 'application/json'], other);
    assert.equal(headers.vary, vary, other);
  }
  assert.equal((await read('/notes/99999', 'text/markdown')).status, 404);
});

test('texts: each form has its own entity tag, with which it is known', async () => {
  for (const path of [await createNote('a', 'b'), await createComment('b')]) {
    const { etag = '' } = (await read(path, '*/*')).headers;
    const tagOf = (end: string) => etag.replace(/"$/, `${end}"`);
    for (const [accept, end] of FORMS)
      for (const [, known] of FORMS) {
        const condition = { 'if-none-match': `"x", ${tagOf(known)}` };
        const { status, headers } = await read(path, accept, condition);
        assert.equal(status, known === end ? 304 : 200, `${accept} ${known}`);
        assert.deepEqual([headers.etag, headers.vary], [tagOf(end), 'accept']);
        const match = await read(path, accept, { 'if-match': tagOf(known) });
        assert.deepEqual(
          [match.status, match.headers.etag, match.headers.vary],
          [known === end ? 200 : 412, tagOf(end), 'accept'],
        );
      }
  }
});

/** Writes with conditions, each with its status. */
const WRITES: readonly (readonly [string, RequestParts, number])[] = [
  ['PUT', { body: 'x', headers: { 'content-type': 'text/plain' } }, 200],
  ['PUT', { json: { body: 'x', title: 'x' } }, 200],
  ['PATCH', { json: { body: 'x' } }, 200],
  ['PATCH', { json: {} }, 200],
  ['DELETE', {}, 204],
];

test('texts: a write takes the tag of any form as its condition, and answers in JSON', async () => {
  for (const [, end] of FORMS)
    for (const [method, parts, status] of WRITES) {
      const path = await createNote('a', 'b');
      const { etag = '' } = (await read(path, '*/*')).headers;
      const send = (name: string, tag: string) => {
        const headers = { accept: 'text/markdown', ...parts.headers, [name]: tag };
        return service.request(method, path, { ...parts, headers });
      };
      const tag = etag.replace(/"$/, `${end}"`);
      const known = await send('if-none-match', tag);
      assert.deepEqual([known.status, known.headers.etag], [412, etag]);
      for (const other of [`W/${tag}`, etag.replace(/-\d+"$/, `-0${end}"`), `"x${end}"`])
        assert.equal((await send('if-match', other)).status, 412, other);
      const { status: actual, json } = await send('if-match', tag);
      assert.deepEqual([actual, json?.id], [status, status === 200 ? json.id : undefined]);
    }
});

test('texts: what was read and is sent back changes nothing', async () => {
  const forms = [
    [await createNote('a', 'b'), 'text/markdown'],
    [await createComment('b'), 'text/markdown'],
  ] as const;
  const property = fc.asyncProperty(filledText, filledText, async (text, body) => {
    const title = text.replace(/[\r\n]/g, '').trim() || 'a';
    for (const [path, type] of forms) {
      const json = path.includes('comments') ? { body } : { title, body };
      const before = await service.request('PUT', path, { json });
      const { bytes, headers } = await read(path, type);
      const conditions = { 'content-type': type, 'if-match': String(headers.etag) };
      const after = await service.request('PUT', path, { body: bytes, headers: conditions });
      assert.deepEqual([after.status, after.json], [200, before.json]);
    }
  });
  await fc.assert(property, { numRuns: 20 });
});

test('texts: whatever is sent as one, the answer is a note or a reason', async () => {
  const bytes = fc.oneof(
    anyText.map((each) => Buffer.from(each)),
    fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)),
  );
  const property = fc.asyncProperty(bytes, async (body) => {
    const parts = { body, headers: { 'content-type': 'text/markdown' } };
    const { status, headers } = await service.request('POST', '/notes', parts);
    assert.ok([201, 400, 422].includes(status), String(status));
    if (status !== 201) return;
    assert.equal((await read(String(headers.location), 'text/markdown')).status, 200);
  });
  await fc.assert(property, { numRuns: 50 });
});
