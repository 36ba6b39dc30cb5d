import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../../src/http/route.ts';
import { Router } from '../../src/http/router.ts';

const route = (method: Route['method'], template: string): Route => ({
  method,
  template,
  handle: () => ({ status: 204 }),
});

function finder(...templates: string[]) {
  const router = new Router(templates.map((template) => route('GET', template)));
  return (...segments: string[]) => {
    const match = router.find(segments);
    return match && [match.pathItem.template, ...match.values];
  };
}

test('router: finds the template and the values, in order', () => {
  const find = finder('/', '/notes', '/notes/{note_id}', '/notes/{note_id}/comments/{comment_id}');
  assert.deepEqual(find(''), ['/']);
  assert.deepEqual(find('notes'), ['/notes']);
  assert.deepEqual(find('notes', '7'), ['/notes/{note_id}', '7']);
  assert.deepEqual(find('notes', '7', 'comments', '8'), [
    '/notes/{note_id}/comments/{comment_id}',
    '7',
    '8',
  ]);
  assert.deepEqual(find('notes', 'a/b%'), ['/notes/{note_id}', 'a/b%']);
});

test('router: other paths find nothing', () => {
  const find = finder('/notes', '/notes/{note_id}', '/notes/{note_id}/comments/{comment_id}');
  for (const path of [
    ...['', '/', 'Notes', 'note', 'notess', 'notes/7/comments', 'notes/7/other/8', '{note_id}'],
    'notes/7/8',
  ]) {
    assert.equal(find(...path.split('/')), undefined, path);
  }
  assert.equal(find(), undefined);
});

test('router: an empty segment is not a value', () => {
  const find = finder('/notes', '/notes/{note_id}', '/notes/{note_id}/comments');
  for (const segments of [
    ['notes', ''],
    ['', 'notes'],
    ['notes', '7', ''],
    ['notes', '', 'comments'],
  ]) {
    assert.equal(find(...segments), undefined, segments.join('/'));
  }
});

test('router: fixed segments take precedence over parameters', () => {
  for (const templates of [
    ['/docs/{asset}', '/docs/page'],
    ['/docs/page', '/docs/{asset}'],
  ]) {
    const find = finder(...templates);
    assert.deepEqual(find('docs', 'page'), ['/docs/page']);
    assert.deepEqual(find('docs', 'other'), ['/docs/{asset}', 'other']);
  }
});

test('router: backtracks from fixed segments', () => {
  const find = finder('/a/b/c', '/a/{x}/d', '/{y}/b/{z}/e', '/{y}/{w}/{z}');
  assert.deepEqual(find('a', 'b', 'c'), ['/a/b/c']);
  assert.deepEqual(find('a', 'b', 'd'), ['/a/{x}/d', 'b']);
  assert.deepEqual(find('a', 'b', 'f', 'e'), ['/{y}/b/{z}/e', 'a', 'f']);
  assert.deepEqual(find('a', 'b', 'f'), ['/{y}/{w}/{z}', 'a', 'b', 'f']);
  assert.equal(find('a', 'b', 'f', 'g'), undefined);
});

test('router: inherited names are ordinary segments', () => {
  const find = finder('/notes/{note_id}', '/__proto__');
  assert.deepEqual(find('__proto__'), ['/__proto__']);
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    assert.equal(find(name), undefined);
    assert.deepEqual(find('notes', name), ['/notes/{note_id}', name]);
  }
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

test('router: two routes for one method and path are an error', () => {
  assert.throws(
    () => new Router([route('GET', '/a'), route('GET', '/a')]),
    /two routes for GET \/a/,
  );
  assert.throws(() => new Router([route('GET', '/a/{x}'), route('GET', '/a/{y}')]), /two routes/);
});
