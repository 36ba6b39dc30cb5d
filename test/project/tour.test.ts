// The README is short, and its tour leads through the code as a request does.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { root, sourceAt } from '../support/sources.ts';
import { codeIn, sectionOf, tablesIn, textOf } from './documents.ts';

const MAX_README_BYTES = 12_288;

/** What can be read in an hour. */
const MAX_TOUR_LINES = 2_200;

/** How far the rounded length of a file may be from its real one, as a share of it. */
const MAX_DEVIATION = 0.15;

const readme = textOf('README.md');
const section = sectionOf(readme, 'Read it');
const [tour = [], rooms = []] = tablesIn(section);
const files = tour.map(([file]) => sourceAt(codeIn(file)[0] ?? ''));

test('readme: short enough to read in a few minutes', () => {
  assert.ok(Buffer.byteLength(readme) <= MAX_README_BYTES, `${Buffer.byteLength(readme)} bytes`);
});

test('tour: it can be read in an hour, and its files are about as long as it says', () => {
  const all = files.map(({ lines }) => lines.length);
  const sum = all.reduce((sum, lines) => sum + lines);
  assert.ok(sum <= MAX_TOUR_LINES, `${sum} lines`);
  for (const [index, { path, lines }] of files.entries()) {
    const [, said] = tour[index] ?? [];
    const deviation = Math.abs(Number(said) / lines.length - 1);
    assert.ok(deviation <= MAX_DEVIATION, `${path} has ${lines.length} lines, not about ${said}`);
  }
});

test('tour: its files are those of the drawing, in the same order', () => {
  const [, drawing = ''] = /^```text\n([\s\S]*?)^```$/m.exec(section) ?? [];
  const drawn = drawing.match(/[\w/-]+\.ts\b/g);
  assert.deepEqual(
    files.map(({ path }) => path),
    drawn,
  );
  assert.ok(section.includes(`These ${files.length} files`));
});

test('tour: it begins where a request arrives, and ends with the commit', () => {
  const [first, last] = [files[0], files.at(-1)];
  assert.ok(first?.packages.includes('node:http'), first?.path);
  assert.ok(
    last?.lines.some((line) => line.includes('`COMMIT; ')),
    last?.path,
  );
});

test('tour: the folders and modules of the source are named, and only these', () => {
  const named = rooms.flatMap(([room]) => codeIn(room));
  const source = readdirSync(new URL('src/', root), { withFileTypes: true });
  const wanted = source.map((each) => (each.isDirectory() ? `${each.name}/` : each.name));
  assert.deepEqual(named.sort(), [...wanted, '../test/'].sort());
});
