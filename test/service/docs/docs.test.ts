// The documentation over HTTP: the docs page with its files, and the description. guides.test.ts
// has more about the guides; tests in a browser are in docs-page.test.ts and in
// test/endurance/browser-*.test.ts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { GUIDES } from '../../../src/docs/guides.ts';
import { PROBLEM_STATUS } from '../../../src/http/problem.ts';
import { contract } from '../../support/contract.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';
import { root } from '../../support/sources.ts';

const SLUGS = Object.keys(PROBLEM_STATUS);
const GUIDE_PAGES = ['/docs/guides', ...GUIDES.map(([name]) => `/docs/guides/${name}`)];
const HTML = 'text/html; charset=utf-8';
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The files of the pages, and what the build puts there. */
const MADE = ['samples.js', 'guide-texts.js', 'swagger-ui.css'];
const FILES = [...readdirSync(new URL('src/docs/assets/', root)), ...MADE];

const DOCUMENTS = [
  ...['/docs', ...GUIDE_PAGES].map((path) => ({ path, type: HTML })),
  ...[...FILES, 'swagger-ui-bundle.js'].map((name) => {
    return { path: `/docs/${name}`, type: TYPES[extname(name)] };
  }),
  { path: '/openapi.json', type: 'application/json' },
];

const service = await startService({ after });

