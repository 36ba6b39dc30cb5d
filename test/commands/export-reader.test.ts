// Lines that are too long. The round trips of exports show that a stream may be cut anywhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf } from '../../src/commands/export-reader.ts';

test('lines: a line is read up to the limit at most', async () => {
  let read = 0;
  async function* endless() {
    yield Buffer.from('first\n');
    for (; ; read += 1) yield Buffer.alloc(200_000, 'x');
  }
  await assert.rejects(
    linesOf(endless()).next(),
    /^Error: line 2: it has more than 2097152 bytes$/,
  );
  assert.equal(read, 10);
});
