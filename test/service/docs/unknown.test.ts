// A path that leads nowhere: browsers get a page with the way back, other clients the problem.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startService } from '../../support/service.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const NOTHING = 'There is nothing at this path.';

/** Paths without a page, and the detail of their problem. */
const UNKNOWN = {
  '/nothing': NOTHING,
  '/notes/': NOTHING,
  '/a/b/c/d?e=f': NOTHING,
  '/docs/': NOTHING,
  '/docs/guides/options/': NOTHING,
  '/docs/nothing': 'The documentation has no such file.',
  '/docs/guides/nothing': 'There is no such guide.',
  '/problems/nothing': 'There is no such problem type.',
} as const;

const service = await startService({ after });

test('unknown pages: a page for browsers, with the way back', async (t) => {
  const below = await startService(t, { baseUrl: 'https://example.org/a&b/api' });
  for (const [{ request }, root] of [
    [service, '/'],
    [below, '/a&#38;b/api/'],
  ] as const) {
    for (const [path, detail] of Object.entries(UNKNOWN)) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers, text } = await request(method, path, {
          headers: { accept: BROWSER },
        });
        assert.equal(status, 404, path);
        assert.equal(headers['content-type'], 'text/html; charset=utf-8', path);
        assert.equal(headers['cache-control'], 'no-store', path);
        assert.equal(headers.vary, 'accept', path);
        assert.match(String(headers['content-security-policy']), /default-src 'none'/, path);
        if (method === 'HEAD') continue;
        assert.ok(text.includes(`<p>${detail} `), path);
        const links = [...text.matchAll(/ href="([^"]*)"/g)].map(([, link = '']) => link);
        const own = links.filter((link) => link !== '#main');
        assert.ok(
          own.every((link) => link.startsWith(root)),
          `${own}`,
        );
        for (const target of ['docs', 'docs/guides', 'problems', 'docs/page.css'])
          assert.ok(own.includes(root + target), `${path}: ${target}`);
      }
    }
  }
});

test('unknown pages: the problem for every other client', async () => {
  for (const accept of [
    ...[undefined, '*/*', 'text/*', 'application/json', 'text/html;q=0', 'application/xhtml+xml'],
    ...['text/html, application/json', 'application/problem+json, text/html;q=0.5'],
  ]) {
    const headers = accept === undefined ? {} : { accept };
    for (const [path, detail] of Object.entries(UNKNOWN)) {
      const answer = await service.request('GET', path, { headers });
      const type = `${service.url}/problems/not-found`;
      const problem = { type, title: 'Not Found', status: 404, detail };
      assert.equal(answer.text, JSON.stringify(problem), `${path} ${accept}`);
      assert.equal(answer.headers['content-type'], 'application/problem+json');
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers.vary, 'accept');
    }
  }
});

test('unknown pages: records, refusals and other methods stay problems', async (t) => {
  const keyed = await startService(t, { apiKeys: ['key'] });
  const notesKey = { authorization: 'Bearer key' };
  for (const [{ request }, method, path, status, more] of [
    [service, 'GET', '/notes/42', 404, {}],
    [service, 'GET', '/named/nothing', 404, {}],
    [service, 'GET', '/counter/increment', 405, {}],
    [service, 'GET', '/notes/%zz', 400, {}],
    [service, 'DELETE', '/nothing', 404, {}],
    [service, 'POST', '/docs/nothing', 405, {}],
    [keyed, 'POST', '/nothing', 401, {}],
    [keyed, 'GET', '/nothing', 401, {}],
    [keyed, 'GET', '/notes', 401, {}],
    [keyed, 'GET', '/notes/42', 404, notesKey],
  ] as const) {
    const headers = { accept: BROWSER, ...more };
    const answer = await request(method, path, { headers });
    assert.deepEqual([answer.status, answer.json?.status], [status, status], `${method} ${path}`);
    if (status === 401) assert.equal(answer.headers['www-authenticate'], 'Bearer');
  }
  const { headers } = await keyed.request('GET', '/docs/nothing', { headers: { accept: BROWSER } });
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
});
