// Valid and nearly valid JSON texts, with the expected decision on each: that of RFC 8259 or, where
// the RFC leaves it open, that of this service.

/** Similar texts with the same expected decision. */
export interface JsonTexts {
  /** JSON with the value that `JSON.parse` returns. */
  readonly accepted: readonly (string | Buffer)[];
  /** Not JSON: refused as a bad request. */
  readonly refused: readonly (string | Buffer)[];
  /** JSON with another value than `JSON.parse` returns, or refused although it is valid. */
  readonly decided?: readonly (readonly [
    text: string,
    decision: { readonly value: unknown } | 'refused',
  ])[];
}

const INTEGER_AS_FLOAT = { value: Number.POSITIVE_INFINITY };

/** Nested brackets. */
export function nested(levels: number, open = '[', close = ']'): string {
  return open.repeat(levels) + close.repeat(levels);
}

function quoted(hex: string): Buffer {
  return Buffer.from(`22${hex}22`, 'hex');
}

function beginnings(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from(bytes.keys(), (length) => bytes.subarray(0, length));
}

/** The texts by subject. */
export const JSON_TEXTS: Readonly<Record<string, JsonTexts>> = {
  'whole numbers': {
    accepted: [
      ...['0', '-0', '1', '-100', ' 7 ', '[-0]', '9007199254740993', '18446744073709551616'],
      ...['1'.repeat(400), `-${'9'.repeat(309)}`],
    ],
    refused: [
      ...['00', '01', '-01', '-', '- 1', '+1', '--1', '1-', '1 2', '1_000', '0x1f', '1n', '1,'],
      ...['\u0661', '\uff11', '\u22121'],
    ],
  },
  fractions: {
    accepted: ['0.5', '-0.5', '3.14159', '0.30000000000000004', '100.001', '-0.0000001'],
    refused: ['.5', '-.5', '5.', '.', '1..5', '1.2.3', '1. 5', '1 .5', '01.5', '1.e5', '1.-5'],
    decided: [
      ...['4.0', '4.00', '-4.0', '0.0', '-0.0', '100.0', '9007199254740993.0'],
      '1.00000000000000000001',
    ].map((text) => [text, INTEGER_AS_FLOAT]),
  },
  exponents: {
    accepted: '1e-1 5E-1 1.5e0 15e-1 -2.5E-3 5e-324 1.5e-10 0.5e-5 12345e-3 2.5e+0'.split(' '),
    refused: [
      ...['1e', '1e+', '1e-', 'e1', '-e1', '1ee1', '1e1e1', '1e1.5', '1e 1', '1 e1', '1e+-1'],
      ...['1e0x1', '1eA', '1e\u0661', '1.5e', '-0e+'],
    ],
    decided: [
      ...['1e0', '1E0', '4e+0', '4e-0', '40e-1', '1e2', '-1E+2', '0e0', '0e5', '-0e-5', '0.4e1'],
      ...['1.5e1', '1e00', '1e400', '-1e400', '1e999999999999', '1e-400', '123.456e3', '5e-325'],
    ].map((text) => [text, INTEGER_AS_FLOAT]),
  },
  names: {
    accepted: ['true', 'false ', '\tnull\r\n', '[true,false,null]', '{"true":true}'],
    refused: [
      ...['True', 'NULL', 'nul', 'nulll', 'tru', 'truee', 'fals', 't', 'undefined', 'None', 'NaN'],
      ...['-NaN', 'Infinity', '-Infinity', 'true false', 'truefalse', 'true,', 'nu\\u006cl', 'a'],
    ],
  },
  strings: {
    accepted: [
      ...['""', '"\u007f"', '"\u2028\u2029"', '"\ufeff"', '"\uffff"', '"\u{10ffff}"', '"// 4.0"'],
      ...['"1e5"', '"[{"', '"]}"', '"a:b,c"', `"'"`, `"${'x'.repeat(5_000)}"`],
    ],
    refused: [
      ...['"', '"a', 'a"', "'a'", '`a`', '"a"b"', '"a" "b"', '"""', '\u201ca\u201d', '\'a"'],
      ...['"\n"', '"\t"', '"\u0000"', '"\u001f"', '"a\\\nb"', `"${'x'.repeat(5_000)}\n"`],
    ],
  },
  escapes: {
    accepted: [
      ...['"\\""', '"\\\\"', '"\\/"', '"\\b\\f\\n\\r\\t"', '"\\u0000"', '"\\u00E9"', '"\\\\u0041"'],
      ...['"\\\\\\""', '"\\u005C\\u0022"', '"\\uD83D\\uDC4B"', '{"\\u0061":1}'],
      // Lone surrogates are JSON, but a schema refuses them.
      ...['"\\ud800"', '"\\udc00\\ud800"', '"\\ud800\\u0041"'],
    ],
    refused: [
      ...['"\\"', '"\\\\\\"', '"\\a"', '"\\v"', '"\\0"', '"\\x41"', '"\\\'"', '"\\ "', '"\\U0041"'],
      ...['"\\u123"', '"\\u12g4"', '"\\u{41}"', '"\\ud83d\\u"', '\\u0022a\\u0022', '"\\\u00e9"'],
    ],
  },
  arrays: {
    accepted: [
      ...['[]', '[ ]', ' [ 1 , 2 ] ', '[[],[{}]]', '["",null,true,0.5,{},[]]', '["]"]'],
      ...['["[",","]', `[${'1,'.repeat(1_000)}1]`, `[${'[],'.repeat(1_000)}[]]`],
    ],
    refused: [
      ...['[', ']', '[]]', '[[]', '[1', '[1,', '[,', '[,]', '[1,]', '[1,,2]', '[1 2]', '[1:2]'],
      ...['["a', '[a]', '[1}', '{1]', '[1]]', '[] []', '[-]', '[1]\u0000', '[1\u00a0]'],
    ],
  },
  objects: {
    accepted: [
      ...['{}', '{"":0}', ' { "a" : 1 } ', '{"a":[],"b":[{}]}', '{"a":2,"a":1,"b":3}', '{"a":":"}'],
      ...['{"a":1,"\\u0061":2}', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{}}}'],
      ...['{"length":-1}', '{"2":1,"1":2}', '{"}":"{"}', '{"\\ud800":1}'],
    ],
    refused: [
      ...['{', '}', '{{}}', '{"a"}', '{"a":}', '{"a":1', '{"a":1,', '{"a":1,}', '{,}', '{:1}'],
      ...['{a:1}', "{'a':1}", '{1:1}', '{null:1}', '{[]:1}', '{"a" 1}', '{"a"=1}', '{"a"::1}'],
      ...['{"a":1:2}', '{"a":1 "b":2}', '{"a","b"}', '{"a":1]', '["a":1]', '{"a":1}}'],
      ...['{"a":1}{"b":2}', '{"a\n":1}'],
    ],
  },
  'white space': {
    accepted: ['\r\n1\r\n', ' \t\r\n1 \t\r\n', `${' '.repeat(5_000)}1`, `1${'\n'.repeat(5_000)}`],
    refused: [
      ...['', ' ', '\r\n', ' '.repeat(5_000), '\f1', '\v1', '\u00a01', '1\u00a0', '\u20281'],
      ...['\u30001', '\u200b1', '\u0000', '1\u0000', '\u007f1'],
    ],
  },
  'byte order marks': {
    accepted: ['["\ufeff"]', '"\ufeffa"'],
    refused: ['\ufeff', '\ufeff{}', '{}\ufeff', '{\ufeff}', '[1,\ufeff2]'],
  },
  'similar to JSON': {
    accepted: [],
    refused: [
      ...['// one\n1', '[1/*,2*/]', '/', '# one\n1', '<a/>', 'a=b&c=d', 'a: 1', '---\na: 1'],
      ...['{"a":1}\n{"a":2}', '{"a":1}x', 'callback({})', '\u001e{}', '"a":1', '{"a":undefined}'],
      ...['{"a":0x1}', '{"a":.5}', '{"a":NaN}', '?', '\\', ':', ',', '_'],
    ],
  },
  // In hexadecimal.
  encodings: {
    accepted: ['7f', 'c280', 'ed9fbf', 'efbfbd', 'efbfbf', 'f0908080', 'f48fbfbf'].map(quoted),
    refused: [
      // Continuations without a start, starts without their continuations, and overlong forms.
      ...['80', 'c3', 'c328', 'e282', 'f09f91', 'f09f28bc', '61cc8181', 'c080', 'e09fbf'],
      // Surrogates, what is beyond the last code point, and no UTF-8 at all.
      ...['eda080', 'eda0bdedb18b', 'f4908080', 'ff'],
    ].map(quoted),
  },
  'other encodings': {
    accepted: [],
    refused: [
      Buffer.from('{"caf\xe9":1}', 'latin1'),
      Buffer.from('{"a":1}', 'utf16le'),
      Buffer.from('\ufeff"a"', 'utf16le'),
      // A compressed body.
      Buffer.from('1f8b0800000000000003abae050043bfa6a302000000', 'hex'),
    ],
  },
  nesting: {
    accepted: [
      ...[nested(1), nested(500), nested(999), nested(1_000)],
      nested(1_000, '{"a":', '}').replace('}', '0}'),
    ],
    refused: [
      ...[nested(999).slice(1), nested(999).slice(0, -1), nested(1_000).slice(0, -1)],
      ...[`${nested(1_000)}]`, '['.repeat(1_000), '{"a":'.repeat(1_000), nested(999, '[', '}')],
      nested(500, '[{', ']}'),
    ],
    decided: [
      ...[nested(1_001), nested(1_002), nested(5_000), nested(100_000)],
      ...[nested(1_001, '{"a":', '}').replace('}', '0}'), `[1,"]",${nested(1_000)}]`],
      ...[`{"a":${nested(1_000)}}`, nested(501, '[{"a":', '}]').replace('}', '0}')],
    ].map((text) => [text, 'refused']),
  },
  beginnings: {
    accepted: [],
    refused: beginnings(
      '{"title":"\u00e9\\u0041\u{1f44b}","n":[-1.5e-3,true,null],"o":{"a":false}}',
    ),
  },
};
