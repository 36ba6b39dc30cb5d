// What a file is as a note: which paths are kept in step, and what a text says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_BODY_LENGTH,
  MAX_NAME_LENGTH,
  MAX_TITLE_LENGTH,
} from '../../src/contract/generated.js';
import {
  contentOf,
  copyPath,
  copyStart,
  describe,
  faultInPath,
  isSynced,
  titleFor,
} from '../../src/sync/notes.ts';

const selection = { prefix: '', extensions: new Set(['.md', '.txt']) };

test('sync names: those with one of the extensions are kept in step', () => {
  for (const path of ['a.md', 'A.MD', 'a/b.txt', 'a b/c d.md', 'Projekte/Küche.md', 'a.b/c.md'])
    assert.ok(isSynced(path, selection), path);
  for (const path of ['a', 'a.mdx', 'a.md/b', 'a.png', 'a.md~', '4913', '#a.md#', 'log.2026-11'])
    assert.ok(!isSynced(path, selection), path);
});

test('sync names: nothing hidden is kept in step', () => {
  for (const path of [
    ...['.git/hooks/x.md', '.obsidian/a.md', 'a/.trash/b.md', '.a.md', '.#a.md', 'a/._b.md'],
    ...['.md', '.a.md.swp', '../a.md', './a.md', 'a/../b.md', '.notes-sync/trash/a.md'],
  ])
    assert.ok(!isSynced(path, selection), path);
});

test('sync names: says why a path cannot be a name', () => {
  const faultIn = (path: string, prefix = '') => faultInPath(path, { ...selection, prefix });
  assert.equal(faultIn('Projekte/Küche #1?.md'), undefined);
  assert.match(faultIn('a\nb.md') ?? '', /control characters.*U\+000A/);
  assert.match(faultIn('a\\b.md') ?? '', /backslashes/);
  assert.match(faultIn('a\u2028b.md') ?? '', /line separators/);
  assert.equal(faultIn('K\ufffdche.md'), 'its name is not UTF-8');
  const long = 'a'.repeat(MAX_NAME_LENGTH);
  assert.equal(faultIn(long), undefined);
  assert.match(faultIn(long, 'P/') ?? '', /at most 512 characters/);
});

test('sync names: on Windows, names that it refuses are left', () => {
  const on = (platform: NodeJS.Platform, path: string) => faultInPath(path, selection, platform);
  for (const path of ['a:b.md', 'what?.md', 'a*.md', 'con.md', 'LPT1.txt', 'a /b.md', 'a./b.md']) {
    assert.equal(on('win32', path), 'Windows cannot have its name', path);
    assert.equal(on('linux', path), undefined, path);
  }
  for (const path of ['a.md', 'console.md', 'lpt.md', 'a b.md'])
    assert.equal(on('win32', path), undefined, path);
});

test('sync names: a copy has a day and a part of the hash, and a copy of it another', () => {
  const copy = copyPath('a/b c.md', '3f2a9c0123', 6);
  assert.match(copy, /^a\/b c \(conflict \d{4}-\d\d-\d\d 3f2a9c\)\.md$/);
  const second = copyPath(copy, '7777777777', 7);
  assert.match(second, /^a\/b c \(conflict \d{4}-\d\d-\d\d 7777777\)\.md$/);
  assert.equal(copyStart(copy), copyStart('a/b c.md'));
  assert.ok(second.startsWith(copyStart('a/b c.md')));
});

const kindOf = (bytes: Buffer | string) => contentOf(Buffer.from(bytes)).kind;

test('sync content: every byte of a text counts', () => {
  for (const text of ['\ufeffa', 'a\0b', 'a\r\nb\rc\n', 'a\u2028b', '🙂'.repeat(MAX_BODY_LENGTH)]) {
    const content = contentOf(Buffer.from(text));
    assert.ok(content.kind === 'new');
    assert.equal(content.text, text);
  }
  assert.notEqual(contentOf(Buffer.from('\ufeffa')).hash, contentOf(Buffer.from('a')).hash);
});

