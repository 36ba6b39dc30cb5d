// Progress: each percent on a terminal, and elsewhere a line for each tenth.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createProgress } from '../../src/commands/progress.ts';

/** Returns what is written during work of `total` parts that take 10 ms each. */
function written(t: TestContext, isTerminal: boolean, total: number, parts = total): string[] {
  const texts: string[] = [];
  let time = 0;
  const clock = t.mock.method(performance, 'now', () => time);
  const progress = createProgress({ isTerminal, write: (text) => texts.push(text) }, 'copied');
  for (let done = 0; done <= parts; done += 1) {
    progress(done, total);
    time += 10;
  }
  progress(total, total);
  // Of several mocks, the end of the test would restore the first one.
  clock.mock.restore();
  return texts;
}

test('progress: each percent on a terminal, in one line', (t) => {
  const texts = written(t, true, 1_000);
  assert.equal(texts.length, 101);
  assert.equal(texts[50], '\r\u001b[Kcopied 50 % of 1,000, 100/s, 0:05 left');
  assert.equal(texts.at(-1), '\r\u001b[Kcopied 100 % of 1,000, 100/s\n');
});

test('progress: a line for each tenth elsewhere', (t) => {
  const texts = written(t, false, 100);
  assert.equal(texts.length, 10);
  assert.equal(texts[4], 'copied 50 % of 100, 100/s, 0:01 left\n');
  assert.equal(texts.at(-1), 'copied 100 % of 100, 100/s\n');
});

test('progress: ends once, without work and with more than announced', (t) => {
  for (const isTerminal of [true, false])
    assert.match(written(t, isTerminal, 0).join(), /^[^\n]*100 % of 0\n$/);
  assert.match(written(t, true, 10, 20).join(), /^[^\n]*100 % of 10[^\n]*\n$/);
});
