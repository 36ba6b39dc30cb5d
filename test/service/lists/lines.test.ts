// Lists as lines of JSON: the same records as in the array, for clients that prefer them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { startService } from '../../support/service.ts';

const LINES = 'application/x-ndjson';

/** A list of each kind, some of them empty, or with members that are made after the read. */
const PATHS = [
  ...['/notes', '/notes?limit=1&offset=1', '/notes?after=1&limit=1', '/notes?offset=9'],
  ...['/notes?q=milk&include=snippet', '/notes?q=milk&include=snippet,tags&fields=id&order=id'],
  ...['/notes?q=zz&include=snippet', '/tags?include=notes_count', '/notes/1/tags', '/tags/1/notes'],
  ...['/notes/1/comments?include=times,etag', '/notes/2/comments'],
];

async function fill(service: Target): Promise<void> {
  const post = (path: string, json: object) => service.request('POST', path, { json });
  await post('/notes', { title: 'milk', body: 'a,\n\t"東京"', tags: ['a', 'b'] });
  await post('/notes', { title: 'b', body: 'milk\u2028' });
  await post('/notes/1/comments', { body: 'c' });
  await post('/notes/1/comments', { body: 'd\n' });
}

const ask = (service: Target, path: string, accept: string, headers = {}, method = 'GET') =>
  service.request(method, path, { headers: { accept, ...headers } });

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  test(`lines: each list has those of its records (${deployment})`, async (t) => {
    const service = await start(t);
    await fill(service);
    // Read twice, from the database and from memory.
    for (const path of PATHS)
      for (const _ of ['database', 'memory']) {
        const array = await ask(service, path, '*/*');
        const lines = await ask(service, path, LINES);
        const records = lines.text.split('\n').slice(0, -1);
        assert.equal(array.text.slice(0, array.text.lastIndexOf(']')), `{"items":[${records}`);
        assert.deepEqual([array.headers.vary, lines.headers.vary], ['accept', 'accept']);
        assert.equal(lines.headers['content-type'], LINES);
        assert.equal(lines.headers.link, array.headers.link);
        assert.equal(lines.headers.etag, array.headers.etag?.replace(/"$/, '.ndjson"'));
        const head = await ask(service, path, LINES, {}, 'HEAD');
        for (const name of ['content-type', 'content-length', 'etag', 'link', 'vary'])
          assert.equal(head.headers[name], lines.headers[name], name);
      }
  });

test('lines: each form has its own entity tag, with which it is known', async (t) => {
  // Pages in memory would hide what the database compares.
  const service = await startService(t, { cacheSizeMib: 0 });
  await fill(service);
  for (const path of PATHS) {
    const { etag = '' } = (await ask(service, path, '*/*')).headers;
    for (const [accept, end] of [
      ['*/*', ''],
      [LINES, '.ndjson'],
    ] as const) {
      const { text } = await ask(service, path, accept);
      for (const other of ['', '.ndjson', '.md', '1234567']) {
        const tag = etag.replace(/"$/, `${other}"`);
        const known = await ask(service, path, accept, { 'if-none-match': `"x", ${tag}` });
        const [status, expected] = other === end ? [304, ''] : [200, text];
        assert.deepEqual([known.status, known.text], [status, expected], `${accept} ${other}`);
        assert.equal(known.headers.vary, 'accept');
        const match = await ask(service, path, accept, { 'if-match': tag });
        assert.deepEqual([match.status, match.headers.vary], [other === end ? 200 : 412, 'accept']);
      }
      const any = await ask(service, path, accept, { 'if-none-match': '*' });
      assert.deepEqual([any.status, any.headers.vary], [304, 'accept']);
    }
  }
});

test('lines: for clients that prefer the exact type, and of lists alone', async (t) => {
  const service = await startService(t);
  for (const path of ['/notes', '/tags'])
    for (const [accept, type] of [
      ['application/x-ndjson;q=0.9, */*;q=0.8', LINES],
      ['application/json, application/x-ndjson', 'application/json'],
      ['application/*', 'application/json'],
    ] as const)
      assert.equal((await ask(service, path, accept)).headers['content-type'], type, accept);
  await fill(service);
  for (const path of ['/notes/1', '/notes/1?include=tags'])
    assert.equal((await ask(service, path, LINES)).headers['content-type'], 'application/json');
  assert.equal((await ask(service, '/notes/99/comments', LINES)).status, 404);
});
