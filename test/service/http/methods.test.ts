// Each path of the contract with each method: declared ones work, HEAD works like GET, OPTIONS
// lists them, the rest is 405.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { contract } from '../../support/contract.ts';
import { exchangeLast } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const METHODS = 'GET HEAD POST PUT DELETE OPTIONS PATCH TRACE PROPFIND QUERY LINK'.split(' ');

const EXAMPLES: Readonly<Record<string, string>> = {
  asset: 'page.css',
  guide: 'options',
  slug: 'not-found',
};

const places = Object.entries(contract.paths).map(([template, own]) => {
  // What follows a name is a part of another name.
  const item = { ...(template.includes('{name}') && contract.paths['/named/{name}']), ...own };
  const declared = METHODS.filter((method) => method.toLowerCase() in item);
  const methods = new Set([...declared, ...(declared.includes('GET') ? ['HEAD'] : []), 'OPTIONS']);
  return {
    path: template.replace(/\{(\w+)\}/g, (_, name: string) => EXAMPLES[name] ?? '1'),
    methods,
  };
});

const service = await startService({ after });
before(async () => {
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  await service.request('POST', '/tags', { json: { name: 'a' } });
  await service.request('POST', '/notes/1/comments', { json: { body: 'a' } });
});

function listed(allow: unknown): string[] {
  return String(allow).split(', ').sort();
}

test('methods: an undeclared one is 405, and allow lists the others', async () => {
  for (const { path, methods } of places) {
    for (const method of METHODS.filter((each) => !methods.has(each))) {
      const { status, headers } = await service.request(method, path);
      assert.equal(status, 405, `${method} ${path}`);
      assert.deepEqual(listed(headers.allow), [...methods].sort(), `${method} ${path}`);
    }
  }
});

test('methods: OPTIONS is 204 with the methods of the path', async () => {
  for (const { path, methods } of places) {
    const { status, headers } = await service.request('OPTIONS', path);
    assert.equal(status, 204, `no route for ${path}: is the resource in RESOURCES?`);
    assert.deepEqual(listed(headers.allow), [...methods].sort(), path);
    assert.equal(headers['content-length'], undefined);
  }
  for (const path of ['/notes/abc', '/notes?limit=0', '/notes/7']) {
    assert.equal((await service.request('OPTIONS', path)).status, 204, path);
  }
  assert.equal((await service.request('OPTIONS', '/nothing')).status, 404);
});

test('methods: OPTIONS * lists those of the whole server', async () => {
  const { status, headers, body } = await exchangeLast(service, 'OPTIONS *');
  assert.deepEqual([status, body], [204, '']);
  assert.deepEqual(listed(headers.allow), 'DELETE GET HEAD OPTIONS PATCH POST PUT'.split(' '));
});

test('methods: HEAD has the status and the headers of GET', async () => {
  const paths = [
    ...places.filter(({ methods }) => methods.has('GET')).map(({ path }) => path),
    ...['/notes?limit=1', '/notes?limit=0', '/notes/7', '/notes/abc', '/notes/1/comments/7'],
    ...['/docs/nothing', '/nothing'],
  ];
  const etag = (await service.request('GET', '/openapi.json')).headers.etag;
  assert.equal(typeof etag, 'string');
  for (const path of paths) {
    await assertSameHeaders(path);
    if (!/^\/(docs|openapi|problems|notes$|nothing)/.test(path)) continue;
    await assertSameHeaders(path, { 'accept-encoding': 'br, gzip' });
    await assertSameHeaders(path, { accept: 'application/json' });
    await assertSameHeaders(path, { 'if-none-match': `${etag}` });
  }
});

async function assertSameHeaders(path: string, headers: Record<string, string> = {}) {
  const get = await service.request('GET', path, { headers });
  const head = await service.request('HEAD', path, { headers });
  assert.equal(head.bytes.length, 0, path);
  assert.equal(head.status, get.status, path);
  // Metrics change from one moment to the next.
  const varying = {
    date: '',
    'x-request-id': '',
    ...(path === '/metrics' && { 'content-length': '' }),
    // Its body, which has no length, is the last of its connection.
    ...(path === '/export' && { connection: '', 'keep-alive': '', 'transfer-encoding': '' }),
  };
  assert.deepEqual({ ...head.headers, ...varying }, { ...get.headers, ...varying }, path);
}

test('paths: similar ones are 404', async () => {
  const paths = places.flatMap(({ path }) =>
    path === '/'
      ? ['//']
      : [`${path}/`, `/${path}`, `${path}//`, path.toUpperCase(), `${path}/x/y/z`, `${path}x/`],
  );
  for (const path of paths) {
    const isNoName = /^\/named\/.*\/$/.test(path);
    assert.equal((await service.request('GET', path)).status, isNoName ? 422 : 404, path);
  }
  for (const method of ['PUT', 'OPTIONS', 'PATCH'])
    assert.equal((await service.request(method, '/nothing')).status, 404, method);
});
