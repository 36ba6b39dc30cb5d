// How the sources read: what the habits of the project ask of every file of src/, as far as a machine can tell.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import { codeOf, sources } from '../support/sources.ts';

/** A file of three hundred lines is one that should be two. */
const LINES_LIMIT = 300;

/** The lines of code that match, as `src/path:line: code`. */
function linesWith(pattern: RegExp): string[] {
  return sources.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => (pattern.test(codeOf(line)) ? [`src/${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

test('every file starts by saying what it is', () => {
  for (const { path, lines } of sources) {
    const header = lines.slice(
      0,
      lines.findIndex((line) => !line.startsWith('//')),
    );
    assert.ok(header.length >= 1 && header.length <= 4, `src/${path} has a header of ${header.length} lines`);
    assert.match(header[0] ?? '', /^\/\/ [A-Z]/, path);
    assert.match(header.at(-1) ?? '', /[.:]$|\)\.$/, path);
  }
});

test('every export has its contract right above it', () => {
  let count = 0;
  for (const { path, lines } of sources) {
    for (const [index, line] of lines.entries()) {
      if (!line.startsWith('export ')) continue;
      count += 1;
      assert.match(lines[index - 1] ?? '', /^(?:\/\*\*.*| )\*\/$/, `src/${path}:${index + 1}: ${line}`);
    }
  }
  assert.ok(count > 50);
});

test('nothing is exported by default, exported again, or exported from its end', () => {
  assert.deepEqual(linesWith(/^export (?:default|\*|\{)/), []);
});

test('files are short', () => {
  for (const { path, lines } of sources) assert.ok(lines.length < LINES_LIMIT, `src/${path} has ${lines.length} lines`);
});

test('files and folders are named in full words, in kebab case', () => {
  for (const { path } of sources) {
    assert.match(path, /^(?:[a-z]+(?:-[a-z]+)*\/)*[a-z]+(?:-[a-z]+)*(?:\.d)?\.ts$/);
    assert.doesNotMatch(basename(path), /^(?:index|utils?|helpers?|common|misc)\b/);
  }
});

test('the type checker is not talked out of anything', () => {
  assert.deepEqual(linesWith(/(?:[:|&<]|\bas) any\b/), []);
  assert.deepEqual(linesWith(/[\w\])]!(?:[.;,)[\]]|$)/), []);
  assert.deepEqual(
    sources.filter(({ lines }) => lines.some((line) => /@ts-(?:ignore|expect-error|nocheck)|biome-ignore/.test(line))),
    [],
  );
});

test('the only classes are errors', () => {
  assert.deepEqual(linesWith(/\bclass \w+ (?!extends (?:Error|DatabaseUnavailable)\b)/), []);
});

test('nothing waits to be done', () => {
  assert.deepEqual(
    sources.filter(({ lines }) => lines.some((line) => /\b(?:TODO|FIXME|XXX|HACK)\b/.test(line))),
    [],
  );
});
