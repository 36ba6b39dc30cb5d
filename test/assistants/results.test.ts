// Results of tools: what they show of a long note, without a copy of all its characters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestOf } from '../../src/assistants/arguments.ts';
import { tools } from '../../src/assistants/generated.js';
import { textOf } from '../../src/assistants/results.ts';
import { countCharacters, sliceCharacters } from '../../src/characters.ts';
import { collectGarbage } from '../support/heap.ts';

const CHARACTERS = 100_000;
const SHOWN = 20_000;

function requestFor(name: string, args: object) {
  const tool = tools.find(({ listing }) => listing.name === name);
  assert.ok(tool);
  return requestOf(tool, { id: 1, ...args });
}

/** Returns what a GET of a part of the body answers. */
function replyWith(whole: string, offset = 0, limit = SHOWN) {
  const note = { id: 1, title: 'a', tags: [], characters: countCharacters(whole) };
  const text = JSON.stringify({ ...note, body: sliceCharacters(whole, offset, limit) });
  return { status: 200, headers: ['etag', '"1-2"'], body: text };
}

for (const unit of ['x', 'é', '東', '😀', 'a😀é']) {
  const body = unit.repeat(CHARACTERS / [...unit].length);
  const characters = [...body];

  test(`results: a note of ${unit} is cut between characters`, () => {
    for (const [offset, limit = SHOWN] of [
      ...[0, 1, 2, SHOWN, CHARACTERS - SHOWN, CHARACTERS - 1, CHARACTERS].map((at) => [at]),
      ...[1, 2, 3, SHOWN - 1, SHOWN].flatMap((most) => [
        [0, most],
        [CHARACTERS - 2, most],
      ]),
    ] as [number, number?][]) {
      const end = offset + limit;
      const isLast = end >= characters.length;
      const expected = {
        ...{ id: 1, title: 'a', tags: [], characters: characters.length, etag: '1-2' },
        body: characters.slice(offset, end).join(''),
        ...(!isLast && { remaining: characters.length - end, next_offset: end }),
      };
      const text = textOf(
        replyWith(body, offset, limit),
        requestFor('get_note', { offset, limit }),
      );
      assert.ok(text === JSON.stringify(expected), `${offset} ${limit}`);
    }
  });

  test(`results: a note of ${unit} is not copied character by character`, () => {
    const reply = replyWith(body, 0, CHARACTERS);
    const request = requestFor('append_to_note', { text: 'a' });
    for (const [name, measure] of [
      ['append_to_note', () => textOf(reply, request)],
      ['a count', () => countCharacters(body)],
      ['a part', () => sliceCharacters(body, 1, CHARACTERS - 2)],
    ] as const) {
      measure();
      collectGarbage();
      const before = process.memoryUsage().heapUsed;
      measure();
      const bytes = process.memoryUsage().heapUsed - before;
      // An array of the characters alone takes eight bytes for each.
      assert.ok(bytes < 8 * CHARACTERS, `${name}: ${bytes} bytes`);
    }
  });
}
