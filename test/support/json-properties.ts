// Properties of the strict JSON parser, compared with JSON.parse: it accepts the same texts and
// returns the same values, except for integers written as floats.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseJson } from '../../src/http/body/json.ts';
import { describeFault } from '../../src/http/body/json-fault.ts';
import { Problem } from '../../src/http/problem.ts';
import { anyCharacter } from './any-character.ts';

/** Asserts that the text is refused as a bad request, and returns the problem. */
export function assertRefused(bytes: Buffer | string, label?: string): Problem {
  let thrown: unknown;
  try {
    parseJson(Buffer.from(bytes));
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof Problem, label ?? String(bytes).slice(0, 100));
  assert.equal(thrown.slug, 'bad-request', label);
  return thrown;
}

/** The result of JSON.parse, or undefined if it refuses the text. */
export function judge(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** The value of JSON.parse, with Infinity for each integer written as a float. */
export function expectedValue(text: string): unknown {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;
  return JSON.parse(
    text.replace(tokens, (token) => {
      const isFloat = !token.startsWith('"') && /[.eE]/.test(token);
      // The remainder of an infinity is NaN, which is not a fraction either.
      return isFloat && !(Number(token) % 1) ? '1e999' : token;
    }),
  );
}

function assertLikeJsonParse(text: string): void {
  if (judge(text)) assert.deepEqual(parseJson(Buffer.from(text)), expectedValue(text));
  else {
    assertRefused(text);
    assertFirstFault(text);
  }
}

/** With one of these and the ends of what is open, a beginning that ends with a token is JSON. */
const COMPLETIONS = ['', '0', '"":0', ':0', '"', '":0'];

/** What may be a part of a number, a name or an escape. */
const PART = /^(?:\\u?[\dA-Fa-f]{0,4}|[-+.eE\d]+|[a-z]+)?/;

/** Whether more text can make it JSON. */
function isBeginning(text: string): boolean {
  const outside = text.replace(/"(?:[^"\\]|\\.)*(?:"|\\?$)/gs, '');
  const ends: string[] = [];
  for (const bracket of outside.replace(/[^[\]{}]/g, ''))
    if (']}'.includes(bracket)) ends.shift();
    else ends.unshift(bracket === '[' ? ']' : '}');
  return COMPLETIONS.some((end) => judge(text + end + ends.join('')));
}

/** Asserts that the text is a beginning of JSON up to the token with the fault, and no further. */
function assertFirstFault(text: string): void {
  const { index, what } = describeFault(text) ?? assert.fail(text);
  const label = `${JSON.stringify(text)}, ${index}: ${what}`;
  assert.ok(isBeginning(text.slice(0, index)), label);
  const end = index + (PART.exec(text.slice(index))?.[0].length ?? 0);
  assert.ok(end === text.length || !isBeginning(text.slice(0, end + 1)), label);
}

const spaces = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const numberText = fc.stringMatching(/^-?(0|[1-9]\d{0,5})(\.\d{1,3})?([eE][+-]?\d{1,3})?$/);
const stringText = fc
  .array(
    fc.oneof(
      fc
        .string({ unit: anyCharacter, maxLength: 10 })
        .map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom(
        ...['\\"', '\\\\', '\\u0000', '\\ud800', '\\/', '\\b', '4.0', '1e5', '[', '{', '}', ']'],
      ),
    ),
    { maxLength: 4 },
  )
  .map((parts) => `"${parts.join('')}"`);

const { jsonText } = fc.letrec<{ jsonText: string }>((tie) => {
  const scalar = fc.oneof(
    numberText,
    stringText,
    fc.constantFrom('true', 'false', 'null', '4.0', '-0', '-0.0', '1e2'),
  );
  const padded = fc.tuple(spaces, tie('jsonText'), spaces).map((parts) => parts.join(''));
  const member = fc
    .tuple(spaces, stringText, spaces, padded)
    .map(([before, name, after, value]) => {
      return `${before}${name}${after}:${value}`;
    });
  const list = fc.array(padded, { maxLength: 5 }).map((items) => `[${items.join(',')}]`);
  const object = fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(',')}}`);
  return {
    jsonText: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, list, object),
  };
});

/** A change to a text: where, as a share of its length, what to cut out and to insert. */
const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  cut: fc.integer({ min: 0, max: 3 }),
  insert: fc.oneof(
    fc.constantFrom(
      ...['', '"', '\\', '{', '}', '[', ']', ',', ':', '.', 'e', 'E', '+', '-', '0', '1', '.0'],
      ...['e1', '4.0'],
    ),
    fc.constantFrom(
      ...[' ', '\n', '\u0000', '\u00a0', '\ufeff', 'null', 'nul', 'true', 'NaN', 'Infinity'],
      ...['//', "'", 'é'],
    ),
  ),
});

function mutate(
  text: string,
  changes: readonly { at: number; cut: number; insert: string }[],
): string {
  const mutated = changes.reduce((changed, { at, cut, insert }) => {
    const index = Math.floor(at * changed.length);
    return changed.slice(0, index) + insert + changed.slice(index + cut);
  }, text);
  // A cut may leave half of a surrogate pair, which has no bytes.
  return mutated.toWellFormed();
}

/** A run of the properties: the seed and the number of texts. */
export interface Run {
  readonly seed: number;
  readonly numRuns: number;
}

/** Asserts that generated texts have the value that {@link expectedValue} returns. */
export function checkTexts(run: Run): void {
  fc.assert(fc.property(jsonText, assertLikeJsonParse), run);
}

/** Asserts that mutated texts are accepted exactly if JSON.parse accepts them. */
export function checkMutatedTexts(run: Run): void {
  let accepted = 0;
  const property = fc.property(
    jsonText,
    fc.array(mutation, { minLength: 1, maxLength: 3 }),
    (text, changes) => {
      const changed = mutate(text, changes);
      assertLikeJsonParse(changed);
      if (judge(changed)) accepted += 1;
    },
  );
  fc.assert(property, run);
  const { numRuns } = run;
  assert.ok(
    accepted > numRuns / 50 && accepted < numRuns,
    `${accepted} of ${numRuns} were accepted`,
  );
}

/** Asserts that texts of one repeated piece are judged soon. */
export function checkSpeed(): void {
  const [length, withinMs] = [65_536, 500];
  const pieces = [
    ...['"', '\\', '[', '{', ']', '}', '0', '1', '-', '.', 'e', ' ', ',', ':', '\ufeff'],
    ...['\u{1f44b}', '"\\', '\\"', '4.0,', '4e0,', '1.', '1e', '1.1.', '1e1e', '-0.', '""', '"",'],
    ...['"\\u0041",', '"\\\\",', '[]', '{}', '[4.0,', '{"":', '{"4.0":', '[[', '},{', '0.', '00'],
    ...['1 ', '"4.0"', '9.99999999999999999999,', '{"a":1},', 'null,'],
  ];
  const wrappings = [
    ['', ''],
    ['[', '0]'],
    ['"', '"'],
  ];
  for (const piece of pieces) {
    for (const [before, after] of wrappings) {
      const text = before + piece.repeat(Math.ceil(length / Buffer.byteLength(piece))) + after;
      // The machine may be busy: only the best of several attempts counts.
      const isQuick = [1, 2, 3].some(() => millisecondsFor(text) < withinMs);
      assert.ok(isQuick, `${JSON.stringify([before, piece, after])} took more than ${withinMs} ms`);
    }
  }
}

function millisecondsFor(text: string): number {
  const bytes = Buffer.from(text);
  const started = performance.now();
  try {
    parseJson(bytes);
  } catch (error) {
    assert.ok(error instanceof Problem);
  }
  return performance.now() - started;
}