test('docs: documents are revalidated, and smaller where the client accepts it', async () => {
  for (const { path, type } of DOCUMENTS) {
    const plain = await service.request('GET', path);
    const { status, headers } = plain;
    assert.deepEqual([status, headers['content-type']], [200, type], path);
    assert.equal(headers['content-encoding'], undefined, path);
    assert.equal(headers['cache-control'], 'no-cache', path);
    assert.equal(headers.vary, 'accept-encoding', path);
    const known = { 'if-none-match': String(headers.etag) };
    assert.equal((await service.request('GET', path, { headers: known })).status, 304, path);
    const coded = await service.request('GET', path, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(coded.headers['content-encoding'], 'gzip', path);
    assert.equal(coded.text, plain.text, path);
    assert.ok(coded.bytes.length < plain.bytes.length, path);
    assert.notEqual(coded.headers.etag, headers.etag, path);
  }
});

test('docs: the operations come before the guides', async () => {
  const { text } = await service.request('GET', '/docs');
  const [operations, guides] = ['operations', 'guides'].map((id) => text.indexOf(` id="${id}"`));
  assert.ok(operations !== undefined && guides !== undefined && operations > 0);
  assert.ok(guides > operations);
});

test('docs: the security policy allows only this server', async () => {
  const files = DOCUMENTS.map(({ path }) => path).filter((path) => path.startsWith('/docs'));
  const problems = ['/problems', ...SLUGS.map((slug) => `/problems/${slug}`)];
  for (const path of [...files, ...problems]) {
    const { headers } = await service.request('GET', path);
    assert.deepEqual(
      String(headers['content-security-policy']).split('; ').sort(),
      [
        ...["base-uri 'none'", "connect-src 'self'", "default-src 'none'", "form-action 'none'"],
        ...["frame-ancestors 'none'", "img-src 'self' data:", "script-src 'self'"],
        "style-src 'self'",
      ],
      path,
    );
    assert.equal(headers['referrer-policy'], 'no-referrer', path);
  }
});

test('docs: unknown files, guides and problem types are 404', async () => {
  for (const path of [
    ...['Options', 'options.md', 'options.html', '__proto__', '..%2fpage.css', ''].map(
      (name) => `/docs/guides/${name}`,
    ),
    ...['/docs/nothing.js', '/docs/', '/docs/page.css/', '/docs/PAGE.CSS', '/docs/page.css.br'],
    ...['/docs/../options.js', '/docs/..%2f..%2foptions.js', '/docs/%2e%2e', '/docs/page.css%00'],
    ...['/docs/__proto__', '/docs/constructor', '/openapi.json/'],
    ...['/problems/', '/problems/nothing', '/problems/Not-Found', '/problems/__proto__'],
    '/problems/toString',
  ]) {
    assert.equal((await service.request('GET', path)).status, 404, path);
  }
});

test('docs: the description is the contract, without what only the build needs', async (t) => {
  const service = await startService(t, { baseUrl: 'http://127.0.0.1:3000' });
  const isShown = (name: string) => !name.startsWith('x-tool');
  const shown = JSON.stringify(contract, (name, value) => (isShown(name) ? value : undefined));
  assert.deepEqual((await service.request('GET', '/openapi.json')).json, JSON.parse(shown));
});

test('docs: the description has no operations that the service does not serve', async (t) => {
  const [all, some] = await Promise.all(
    [{}, { noMcp: true, noMetrics: true }].map(async (options) => {
      const service = await startService(t, options);
      return Object.keys((await service.request('GET', '/openapi.json')).json.paths);
    }),
  );
  assert.deepEqual(
    all?.filter((path) => !some?.includes(path)),
    ['/metrics', '/mcp'],
  );
});

test('docs: the description has the addresses of the service', async (t) => {
  const settings: readonly { baseUrl?: string; problemBase?: string }[] = [
    {},
    { baseUrl: 'https://example.org/api' },
    { baseUrl: 'https://example.org', problemBase: 'https://errors.example/kinds' },
    // Bases that start like the one in the contract, or are special to String.replace.
    { baseUrl: 'http://127.0.0.1:30001' },
    { baseUrl: 'https://example.org', problemBase: 'http://127.0.0.1:3000/problems' },
    { baseUrl: "https://example.org/$&/$'" },
  ];
  for (const setting of settings) {
    const service = await startService(t, setting);
    const { baseUrl = service.url, problemBase = `${baseUrl}/problems` } = setting;
    const { text, json } = await service.request('GET', '/openapi.json');
    assert.deepEqual(
      json.servers.map((server: { url: string }) => server.url),
      [baseUrl],
    );
    assert.ok(json.info.description.includes(` ${baseUrl}/notes\n`), baseUrl);
    const types = [...text.matchAll(/"type":"([^"]*\/[^"]*)"/g)].map(([, type]) => type);
    assert.deepEqual(new Set(types), new Set(SLUGS.map((slug) => `${problemBase}/${slug}`)));
  }
});

function firstCallsIn(html: string): string[] {
  return [...html.matchAll(/<pre><code>(.*?)<\/code>/gs)].map(([, code = '']) =>
    code
      .replace(/<[^>]*>/g, '')
      .replace(/&#(\d+);/g, (_all, number) => String.fromCharCode(number)),
  );
}

test('docs: the first call creates a note when pasted into a shell', async () => {
  const { text } = await service.request('GET', '/docs');
  assert.match(text, /<div class="command">\n<pre><code>curl /);
  const [curl = '', javaScript, python] = firstCallsIn(text);
  const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
  const note = expected({ id: 1, title: 'Shopping list', body: 'Milk, bread, apples' });
  assert.deepEqual(JSON.parse(stdout), note);
  assert.deepEqual((await service.request('GET', '/notes/1')).json, note);
  for (const sample of [javaScript, python]) assert.ok(sample?.includes(`'${service.url}/notes'`));
});

test('docs: the page speaks of keys only where they are required', async (t) => {
  const { text } = await service.request('GET', '/docs');
  assert.doesNotMatch(text, /requires a key|requires-key|KEY/);
  const keyed = await startService(t, { apiKeys: ['key'] });
  const page = (await keyed.request('GET', '/docs')).text;
  assert.match(page, /<div id="swagger-ui" data-requires-key>/);
  assert.match(page, /This service requires a key/);
  const calls = firstCallsIn(page);
  assert.equal(calls.length, 3);
  for (const call of calls) assert.match(call, /'?authorization'?: '?Bearer KEY'/);
});

test('docs: the base URL is escaped for the shell and for HTML', async (t) => {
  const { request } = await startService(t, { baseUrl: "https://example.org/it's<b>$(id)&amp;" });
  const base = 'https://example.org/it%27s&#60;b&#62;$(id)&#38;amp;';
  const { text } = await request('GET', '/docs');
  assert.ok(text.includes(`'<span class="base-url">${base}</span>/notes'`));
});
