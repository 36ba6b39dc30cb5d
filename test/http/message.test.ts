import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseTarget, type Target } from '../../src/http/message.ts';
import { Problem } from '../../src/http/problem.ts';

function targetOf(url: string): Target {
  return parseTarget({ method: 'GET', url });
}

/** Their segments and the query. The raw tables have more targets, with the status of each. */
const PARTS: Readonly<Record<string, readonly [segments: string[], query: string]>> = {
  '/': [[''], ''],
  '/notes/7?limit=5&offset=1': [['notes', '7'], 'limit=5&offset=1'],
  '/notes?a?b/c': [['notes'], 'a?b/c'],
  '/?a': [[''], 'a'],
  '/notes//comments/': [['notes', '', 'comments', ''], ''],
  // Only the path is decoded.
  '/n%6ftes/1%2Fcomments%3Fa%23b': [['notes', '1/comments?a#b'], ''],
  '/%E2%82%AC%00a%2525+b': [['€\u0000a%25+b'], ''],
  '/notes?q=%31%E6%9D%B1+%25': [['notes'], 'q=%31%E6%9D%B1+%25'],
  '/./notes/../%2e%2e/tags': [['.', 'notes', '..', '..', 'tags'], ''],
  // Two slashes do not name a host, and that of an absolute URL is ignored.
  '//evil/x': [['', 'evil', 'x'], ''],
  '/\\evil/x': [['\\evil', 'x'], ''],
  'HTTPS://b:80/notes/7?limit=5': [['notes', '7'], 'limit=5'],
  'http://b': [[''], ''],
  'http://b?limit=5': [[''], 'limit=5'],
  'http://[::1]:80//evil': [['', 'evil'], ''],
  'http://b/@notes?a@b': [['@notes'], 'a@b'],
};

test('targets: split into segments, which are decoded, and the query', () => {
  for (const [text, [segments, query]] of Object.entries(PARTS))
    assert.deepEqual(targetOf(text), { segments, query }, text);
});

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
