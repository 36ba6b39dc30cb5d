// The formats of bodies: which media types each kind of route accepts, and lines of JSON, compared
// with a model that splits the text.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatOf, parseLines } from '../../../src/http/body/formats.ts';
import { parseJson } from '../../../src/http/body/json.ts';
import { placeAfter } from '../../../src/http/body/json-fault.ts';
import { Problem } from '../../../src/http/problem.ts';
import type { BodyFormats } from '../../../src/http/route.ts';

const LINES = { types: ['application/json', 'application/x-ndjson'], maxLines: 5 };
const PLAIN = { types: ['application/json'], maxLines: 0 };
const PATCH = { types: ['application/merge-patch+json', 'application/json'], maxLines: 0 };

function judge(type: string | undefined, accepted: BodyFormats): string | Problem {
  const message = { headers: { 'content-type': type } } as IncomingMessage;
  try {
    return formatOf(message, accepted);
  } catch (error) {
    assert.ok(error instanceof Problem);
    assert.equal(error.slug, 'unsupported-media-type');
    return error;
  }
}

/** Media types by the kinds of routes that accept them. */
const MEDIA_TYPES: Readonly<Record<string, readonly (string | undefined)[]>> = {
  'plain lines patch': [
    ...[undefined, 'application/json', 'Application/JSON; charset=UTF-8'],
    ...['application/json; charset="\\UTF-8"', 'application/json;charset=utf8'],
    ...[' Application/JSON ;\tcharset="UTF-8";;a', `application/json; a=${'b'.repeat(900)}`],
    ...['application/merge-patch+json', 'application/merge-patch+json; charset=utf-8'],
    // The first one counts.
    'application/json; charset=utf-8; charset=latin1',
  ],
  'plain lines': [
    ...['application/json-patch+json', 'application/a+json'],
    'application/vnd.api+json; profile="a;b"',
    'application/vnd.charset+json; profile="charset"; charset-hint=x',
  ],
  lines: ['application/x-ndjson', 'Application/X-NDJSON; charset="utf-8"'],
  '': [
    ...['application/json; charset=latin1', 'application/merge-patch+json; charset=latin1'],
    ...['application/json; charset=latin1; charset=utf-8', 'application/x-ndjson; charset=utf-16'],
    ...['application/ndjson', 'application/jsonl', 'application/jsonlines', 'text/plain', ''],
    ...['application/x-jsonlines', 'application/json; charset=""', 'application/+json'],
    ...['application/json, application/json', 'image/svg+json', 'application/*'],
    // Malformed or too long.
    ...[' ', 'json', '/', 'application/', '/json', 'application json', 'application/json, a/b'],
    ...['application/json x', '\u00e9/json', 'application/json; charset'],
    ...['application/json; charset=', 'application/json; charset = utf-7'],
    ...['application/json; a="b;charset=latin1', 'application/json;charset;a=b'],
    ...['application/json; Charset ', `application/json; a=${'b'.repeat(1_024)}`],
  ],
};

test('body formats: each kind of route accepts its own media types', () => {
  for (const [kinds, types] of Object.entries(MEDIA_TYPES))
    for (const type of types)
      for (const [kind, accepted] of Object.entries({ plain: PLAIN, lines: LINES, patch: PATCH })) {
        const format = /ndjson/i.test(String(type)) ? 'lines' : 'json';
        const expected = kinds.includes(kind) ? format : 'refused';
        const judged = judge(type, accepted);
        assert.equal(typeof judged === 'string' ? judged : 'refused', expected, `${kind}: ${type}`);
      }
});

test('body formats: hostile media types are judged quickly', () => {
  for (const length of [1_000, 16_384])
    for (const end of [';', '; ', ' ', ';a=b', '"', '\\', ' \t', ';a="\\"'])
      for (const start of ['application/json', 'application/json;x="', 'application/json;', '']) {
        const type = (start + end.repeat(length)).slice(0, length);
        // The machine may be busy: only the best of several attempts counts.
        const isQuick = [1, 2, 3].some(() => {
          const started = performance.now();
          judge(type, PLAIN);
          return performance.now() - started < 200;
        });
        assert.ok(isQuick, type.slice(0, 40));
      }
});

test('body formats: a refusal names every media type that the route accepts', () => {
  const patches = 'application/merge-patch+json, application/json';
  for (const [accepted, accept, acceptPatch] of [
    [PLAIN, 'application/json', []],
    [LINES, 'application/json, application/x-ndjson', []],
    [PATCH, patches, ['accept-patch', patches]],
  ] as const) {
    const refusal = judge('application/jsonl', accepted);
    assert.ok(refusal instanceof Problem);
    const identity = ['accept-encoding', 'identity'];
    assert.deepEqual(refusal.extras.headers, ['accept', accept, ...identity, ...acceptPatch]);
    for (const type of accepted.types) assert.ok(refusal.message.includes(` ${type}`), type);
    assert.equal(refusal.message.includes('ndjson'), accepted === LINES);
  }
});

const MAX_LINES = 5;

