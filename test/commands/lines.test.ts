// Lines of a stream, wherever it is cut, and lines that are too long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { linesOf } from '../../src/commands/lines.ts';

async function* piecesOf(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const places = [
    0,
    ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  for (const [index, place] of places.slice(1).entries())
    yield bytes.subarray(places[index], place);
}

async function linesIn(chunks: AsyncIterable<Buffer>, limitBytes: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const batch of linesOf(chunks, { batchBytes: 5, limitBytes }))
    lines.push(...batch.map(String));
  return lines;
}

test('lines: the same wherever the stream is cut', async () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom('a', '\r', 'é', '😀', '\u2028') }));
  await fc.assert(
    fc.asyncProperty(texts, fc.boolean(), fc.array(fc.nat()), async (lines, isEnded, cuts) => {
      const text = lines.join('\n') + (isEnded ? '\n' : '');
      const wanted = text.split('\n');
      if (wanted.at(-1) === '') wanted.pop();
      assert.deepEqual(await linesIn(piecesOf(Buffer.from(text), cuts), 10_000), wanted);
    }),
  );
});

test('lines: a line is read up to the limit at most', async () => {
  const line = Buffer.alloc(10, 'x');
  assert.deepEqual(await linesIn(piecesOf(line, [3]), 10), ['xxxxxxxxxx']);
  let read = 0;
  async function* endless() {
    yield Buffer.from('first\n');
    for (;;) {
      read += 1;
      yield line;
    }
  }
  await assert.rejects(linesIn(endless(), 95), /^Error: line 2: it has more than 95 bytes$/);
  assert.equal(read, 10);
});
