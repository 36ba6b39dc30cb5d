import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseTarget, type Target } from '../../src/http/message.ts';
import { Problem } from '../../src/http/problem.ts';

function targetOf(url: string): Target {
  return parseTarget({ method: 'GET', url });
}

const PARTS: Readonly<Record<string, Record<string, [segments: string[], query: string]>>> = {
  'split into segments and query': {
    '/': [[''], ''],
    '/notes': [['notes'], ''],
    '/notes/7': [['notes', '7'], ''],
    '/notes?limit=5&offset=1': [['notes'], 'limit=5&offset=1'],
    '/notes?': [['notes'], ''],
    '/notes?a?b/c': [['notes'], 'a?b/c'],
    '/?a': [[''], 'a'],
  },
  'empty segments stay': {
    '/notes/': [['notes', ''], ''],
    '/notes//comments': [['notes', '', 'comments'], ''],
    '//': [['', ''], ''],
  },
  'only the path is percent-decoded': {
    '/notes/%31': [['notes', '1'], ''],
    '/n%6ftes': [['notes'], ''],
    '/notes/1%2Fcomments': [['notes', '1/comments'], ''],
    '/notes/1%2fcomments%3Fa%23b': [['notes', '1/comments?a#b'], ''],
    '/%E2%82%AC': [['€'], ''],
    '/%00': [['\u0000'], ''],
    '/a%2525': [['a%25'], ''],
    '/notes?q=%31%E6%9D%B1+%25': [['notes'], 'q=%31%E6%9D%B1+%25'],
    '/a+b': [['a+b'], ''],
  },
  'dots are ordinary segments': {
    '/notes/../tags': [['notes', '..', 'tags'], ''],
    '/./notes': [['.', 'notes'], ''],
    '/%2e%2e/notes': [['..', 'notes'], ''],
  },
  'the host of an absolute one is ignored': {
    'http://b/notes?limit=5': [['notes'], 'limit=5'],
    'HTTPS://b:80/notes/7': [['notes', '7'], ''],
    'http://b': [[''], ''],
    'http://b?limit=5': [[''], 'limit=5'],
    'http://[::1]:80//evil': [['', 'evil'], ''],
    'http://b/@notes?a@b': [['@notes'], 'a@b'],
  },
  'two leading slashes do not name a host': {
    '//evil/x': [['', 'evil', 'x'], ''],
    '//evil': [['', 'evil'], ''],
    '/\\evil/x': [['\\evil', 'x'], ''],
    '///notes': [['', '', 'notes'], ''],
  },
};

for (const [rule, cases] of Object.entries(PARTS)) {
  test(`targets: ${rule}`, () => {
    for (const [text, [segments, query]] of Object.entries(cases))
      assert.deepEqual(targetOf(text), { segments, query }, text);
  });
}

test('targets: * is the whole server, for OPTIONS only', () => {
  const parse = (url: string) => parseTarget({ method: 'OPTIONS', url });
  assert.deepEqual(parse('*'), { segments: [], query: '' });
  assert.deepEqual(parse('/*'), { segments: ['*'], query: '' });
  assert.throws(() => parse('*?'), Problem);
});

test('targets: the longest ones are split', () => {
  const long = 16_384;
  assert.equal(targetOf('/'.repeat(long)).segments.length, long);
  assert.equal(targetOf(`/${'%41'.repeat(long)}`).segments[0], 'A'.repeat(long));
  assert.throws(() => targetOf(`http://${':'.repeat(long)}#`), Problem);
});

test('targets: whatever the target, it is parsed or refused', () => {
  const piece = fc.constantFrom(
    ...['/', '?', '#', '&', '=', '+', '%', '%2', '%41', '%ff', '%e6%9d%b1', '%u0031', '*', '@'],
    ...['http://', 'HTTPS://b', '[::1]', ':', '\\', '..', ' ', '\0', '\xe9', 'a'],
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  const method = fc.constantFrom('GET', 'OPTIONS', undefined);
  fc.assert(
    fc.property(method, fc.oneof(text, fc.constant(undefined)), (sent, url) => {
      try {
        const { segments, query } = parseTarget({ method: sent, url });
        assert.ok(segments.every((each) => each.isWellFormed()));
        assert.doesNotMatch(new URLSearchParams(query).toString(), /%EF%BF%BD/);
      } catch (error) {
        assert.ok(error instanceof Problem && error.slug === 'bad-request', String(error));
      }
    }),
    { seed: 1, numRuns: 5_000 },
  );
});
