// Progress: each percent, in one line of a terminal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgress } from '../../src/commands/progress.ts';

/** Returns what is shown during work of `total` parts. */
function shown(total: number, parts = total): string[] {
  const texts: string[] = [];
  const progress = createProgress((text) => void texts.push(text), 'copied', ' KiB');
  for (let done = 0; done <= parts; done += 1) progress(done, total);
  return texts;
}

test('progress: each percent, in one line', () => {
  const texts = shown(1_000);
  assert.equal(texts.length, 101);
  assert.equal(texts[50], '\r\u001b[Kcopied 50 % of 1,000 KiB');
  assert.equal(texts.at(-1), '\r\u001b[Kcopied 100 % of 1,000 KiB\n');
});

test('progress: ends once, without work and with more than announced', () => {
  assert.match(shown(0, 1).join(), /^[^\n]*100 % of 0 KiB\n$/);
  assert.match(shown(10, 20).join(), /^[^\n]*100 % of 10 KiB\n$/);
});
