// The state of a folder: what is kept, and what is left of a file that was damaged.
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Base, State } from '../../src/sync/state.ts';
import { type Ends, temporaryFolder } from '../support/engine.ts';

const base = (id: number): Base => ({
  id,
  etag: `"5f2c9a01-${id}"`,
  hash: `${id}`.repeat(32),
  title: 'Milk',
  tags: ['a'],
  stat: '1 2 3 4',
  at: id,
});

function fileIn(t: Ends): string {
  return join(temporaryFolder(t), 'state');
}

const open = (file: string, identity = 'this') => new State(file, identity, true);
const basesIn = (file: string, identity?: string) => Object.fromEntries(open(file, identity).bases);

test('sync state: keeps what was remembered, and the head', (t) => {
  const file = fileIn(t);
  const state = open(file);
  state.remember('a.md', base(1));
  state.remember('b.md', base(2));
  state.remember('a.md', base(3));
  state.forget('b.md');
  state.remember('c\n.md', base(4));
  state.forget('a.md');
  state.save({ cursor: '5f2c9a01-9', again: [4, 5] });
  assert.deepEqual(basesIn(file), { 'c\n.md': base(4) });
  assert.deepEqual(open(file).head, { cursor: '5f2c9a01-9', again: [4, 5] });
});

test('sync state: a file with many lines is written anew', (t) => {
  const file = fileIn(t);
  const state = open(file);
  for (let n = 0; n < 100; n += 1) state.remember('a.md', base(n));
  state.save({ cursor: '5f2c9a01-9' });
  assert.equal(readFileSync(file, 'utf8').trimEnd().split('\n').length, 2);
  assert.deepEqual(basesIn(file), { 'a.md': base(99) });
});

test('sync state: that of another folder counts as none', (t) => {
  const file = fileIn(t);
  assert.ok(!open(file).isOther);
  open(file).remember('a.md', base(1));
  assert.ok(!open(file).isOther);
  assert.ok(open(file, 'other').isOther);
  assert.deepEqual(basesIn(file), {}, 'what another folder had does not come back');
});

test('sync state: notices that the file is another one', (t) => {
  const file = fileIn(t);
  const state = open(file);
  assert.ok(!state.isReplaced);
  copyFileSync(file, `${file}.copy`);
  writeFileSync(file, '');
  assert.ok(!state.isReplaced);
});

test('sync state: notes created together get the tags that the log tells', (t) => {
  const file = fileIn(t);
  const state = open(file);
  const { etag: _, ...untagged } = base(1);
  state.rememberAll([
    ['a.md', untagged],
    ['b.md', base(2)],
  ]);
  state.confirm(
    new Map([
      [1, '"5f2c9a01-1"'],
      [2, '"5f2c9a01-7"'],
    ]),
  );
  assert.deepEqual(basesIn(file), { 'a.md': base(1), 'b.md': base(2) });
});

test('sync state: without the right to write, nothing is written', (t) => {
  const file = fileIn(t);
  open(file).remember('a.md', base(1));
  const before = readFileSync(file);
  const state = new State(file, 'this', false);
  state.remember('b.md', base(2));
  state.save({ cursor: '5f2c9a01-9' });
  state.forgetAll();
  assert.deepEqual(readFileSync(file), before);
});

test('sync state: of a file that was cut anywhere, what is left was there once', (t) => {
  const file = fileIn(t);
  const state = open(file);
  const known = new Map<string, Set<string>>();
  for (let n = 1; n < 6; n += 1) {
    const path = `${n % 2}.md`;
    state.remember(path, base(n));
    known.set(path, (known.get(path) ?? new Set()).add(JSON.stringify(base(n))));
  }
  const whole = readFileSync(file);
  for (let length = 0; length <= whole.length; length += 1) {
    writeFileSync(file, whole.subarray(0, length));
    const cut = open(file);
    for (const [path, each] of cut.bases) assert.ok(known.get(path)?.has(JSON.stringify(each)));
    // The next line must be whole.
    cut.remember('new.md', base(1));
    if (cut.bases.size > 0) assert.deepEqual(basesIn(file)['new.md'], base(1), `${length}`);
  }
});

test('sync state: random bytes in the file are nothing, and spoil no other line', (t) => {
  const file = fileIn(t);
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.uint8Array(), fc.json())), (parts) => {
      writeFileSync(file, '');
      open(file).remember('a.md', base(1));
      for (const part of parts)
        appendFileSync(file, typeof part === 'string' ? part : Buffer.from(part));
      appendFileSync(file, '\n');
      open(file).remember('b.md', base(2));
      const { 'a.md': a, 'b.md': b } = basesIn(file);
      assert.deepEqual({ a, b }, { a: base(1), b: base(2) });
    }),
  );
});
