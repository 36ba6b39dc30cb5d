// Strict JSON is held against JSON.parse: what the one accepts the other must accept, and the values must be the same
// but for the floats. NOTES_TEST_SEED=n repeats a run of the generated texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_NESTING_LEVELS, parseJson } from '../../src/http/json.ts';
import { Problem } from '../../src/http/problem.ts';
import { JSON_TEXTS } from '../support/json-texts.ts';

const SEED = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
const RUNS = 10_000;
const MEBIBYTE = 1_048_576;
const MEBIBYTE_WITHIN_MS = 500;
/** All that a refusal says: it does not repeat what was sent. */
const REFUSAL = /^The body is (?:not valid JSON|not valid UTF-8|empty; a JSON text is expected|nested too deep)\.$/;

const parse = (text: string) => parseJson(Buffer.from(text));

function assertRefused(bytes: Buffer | string, label?: string): Problem {
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

/** What JSON.parse makes of a text, or undefined where it refuses it. */
function judge(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** How long it takes to judge a text. */
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

/** The value a text must have: that of JSON.parse once each integer that is written as a float has become null. */
function expectedValue(text: string): unknown {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;
  return JSON.parse(
    text.replace(tokens, (token) => {
      const isFloat = !token.startsWith('"') && /[.eE]/.test(token);
      // The rest of an infinity is NaN, which is no fraction either.
      return isFloat && !(Number(token) % 1) ? 'null' : token;
    }),
  );
}

function assertLikeJsonParse(text: string): void {
  if (judge(text)) assert.deepEqual(parse(text), expectedValue(text));
  else assertRefused(text);
}

const blanks = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const numberText = fc.stringMatching(/^-?(0|[1-9]\d{0,5})(\.\d{1,3})?([eE][+-]?\d{1,3})?$/);
const stringText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom('\\"', '\\\\', '\\u0000', '\\ud800', '\\/', '\\b', '4.0', '1e5', '[', '{', '}', ']'),
    ),
    { maxLength: 4 },
  )
  .map((parts) => `"${parts.join('')}"`);