async function parsed(bytes: Buffer, sliceBytes = 1_000): Promise<unknown[] | string> {
  const pause = () => Promise.resolve();
  return parseLines(bytes, LINES, sliceBytes, pause).catch((error) => {
    assert.ok(error instanceof Problem && error.slug === 'bad-request', String(error));
    return error.message;
  });
}

function expected(bytes: Buffer): unknown[] | string {
  const lines = bytes.toString('latin1').split('\n');
  const trimmed = lines.map((line, index) => {
    const text = line.replace(/^[ \t\r]+/, '');
    const spaces = line.slice(0, line.length - text.length);
    return { text, before: [...lines.slice(0, index), spaces].join('\n') };
  });
  const present = trimmed.filter(({ text }) => text !== '').slice(0, MAX_LINES + 1);
  try {
    return present.map(({ text, before }, index) => {
      const place = placeAfter(Buffer.from(before, 'latin1'));
      return parseJson(Buffer.from(text, 'latin1'), `Record ${index} (counted from 0)`, place);
    });
  } catch (error) {
    return (error as Problem).message;
  }
}

test('lines: blank ones, ends of lines and numbers', async () => {
  for (const [text, values] of [
    ['', []],
    ['\n \n\t\r\n\r\n', []],
    ['1', [1]],
    ['1\n', [1]],
    ['1\r\n2\r\n', [1, 2]],
    ['\n\n1\n \n\t2 \n\n', [1, 2]],
    [' {"a": "b\\nc"} \n[]', [{ a: 'b\nc' }, []]],
    ['4.0\n4.5', [Number.POSITIVE_INFINITY, 4.5]],
    ['1\n2\n3\n4\n5\n6\n7\nx', [1, 2, 3, 4, 5, 6]],
    [
      '1 2',
      'Record 0 (counted from 0) is not valid JSON at line 1, column 3: expected the end, found 2.',
    ],
    [
      '\n1\n\n {\n}',
      'Record 1 (counted from 0) is not valid JSON at line 4, column 3: ' +
        'it ends too early, expected a name in double quotes or }.',
    ],
    [
      '1\r2',
      'Record 0 (counted from 0) is not valid JSON at line 1, column 3: expected the end, found 2.',
    ],
    [
      '1\u20282',
      'Record 0 (counted from 0) is not valid JSON at line 1, column 2: ' +
        'expected the end, found U+2028.',
    ],
    [
      '1\n\ufeff2',
      'Record 1 (counted from 0) is not valid JSON at line 2, column 1: ' +
        'expected a value, found a byte order mark.',
    ],
    [
      `1\n${'['.repeat(1_001)}`,
      'Record 1 (counted from 0) is nested too deeply at line 2, column 1001.',
    ],
    ['1\n2\n3\n"\xff"', [1, 2, 3, '\xff']],
  ] as const) {
    assert.deepEqual(await parsed(Buffer.from(text)), values, JSON.stringify(text.slice(0, 40)));
  }
  const invalid = Buffer.from('1\n"\xff"\n2', 'latin1');
  assert.equal(
    await parsed(invalid),
    'Record 1 (counted from 0) is not valid UTF-8 at line 2, column 2.',
  );
});

test('lines: generated bodies are read as the model reads them', async () => {
  const piece = fc.constantFrom(
    ...['\n', '\n', '\r\n', '\r', ' ', '\t', '1', '{}', '[', ']', '"', '"a"', '\\', '4.0', ','],
    ...['\0'],
    ...['{"title":"a"}', '\x80', '\xff', '\xc3\xa9', '\xef\xbb\xbf', '\v', '\xa0', 'null'],
  );
  const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''));
  const bytes = fc.oneof(
    text.map((each) => Buffer.from(each, 'latin1')),
    fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)),
  );
  await fc.assert(
    fc.asyncProperty(bytes, fc.integer({ min: 1, max: 9 }), async (body, sliceBytes) => {
      assert.deepEqual(await parsed(body, sliceBytes), expected(body));
    }),
    { seed: 1, numRuns: 3_000 },
  );
});

test('lines: a pause after each slice, and none for what is left out', async () => {
  let pauses = 0;
  const count = async (body: string, maxLines: number, sliceBytes: number) => {
    pauses = 0;
    const pause = () => {
      pauses += 1;
      return Promise.resolve();
    };
    await parseLines(Buffer.from(body), { ...LINES, maxLines }, sliceBytes, pause);
    return pauses;
  };
  // Each line takes ten bytes, and each slice ends with a line.
  assert.equal(await count('123456789\n'.repeat(100), 100, 100), 9);
  assert.equal(await count('123456789\n'.repeat(100), 100, 1_000), 0);
  assert.equal(await count('123456789\n'.repeat(100), 19, 100), 1);
  // A line that is longer than a slice is parsed as a whole.
  assert.equal(await count('123456789\n'.repeat(100), 100, 1), 99);
  // A million blank lines are no work.
  assert.equal(await count('\n'.repeat(1_000_000), 100, 100), 0);
});

test('lines: a pause that fails ends the work', async () => {
  const pause = () => Promise.reject(new Error('enough'));
  await assert.rejects(parseLines(Buffer.from('1\n2\n3'), LINES, 2, pause), /enough/);
});