test('sync content: what the service refuses is no text', () => {
  for (const text of ['', ' ', '\n\t\r\n', '\ufeff', '\u00a0\u2003'])
    assert.equal(kindOf(text), 'blank');
  for (const bytes of [
    Buffer.from([0x61, 0xff]),
    Buffer.from([0xc0, 0x80]),
    Buffer.from('ä').subarray(1),
  ])
    assert.equal(kindOf(bytes), 'bad');
  assert.equal(kindOf('a'.repeat(MAX_BODY_LENGTH + 1)), 'bad');
});

const DESCRIBED: readonly [text: string, title: string | undefined, tags?: readonly string[]][] = [
  ['Oat milk', undefined],
  ['# Oat milk\nfoo', 'Oat milk'],
  ['\n\n#  Oat  milk  \n', 'Oat milk'],
  ['\ufeff# Oat milk', 'Oat milk'],
  ['#hashtag\n## Part', undefined],
  ['---\ntitle: Oat\n---\n# Milk', 'Oat'],
  ['---\ntitle: "Oat: milk"\ntags: [a, b c, "d"]\n---\n', 'Oat: milk', ['a', 'b c', 'd']],
  ['---\ntags:\n  - a\n  - 2026\n  - no\n---\n# Milk', 'Milk', ['a', '2026', 'no']],
  ['---\r\ntags: [a]\r\n---\r\n# Milk\r\n', 'Milk', ['a']],
  ['\ufeff---\ntags: [a]\n---\n', undefined, ['a']],
  ['---\ntags: [a, a, " a ", ""]\n---\n', undefined, ['a']],
  ['---\ntags: a, b\n---\n', undefined],
  ['---\ntags:\n---\n', undefined],
  ['---\ntags: {a: b}\ntitle: [c]\n---\n', undefined],
  ['---\ntags: [[a], {b: c}, d]\n---\n', undefined, ['d']],
  ['---\ntitle: >\n  Oat\n  milk\n---\n', 'Oat milk'],
  ['---\ntitle: a\ntitle: b\n---\n# Milk', 'b'],
  ['---\ntitle: "a\n---\n# Milk', 'Milk'],
  ['---\ntags: [a]\n# Milk', 'Milk'],
  [' ---\ntags: [a]\n---\n', undefined],
];

test('sync content: the title and the tags of a text', () => {
  for (const [text, title, tags = []] of DESCRIBED)
    assert.deepEqual(describe(text), { ...(title && { title }), tags }, JSON.stringify(text));
});

test('sync content: what a text does not say, or cannot be read, is as before', () => {
  const before = { title: 'Oat', tags: ['a'] };
  assert.deepEqual(describe('milk', before), { title: 'Oat', tags: [] });
  assert.deepEqual(describe('---\ntags: [a, b\n---\n# Milk', before), before);
  assert.deepEqual(describe('---\ntags: [a, b\n---\n# Milk'), { title: 'Milk', tags: [] });
});

test('sync content: a file gives its name to a note whose text has no title', () => {
  assert.equal(titleFor('a/oat milk.md'), 'oat milk');
  assert.equal(titleFor('a/\u2003.md'), '-');
});

test('sync content: a long title is cut', () => {
  const { title } = describe(`# ${'🙂'.repeat(MAX_TITLE_LENGTH + 1)}`);
  assert.equal(title, '🙂'.repeat(MAX_TITLE_LENGTH));
});

test('sync content: front matter that refers to itself a billion times is no title', () => {
  const lines = Array.from(
    { length: 9 },
    (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`,
  );
  const front = ['a0: &a0 [x]', ...lines, 'tags: *a9'].join('\n');
  assert.deepEqual(describe(`---\n${front}\n---\n# Milk`), { title: 'Milk', tags: [] });
});