/** JSON texts as people and machines write them, rich in floats, escapes and blanks. */
const { jsonText } = fc.letrec<{ jsonText: string }>((tie) => {
  const scalar = fc.oneof(numberText, stringText, fc.constantFrom('true', 'false', 'null', '4.0', '-0', '-0.0', '1e2'));
  const padded = fc.tuple(blanks, tie('jsonText'), blanks).map((parts) => parts.join(''));
  const member = fc.tuple(blanks, stringText, blanks, padded).map(([before, name, after, value]) => {
    return `${before}${name}${after}:${value}`;
  });
  const list = fc.array(padded, { maxLength: 5 }).map((items) => `[${items.join(',')}]`);
  const object = fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(',')}}`);
  return { jsonText: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, list, object) };
});

/** A change to a text: what to cut out (in parts of the text's length) and what to put there. */
const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  cut: fc.integer({ min: 0, max: 3 }),
  insert: fc.oneof(
    fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '.', 'e', 'E', '+', '-', '0', '1', '.0', 'e1', '4.0'),
    fc.constantFrom(' ', '\n', '\u0000', '\u00a0', '\ufeff', 'null', 'nul', 'true', 'NaN', 'Infinity', '//', "'", 'é'),
  ),
});

function mutate(text: string, changes: readonly { at: number; cut: number; insert: string }[]): string {
  const mutated = changes.reduce((changed, { at, cut, insert }) => {
    const index = Math.floor(at * changed.length);
    return changed.slice(0, index) + insert + changed.slice(index + cut);
  }, text);
  // A cut may leave half of a surrogate pair, which no bytes can carry.
  return mutated.toWellFormed();
}

test(`generated texts have the value that JSON.parse gives them, integers written as floats excepted`, (t) => {
  t.diagnostic(`NOTES_TEST_SEED=${SEED}`);
  fc.assert(fc.property(jsonText, assertLikeJsonParse), { seed: SEED, numRuns: RUNS });
});

test('mutated texts are accepted exactly where JSON.parse accepts them', (t) => {
  t.diagnostic(`NOTES_TEST_SEED=${SEED}`);
  let accepted = 0;
  const property = fc.property(jsonText, fc.array(mutation, { minLength: 1, maxLength: 3 }), (text, changes) => {
    const changed = mutate(text, changes);
    assertLikeJsonParse(changed);
    if (judge(changed)) accepted += 1;
  });
  fc.assert(property, { seed: SEED, numRuns: RUNS });
  assert.ok(accepted > RUNS / 50 && accepted < RUNS, `${accepted} of ${RUNS} were accepted: the test says nothing`);
});

test('generated bytes are accepted exactly where they are UTF-8 and JSON', (t) => {
  t.diagnostic(`NOTES_TEST_SEED=${SEED}`);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const property = fc.property(jsonText, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 }), (text, at, noise) => {
    const bytes = Buffer.from(text);
    bytes.set(noise.subarray(0, bytes.length), at % Math.max(1, bytes.length - noise.length + 1));
    let decoded: string | undefined;
    try {
      decoded = decoder.decode(bytes);
    } catch {
      // Not UTF-8.
    }
    if (decoded !== undefined && judge(decoded)) assert.deepEqual(parseJson(bytes), expectedValue(decoded));
    else assertRefused(bytes);
  });
  fc.assert(property, { seed: SEED, numRuns: RUNS });
});

test('an integer that is written as a float becomes null, and no other number changes', () => {
  for (const text of ['4.0', '4.00', '-4.0', '4e0', '4E0', '4e+0', '4e-0', '40e-1', '1e2', '0.0', '-0.0', '0e5']) {
    assert.equal(parse(text), null, text);
    assert.deepEqual(parse(` {"a":[${text},\t${text} ]}`), { a: [null, null] }, text);
  }
  for (const text of ['1e400', '-1e400', '9007199254740993.0', '1e-400']) assert.equal(parse(text), null, text);
  for (const text of ['4', '-4', '0', '-0', '4.5', '-4.5', '4e-1', '16.9', '1.5e0', '5e-324', '9007199254740993']) {
    assert.ok(Object.is(parse(text), Number(text)), text);
  }
});

test('what looks like a float inside a string or a name stays', () => {
  for (const value of ['4.0', '1e5', 'a\\"4.0', '\\\\"4.0', '\\', '"', '",4.0,"', '[4.0', '{4.0', '\u{1f44b}4.0']) {
    const text = JSON.stringify({ [value]: [value, { [value]: value }], x: 1.5 });
    assert.deepEqual(parse(text), JSON.parse(text));
  }
});

test('each text of the table is read or refused as it is decided', (t) => {
  let count = 0;
  for (const [about, { accepted, refused, decided = [] }] of Object.entries(JSON_TEXTS)) {
    for (const text of accepted) {
      const label = `${about}: ${String(text).slice(0, 100)}`;
      assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(String(text)), label);
    }
    for (const text of refused) {
      const label = `${about}: ${JSON.stringify(String(text).slice(0, 100))}`;
      assert.match(assertRefused(text, label).message, REFUSAL, label);
      // What is no UTF-8 has lost its bytes here, and may look like JSON then.
      if (typeof text === 'string') assert.equal(judge(text), undefined, label);
    }
    for (const [text, decision] of decided) {
      if (decision === 'refused') assert.match(assertRefused(text, about).message, /deep/);
      else assert.deepEqual(parse(text), decision.value, text);
      assert.ok(judge(text), `${text.slice(0, 100)} is no JSON`);
    }
    count += accepted.length + refused.length + decided.length;
  }
  t.diagnostic(`${count} texts`);
  assert.ok(count >= 300);
});

test('bytes that are not UTF-8 are refused, wherever they stand', () => {
  const sequences = {
    'a lone continuation': [0x80],
    'a truncated sequence of two': [0xc3],
    'a truncated sequence of three': [0xe2, 0x82],
    'a truncated sequence of four': [0xf0, 0x9f, 0x91],
    'an overlong slash of two': [0xc0, 0xaf],
    'an overlong slash of three': [0xe0, 0x80, 0xaf],
    'an overlong slash of four': [0xf0, 0x80, 0x80, 0xaf],
    'an overlong NUL': [0xc0, 0x80],
    'a surrogate': [0xed, 0xa0, 0x80],
    'a pair of surrogates': [0xed, 0xa0, 0xbd, 0xed, 0xb1, 0x8b],
    'a code point beyond the last': [0xf4, 0x90, 0x80, 0x80],
    'UTF-16 with its mark': [0xff, 0xfe],
    'Latin-1': [0xe9],
  };
  for (const [name, sequence] of Object.entries(sequences)) {
    const bad = Buffer.from(sequence);
    const [quote, text] = [Buffer.from('"'), Buffer.from(`["${'a'.repeat(2_000)}","`)];
    assert.match(assertRefused(Buffer.concat([quote, bad, quote]), name).message, /UTF-8/, name);
    assertRefused(bad, name);
    assertRefused(Buffer.concat([text, bad, Buffer.from('"]')]), name);
    assertRefused(Buffer.concat([Buffer.from('1'), bad]), name);
  }
  const edges = '\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}';
  assert.equal(parse(`"${edges}"`), edges);
});

