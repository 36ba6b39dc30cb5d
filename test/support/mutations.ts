// Makes nearly valid requests: valid ones with random changes.
import type { Samples } from './samples.ts';

/** Pseudorandom choices that can be repeated. */
export interface Random {
  below(bound: number): number;
  pick<Item>(list: readonly Item[]): Item;
  oneIn(times: number): boolean;
}

/** Returns choices that depend on `seed` alone. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  // Mulberry32.
  function below(bound: number): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }
  return {
    below,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
    oneIn: (times) => below(times) === 0,
  };
}

const PIECES = [
  ...['\r\n', '\r', '\n', '\r\n\r\n', '\0', ' ', '\t', ':', ',', ';', '=', '/', '//', '?', '&'],
  ...['#', '*', '..', '%', '@', '%00', '%2f', '%zz', '%c3%a9', '%ff', '\xff', '\x7f', '\x80'],
  ...['\xc3\xa9', '\xed\xa0\x80', '\xef\xbb\xbf', '\xf0\x9f', '0', '1', '-1', '-', '+', '.', 'e'],
  ...['4.0', '1e400', '0x10', '9'.repeat(25), '9007199254740993', 'f', 'ffffffff', '"', '\\', '{'],
  ...['}', '[', ']', '\\u0000', '\\ud800', 'null', 'true', 'NaN', '"__proto__":', '{"a":', '[[[['],
  ...['//', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http://localhost', 'chunked', 'close', 'GET '],
  ...['POST ', 'HEAD ', '0\r\n\r\n'],
];

const LINES = [
  ...['Content-Length: 0', 'Content-Length: 5', 'Content-Length: 99999999', 'Content-Length: -1'],
  ...['Content-Length:', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked'],
  ...['Transfer-Encoding:', 'Transfer-Encoding: x', 'Connection: close', 'Connection: keep-alive'],
  ...['Connection: Upgrade\r\nUpgrade: h2c', 'Expect: 100-continue', 'Expect: x'],
  ...['Host: localhost', 'Host: b', 'Host: [::1]:80', 'Host:', 'Content-Type: text/plain'],
  ...['Content-Type:', 'Content-Type: application/x+json; charset="UTF-8"'],
  ...['Content-Encoding: gzip', 'Accept: application/json;q=0.1'],
  ...['Accept-Encoding: br;q=0.5, gzip', 'If-None-Match: *', 'If-None-Match: "x"'],
  ...['Range: bytes=0-5', 'TE: trailers', 'Origin: http://evil.example', 'Origin: null'],
  ...['Sec-Fetch-Site: cross-site', 'Access-Control-Request-Method: PUT'],
  ...['Authorization: Bearer x', 'Authorization: Basic', 'X-Api-Key: x'],
  ...['X-Forwarded-For: 1.2.3.4', 'Forwarded: for=x', 'X-Request-Id: mine', 'X-Request-Id: \xff'],
  ...['__proto__: x', 'constructor: x', 'Cookie: a=b', 'x', ': x', ' x: y'],
  ...['x: y\r\n'.repeat(120).trimEnd(), `x: ${'y'.repeat(17_000)}`, 'Trailer: x'],
  ...['Upgrade: websocket', 'Via: 1.1 a'],
];

const VALUES = [
  ...['4.0', '4e0', '"4"', '0', '-0', '-1', '17', '1001', '9007199254740993', '1e400', 'true'],
  ...['null', '[]', '{}', '[null]', '""', '" "', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"'],
  ...['"\xc3\xa9"', '"\xff"', `"${'x'.repeat(600)}"`, '"fail"', '{"__proto__":{"a":1}}'],
  ...['{"id":7}', `${'['.repeat(1_500)}${']'.repeat(1_500)}`, '[1,2,3]', '["a","fail","b"]'],
];

type Mutation = (text: string, random: Random, samples: readonly string[]) => string;

const MUTATIONS: readonly Mutation[] = [
  // Flip a bit.
  (text, random) => {
    const index = random.below(text.length);
    return replaced(
      text,
      index,
      1,
      String.fromCharCode((text.charCodeAt(index) ^ (1 << random.below(8))) & 0xff),
    );
  },
  // Insert a byte or a piece, or replace some bytes by it.
  (text, random) =>
    replaced(
      text,
      random.below(text.length),
      random.below(2),
      String.fromCharCode(random.below(256)),
    ),
  (text, random) => replaced(text, random.below(text.length), random.below(4), random.pick(PIECES)),
  // Remove some bytes, or repeat them.
  (text, random) => replaced(text, random.below(text.length), 1 + random.below(8), ''),
  (text, random) => {
    const index = random.below(text.length);
    return replaced(text, index, 0, text.slice(index, index + 1 + random.below(40)));
  },
  // Continue with a part of another request, append one, or cut the end off.
  (text, random, samples) => {
    const other = random.pick(samples);
    return text.slice(0, random.below(text.length)) + other.slice(random.below(other.length));
  },
  (text, random, samples) => text + random.pick(samples),
  (text, random) => text.slice(0, 1 + random.below(text.length)),
  // Headers: add one, remove one, change a value or a name.
  (text, random) => text.replace('\r\n', () => `\r\n${random.pick(LINES)}\r\n`),
  (text, random) => text.replace('\r\n\r\n', () => `\r\n${random.pick(LINES)}\r\n\r\n`),
  (text, random) => anyMatch(text, /\r\n[\w-]+: [^\r]*/g, random, () => ''),
  (text, random) => anyMatch(text, /(?<=\r\n[\w-]+: )[^\r]*/g, random, () => random.pick(PIECES)),
  (text, random) =>
    anyMatch(text, /(?<=\r\n)[\w-]+(?=: )/g, random, () => random.pick(LINES).split(':')[0] ?? ''),
  // The length, the target, the method.
  (text, random) =>
    text.replace(/(?<=Content-Length: )\d+/, (length) =>
      String(Number(length) + random.below(9) - 4),
    ),
  (text, random) =>
    anyMatch(text, /(?<=^\w+ \S*)[\w/](?=\S* )/g, random, (found) => encoded(found)),
  (text, random) =>
    anyMatch(text, /(?<=^\w+ \S*)\w+(?=\S* )/g, random, () =>
      random.pick([...PIECES, '1', '2', '99']),
    ),
  (text, random) =>
    text.replace(/^\w+/, () =>
      random.pick(['GET', 'PUT', 'POST', 'DELETE', 'HEAD', 'PATCH', 'TRACE']),
    ),
  // The JSON: a value, a name, a bracket.
  (text, random) =>
    anyMatch(text, /(?<=[[:,])(?:"[^"]*"|\d+)(?=[\],}])/g, random, () => random.pick(VALUES)),
  (text, random) =>
    anyMatch(text, /"\w+"(?=:)/g, random, () =>
      random.pick(['"title"', '"body"', '"__proto__"', '""']),
    ),
  (text, random) => anyMatch(text, /[[\]{}:,"]/g, random, () => random.pick(PIECES)),
];

/** Returns one of the samples after one to three changes, mostly with a correct length. */
export function mutated(random: Random, { bare, withBodies, demonstrations }: Samples): Buffer {
  const others = random.oneIn(2) ? withBodies : bare;
  let text = random.pick(random.oneIn(100) ? demonstrations : others);
  // Ids are never reused: once deleted, the records of the examples would be gone.
  text = text.replace(/\/1(?=[/? ])/g, () => `/${1 + random.below(300)}`);
  for (let rest = random.below(random.below(3) + 1); rest >= 0 && text !== ''; rest -= 1) {
    text = random.pick(MUTATIONS)(text, random, others);
  }
  return Buffer.from(random.oneIn(4) ? text : withRightLength(text), 'latin1');
}

function withRightLength(text: string): string {
  const end = text.indexOf('\r\n\r\n');
  return end === -1
    ? text
    : text.replace(/(?<=Content-Length: )\d+/, String(text.length - end - 4));
}

function replaced(text: string, index: number, length: number, by: string): string {
  return text.slice(0, index) + by + text.slice(index + length);
}

function anyMatch(
  text: string,
  pattern: RegExp,
  random: Random,
  by: (found: string) => string,
): string {
  const matches = [...text.matchAll(pattern)];
  if (matches.length === 0) return text;
  const { index, 0: found } = random.pick(matches);
  return replaced(text, index, found.length, by(found));
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
