import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../../src/http/route.ts';
import { Router } from '../../src/http/router.ts';

const route = (method: Route['method'], template: string): Route => ({
  method,
  template,
  handle: () => ({ status: 204 }),
});

const NOTE = '/notes/{note_id}';
const COMMENT = '/notes/{note_id}/comments/{comment_id}';
const DOCS = { 'docs/page': '/docs/page', 'docs/other': '/docs/{asset} other' };

/** Templates, and what is found at paths: the template and the values, or nothing. */
const FOUND: Readonly<
  Record<string, readonly [templates: string[], paths: Record<string, string>]>
> = {
  'the template and the values, in order': [
    ['/', '/notes', NOTE, COMMENT],
    { '': '/', notes: '/notes', 'notes/7': `${NOTE} 7`, 'notes/7/comments/8': `${COMMENT} 7 8` },
  ],
  'nothing at other paths, and an empty segment is no value': [
    ['/notes', NOTE, COMMENT],
    Object.fromEntries(
      ['', '/', 'Notes', 'note', 'notess', 'notes/7/comments', 'notes/7/other/8', '{note_id}']
        .concat('notes/7/8', 'notes/', '/notes', 'notes/7/', 'notes//comments/8')
        .map((path) => [path, '']),
    ),
  ],
  'fixed segments before parameters': [['/docs/{asset}', '/docs/page'], DOCS],
  'fixed segments before parameters, declared in the other order': [
    ['/docs/page', '/docs/{asset}'],
    DOCS,
  ],
  'inherited names are ordinary segments': [
    [NOTE, '/__proto__'],
    { ['__proto__']: '/__proto__', constructor: '', 'notes/toString': `${NOTE} toString` },
  ],
};

for (const [rule, [templates, paths]] of Object.entries(FOUND))
  test(`router: ${rule}`, () => {
    const router = new Router(templates.map((template) => route('GET', template)));
    for (const [path, expected] of Object.entries(paths)) {
      const { pathItem, values = [] } = router.find(path.split('/')) ?? {};
      assert.equal([pathItem?.template, ...values].join(' '), expected, path);
    }
    assert.equal(router.find([]), undefined);
  });

test('router: a parameter takes the rest of a path, but for the end of another route', () => {
  const named = { ...route('GET', '/of/all/{name}'), takesRest: true };
  const router = new Router([
    route('POST', '/of/all/{name}/edit'),
    route('GET', '/of/{id}'),
    named,
    route('PUT', '/of/all/{name}/edit'),
  ]);
  for (const [method, path, expected, allow = 'GET, HEAD, OPTIONS'] of [
    ['GET', 'of/all/', '/of/all/{name}|'],
    ['GET', 'of/all/a', '/of/all/{name}|a'],
    ['GET', 'of/all//a/', '/of/all/{name}|/a/'],
    ['HEAD', 'of/all/a/edit', '/of/all/{name}|a/edit', 'GET, HEAD, POST, PUT, OPTIONS'],
    ['GET', 'of/all/edit', '/of/all/{name}|edit'],
    ['POST', 'of/all/edit', '/of/all/{name}|edit'],
    ['POST', 'of/all/a/edit', '/of/all/{name}/edit|a', 'POST, PUT, OPTIONS'],
    ['PUT', 'of/all/a/b/edit/edit', '/of/all/{name}/edit|a/b/edit', 'POST, PUT, OPTIONS'],
    ['PUT', 'of/all//edit', '/of/all/{name}/edit|', 'POST, PUT, OPTIONS'],
    ['DELETE', 'of/all/a/edit', '/of/all/{name}|a/edit', 'GET, HEAD, POST, PUT, OPTIONS'],
  ] as const) {
    const { pathItem, values = [] } = router.find(path.split('/'), method) ?? {};
    assert.equal([pathItem?.template, ...values].join('|'), expected, `${method} ${path}`);
    assert.equal(pathItem?.allow, allow, `${method} ${path}`);
  }
  // A decoded segment may have slashes.
  assert.deepEqual(router.find(['of', 'all', 'a/b', 'c'])?.values, ['a/b/c']);
  assert.deepEqual(router.find(['of', 'all', 'a/edit'], 'POST')?.values, ['a']);
});

test('router: lists the methods of a path, with HEAD and OPTIONS', () => {
  const [read, create] = [route('GET', '/notes'), route('POST', '/notes')];
  const router = new Router([
    read,
    create,
    route('DELETE', '/notes/{note_id}'),
    route('POST', '/run'),
  ]);
  const place = (path: string) => router.find(path.split('/'))?.pathItem;
  assert.equal(place('notes')?.allow, 'GET, HEAD, POST, OPTIONS');
  assert.equal(place('notes/1')?.allow, 'DELETE, OPTIONS');
  assert.equal(place('run')?.allow, 'POST, OPTIONS');
  assert.equal(place('notes')?.methods.get('HEAD'), read);
  assert.equal(place('notes')?.methods.get('POST'), create);
  assert.equal(place('notes')?.methods.get('get'), undefined);
  assert.equal(place('run')?.methods.has('HEAD'), false);
});
