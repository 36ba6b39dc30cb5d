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
      ...['0', '-0', '1', '-1', '9', '10', '42', '-100', '2147483647', '2147483648', '-2147483649'],
      ...['4294967296', '9007199254740991', '9007199254740992', '9007199254740993'],
      ...['-9007199254740993', '18446744073709551616', '123456789012345678901234567890'],
      ...['1'.repeat(400), `-${'9'.repeat(309)}`, '[0,0]', '[-0]', ' 7 '],
    ],
    refused: [
      ...['00', '01', '-01', '007', '-', '- 1', '+1', '+0', '--1', '-+1', '1-', '1+1', '1 2', '1,'],
      ...[',1', '1_000', "1'000", '0x1f', '0X1', '0b1', '0o7', '1n', '1L', '1f', '#1', '$1', '1%'],
      ...['(1)', '\u0661', '\uff11', '\u00b9', '\u22121'],
    ],
  },
  fractions: {
    accepted: [
      ...['0.5', '-0.5', '1.5', '3.14159', '0.1', '0.30000000000000004', '100.001', '-0.0000001'],
      ...['1.7976931348623157'],
    ],
    refused: [
      ...['.5', '-.5', '+.5', '5.', '-5.', '.', '-.', '1..5', '1.2.3', '1. 5', '1 .5', '1,5'],
      ...['01.5', '1.e5', '0.', '1.0.', '1.5f', '1.-5', '1.+5', '.e1', '1.x'],
    ],
    decided: [
      ...['4.0', '4.00', '-4.0', '0.0', '-0.0', '100.0', '9007199254740993.0'],
      '1.00000000000000000001',
    ].map((text) => [text, INTEGER_AS_FLOAT]),
  },
  exponents: {
    accepted: '1e-1 5E-1 1.5e0 15e-1 -2.5E-3 5e-324 1.5e-10 0.5e-5 12345e-3 2.5e+0'.split(' '),
    refused: [
      ...['1e', '1E', '1e+', '1e-', 'e1', '-e1', '1ee1', '1e1e1', '1e1.5', '1e 1', '1 e1', '1e+-1'],
      ...['1e--1', '1e0x1', '1.e1', '1eA', '1e\u0661', '0e', '-0e+', '1.5e', '1.5e+', '1x1'],
      ...['1**2', '1^2'],
    ],
    decided: [
      ...['1e0', '1E0', '4e0', '4e+0', '4e-0', '40e-1', '1e2', '-1E+2', '0e0', '0e5', '-0e-5'],
      ...['0.4e1', '1.5e1', '1e00', '1e400', '-1e400', '1e999999999999', '1e-400', '123.456e3'],
      '5e-325',
    ].map((text) => [text, INTEGER_AS_FLOAT]),
  },
  names: {
    accepted: [
      ...['true', 'false', 'null', ' true', 'false ', '\ttrue\r\n', '[true,false,null]'],
      '{"true":true}',
    ],
    refused: [
      ...['True', 'TRUE', 'False', 'NULL', 'Null', 'nul', 'nulll', 'tru', 'truee', 'fals', 't'],
      ...['f', 'n', 'yes'],
      ...['no', 'on', 'undefined', 'None', 'nil', 'NaN', '-NaN', 'nan', 'Infinity', '-Infinity'],
      ...['+Infinity', 'inf'],
      ...['true false', 'truefalse', 'true,', '!true', 'void 0', 'a', 'note', 'new Date()'],
      ...['function(){}', '()=>1'],
      ...['{}.a', 'nu\\u006cl'],
    ],
  },
  strings: {
    accepted: [
      ...['""', '" "', '"a"', '"\u007f"', '"\u0080"', '"\u00e9"', '"e\u0301"', '"\u2028\u2029"'],
      ...['"\ufeff"', '"\uffff"', '"\u{1f44b}"', '"\u{10ffff}"', '"\u{10000}"', '"\ufdd0"'],
      ...['"\u202e"', '"\u200d"', '"//"', '"/* */"', '"4.0"', '"1e5"', '"null"', '"[{"', '"]}"'],
      ...['"a:b,c"', `"'"`, '"#"', '"<script>"', '"%00"', '"\u00a0"', `"${'x'.repeat(5_000)}"`],
    ],
    refused: [
      ...['"', '"a', 'a"', "'a'", "''", '`a`', '"a"b"', '"a""b"', '"a" "b"', '"a"+"b"', '"""'],
      ...['"""a"""', '\u201ca\u201d', '\'a"', '"a\'', 'u"a"', '@"a"', 'r"a"', '"\n"', '"\r"'],
      ...['"\t"', '"\u0000"', '"\u0001"', '"\u001f"', '"a\nb"', '"\b"', '"\f"', '"\v"'],
      ...['"\u001b[0m"', '"a\\\nb"', `"${'x'.repeat(5_000)}\n"`],
    ],
  },
  escapes: {
    accepted: [
      ...['"\\""', '"\\\\"', '"\\/"', '"\\b"', '"\\f"', '"\\n"', '"\\r"', '"\\t"', '"\\u0000"'],
      '"\\u001f"',
      ...['"\\u0041"', '"\\u00e9"', '"\\u00E9"', '"\\uD83D\\uDC4B"', '"\\ud83d\\udc4b"'],
      ...['"\\uffff"', '"\\\\u0041"'],
      ...['"\\u005c"', '"\\u005C\\u0022"', '"\\\\\\""', '"\\u0022"', '"\\ufeff"', '"\\u2028"'],
      '{"\\u0061":1}',
      ...['"\\\\n"'],
      // Lone surrogates are JSON, but a schema refuses them.
      ...['"\\ud800"', '"\\udfff"', '"\\udc00\\ud800"', '"\\ud800\\ud800"', '"\\ud800a"'],
      '"\\ud800\\u0041"',
    ],
    refused: [
      ...['"\\"', '"\\\\\\"', '"\\a"', '"\\v"', '"\\0"', '"\\1"', '"\\x41"', '"\\\'"', '"\\`"'],
      ...['"\\ "', '"\\e"', '"\\N"', '"\\U0041"', '"\\u"', '"\\u1"', '"\\u12"', '"\\u123"'],
      ...['"\\u12g4"', '"\\u 123"', '"\\u-123"', '"\\u{41}"', '"\\u00"', '"\\ud83d\\u"'],
      ...['"\\ud83d\\"', '\\u0022a\\u0022', '\\n', '\\"a\\"', '"\\\u00e9"', '"\\\n"'],
      '"\\u\uff10\uff10\uff14\uff11"',
    ],
  },
  arrays: {
    accepted: [
      ...['[]', '[ ]', '[\n]', '[1]', '[1,2]', ' [ 1 , 2 ] ', '[[]]', '[[],[]]', '[{}]'],
      ...['["",null,true,0.5,{},[]]', '["]"]', '["[",","]', `[${'1,'.repeat(1_000)}1]`],
      `[${'[],'.repeat(1_000)}[]]`,
    ],
    refused: [
      ...['[', ']', '[[', ']]', '[]]', '[[]', '[1', '1]', '[1,', '[,', '[,]', '[1,]', '[,1]'],
      ...['[1,,2]', '[1 2]', '[1;2]', '[1:2]', '["a"', '["a', '[a]', '[1}', '{1]', '[}', '[1,2}'],
      ...['(1,2)', '[...]', '[1..2]', '[1]]', '[] []', '[],', '[-]', '[1e]', '["a" "b"]'],
      ...['[\u0000]', '[1]\u0000', '[1\u00a0]'],
    ],
  },
  objects: {
    accepted: [
      ...['{}', '{ }', '{"":0}', '{"a":1}', ' { "a" : 1 } ', '{"a":1,"b":2}', '{"a":{"b":{}}}'],
      ...['{"a":[],"b":[{}]}', '{"a":1,"a":2}', '{"a":2,"a":1,"b":3}', '{"a":1,"\\u0061":2}'],
      ...['{"a b":1}', '{"\\u0000":1}', '{"\u{1f44b}":1}', '{"__proto__":1}'],
      ...['{"__proto__":{"a":1}}', '{"__proto__":null,"a":1}'],
      ...['{"constructor":{"prototype":{"a":1}}}', '{"toString":1,"hasOwnProperty":2}'],
      ...['{"length":-1}', '{"2":1,"1":2}', '{"a":":"}', '{"}":"{"}', '{"\\ud800":1}'],
    ],
    refused: [
      ...['{', '}', '{{', '}}', '{{}}', '{"a"}', '{"a":}', '{"a":1', '{"a":1,', '{"a":1,}'],
      ...['{,"a":1}', '{,}'],
      ...['{"a":1,,"b":2}', '{:1}', '{a:1}', "{'a':1}", '{1:1}', '{null:1}', '{true:1}'],
      ...['{[]:1}', '{{}:1}'],
      ...['{"a" 1}', '{"a"=1}', '{"a"=>1}', '{"a"::1}', '{"a":1:2}', '{"a":1 "b":2}'],
      ...['{"a":1;"b":2}', '{"a","b"}'],
      ...['{"a":b}', '{"a":1]', '["a":1]', '{"a":1}}', '{"a":1}{"b":2}', '{"a":1},{"b":2}'],
      ...['{"a":1};', '{...{}}'],
      ...['{"a"+"b":1}', '{"a":1 "b"}', '({"a":1})', '{"a\n":1}'],
    ],
  },
  'white space': {
    accepted: [
      ...[' 1', '1 ', '\t1', '1\t', '\n1\n', '\r1\r', '\r\n1\r\n', ' \t\r\n1 \t\r\n'],
      ...[`${' '.repeat(5_000)}1`, `1${'\n'.repeat(5_000)}`],
    ],
    refused: [
      ...['', ' ', '\t', '\n', '\r\n', ' '.repeat(5_000), '\f1', '\v1', '\u00a01', '1\u00a0'],
      ...['\u00851', '\u20281', '1\u2029', '\u30001', '\u200b1', '1\u200b', '\u20601', '\u16801'],
      ...['\u0000', '\u00001', '1\u0000', '\u001b1', '1\u001a', '\u007f1'],
    ],
  },
  'byte order marks': {
    accepted: ['["\ufeff"]', '"\ufeffa"'],
    refused: [
      ...['\ufeff', '\ufeff{}', '{}\ufeff', '\ufeff\ufeff1', '{\ufeff}', '[1,\ufeff2]'],
      ...[Buffer.from('\ufeff{}', 'utf16le')],
    ],
  },
  'similar to JSON': {
    accepted: [],
    refused: [
      ...['//', '1//', '1 // one', '// one\n1', '/**/1', '1/**/', '[1/*,2*/]', '/', '/*', '*/1'],
      ...['# one\n1', '-- one\n1', '<!-- -->1', '<a/>', '<?xml version="1.0"?><a/>', 'a=b&c=d'],
      ...['a: 1', '- a', '---\na: 1', 'a,b\n1,2', '[a]\nb = 1', '{"a":1}\n{"a":2}', '{"a":1}x'],
      ...[")]}',\n{}", 'while(1);{}', 'callback({})', '\u001e{}', '\u001e{}\n', '{}\n,', '=1'],
      ...['"a":1', '{"a":undefined}', '{"a":0x1}', '{"a":+1}', '{"a":.5}', '{"a":NaN}'],
      ...['{"a":Infinity}', '{"a":"\\\n"}', '{"a":01}', '{"a":1,"b":}', '{"$ref":#}', '@{}', '&{}'],
      ...['*a', '|1', '>1', '?', '!', '~', '^', '%', '=', '\\', ';', ':', ',', '$', '_'],
    ],
  },
  // In hexadecimal.
  encodings: {
    accepted: [
      ...['7f', 'c280', 'dfbf', 'e0a080', 'ed9fbf', 'ee8080', 'efbfbd', 'efbfbf', 'f0908080'],
      'f48fbfbf',
    ].map(quoted),
    refused: [
      // Continuations without a start, and starts without their continuations.
      ...['80', 'bf', '8080', 'c3', 'c328', 'e2', 'e282', 'e228a1', 'e28228', 'f0', 'f09f'],
      ...['f09f91', 'f0288cbc'],
      ...['f09f28bc', 'c3c3a9', 'e9', 'e4f6fc', '61cc8181'],
      // Overlong.
      ...['c080', 'c0af', 'c1bf', 'c0a2', 'e08080', 'e080af', 'e080a2', 'e09fbf', 'f0808080'],
      ...['f08080af', 'f08fbfbf'],
      // Surrogates.
      ...['eda080', 'edafbf', 'edb080', 'edbfbf', 'eda0bdedb18b'],
      // Beyond the last code point, and obsolete lengths.
      ...['f4908080', 'f5808080', 'f7bfbfbf', 'f888808080', 'fbbfbfbfbf', 'fc8480808080', 'fe'],
      ...['ff', 'ffff'],
      ...['fefeff'],
    ].map(quoted),
  },
  'other encodings': {
    accepted: [],
    refused: [
      Buffer.from([0x80]),
      Buffer.from([0x31, 0xff]),
      Buffer.from([0xff, 0x31]),
      Buffer.from('[1]\xa0', 'latin1'),
      Buffer.from('{"caf\xe9":1}', 'latin1'),
      Buffer.from('{"a":1}', 'utf16le'),
      Buffer.from('\ufeff"a"', 'utf16le'),
      Buffer.from('"a"', 'utf16le').swap16(),
      // UTF-32, UTF-7, and a compressed body.
      Buffer.from('220000006100000022000000', 'hex'),
      Buffer.from('+AHs-+AH0-'),
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