test('the last of several members with one name counts', () => {
  assert.deepEqual(parse('{"a":1,"b":2,"a":3}'), { a: 3, b: 2 });
  assert.deepEqual(parse('{"a":1,"\\u0061":{"c":4.0}}'), { a: { c: null } });
});

test('__proto__ and constructor are ordinary names and change nothing', () => {
  const value = parse('{"__proto__":{"title":"x"},"constructor":{"prototype":{"title":"x"}},"x":1.5}') as object;
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor', 'x']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal('title' in value, false);
  assert.equal('title' in {}, false);
});

test('nesting is accepted up to its bound and refused beyond it, however it is written', () => {
  const nested = (open: string, close: string) => (levels: number) => `${open.repeat(levels)}0${close.repeat(levels)}`;
  const forms = {
    arrays: nested('[', ']'),
    objects: nested('{"a":', '}'),
    'brackets in strings beside them': nested('["[[{{\\"[",', ']'),
    'closing brackets in strings beside them': nested('["]]}}\\"]",', ']'),
    'floats beside them': nested('[4.0,', ']'),
    'lists that are closed again beside them': nested('[[],{},', ']'),
    blanks: nested(' [\n', '\t] '),
    'both in turns': (levels: number) => {
      const opening = Array.from({ length: levels }, (_, level) => (level % 2 ? '[' : '{"a":'));
      const closing = opening.map((text) => (text === '[' ? ']' : '}')).reverse();
      return [...opening, 0, ...closing].join('');
    },
  };
  for (const [name, form] of Object.entries(forms)) {
    // The lists that are closed again are one level deeper than the last one that holds them.
    const most = name.startsWith('lists') ? MAX_NESTING_LEVELS - 1 : MAX_NESTING_LEVELS;
    assert.deepEqual(JSON.stringify(parse(form(most))), JSON.stringify(expectedValue(form(most))), name);
    assert.match(assertRefused(form(most + 1), name).message, /deep/, name);
  }
});

test(`a mebibyte of anything is judged within ${MEBIBYTE_WITHIN_MS} ms`, () => {
  const pieces = [
    ...['"', '\\', '[', '{', ']', '}', '0', '1', '-', '.', 'e', ' ', ',', ':', '\ufeff', '\u{1f44b}', '"\\', '\\"'],
    ...['4.0,', '4e0,', '1.', '1e', '1.1.', '1e1e', '-0.', '""', '"",', '"\\u0041",', '"\\\\",', '[]', '{}', '[4.0,'],
    ...['{"":', '{"4.0":', '[[', '},{', '0.', '00', '1 ', '"4.0"', '9.99999999999999999999,', '{"a":1},', 'null,'],
  ];
  const wrappings = [
    ['', ''],
    ['[', '0]'],
    ['"', '"'],
  ];
  let slowest = { ms: 0, label: '' };
  for (const piece of pieces) {
    for (const [before, after] of wrappings) {
      const text = before + piece.repeat(Math.ceil(MEBIBYTE / Buffer.byteLength(piece))) + after;
      const once = millisecondsFor(text);
      // A second try where the first was slow, for the machine may have been busy with something else.
      const ms = once < MEBIBYTE_WITHIN_MS ? once : Math.min(once, millisecondsFor(text));
      if (ms > slowest.ms) slowest = { ms, label: JSON.stringify([before, piece, after]) };
    }
  }
  assert.ok(slowest.ms < MEBIBYTE_WITHIN_MS, `${slowest.label} took ${slowest.ms} ms`);
});
