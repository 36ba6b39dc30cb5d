// Malformed and odd requests, byte for byte. Whatever is malformed is answered by a problem that its sender can read,
// and nobody else notices.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ProblemSlug, problemTypes } from '../../src/http/problem.ts';
import { startService } from './harness.ts';
import { ask, assertAlive, assertProblem, chunk, converse } from './raw.ts';

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const NOTE = '{"title":"a","body":"b"}';
const HOST = 'Host: localhost\r\n';
const CLOSE = 'Connection: close\r\n';

const get = (headers: string, target = '/notes', version = 'HTTP/1.1') => `GET ${target} ${version}\r\n${headers}\r\n`;
const post = (headers: string, body = '') => `POST /notes HTTP/1.1\r\n${HOST}${headers}\r\n${body}`;
const chunked = (body: string, headers = '') => post(`Transfer-Encoding: chunked\r\n${headers}`, body);

/** What is sent, and the problems that may answer it: more than one where the parsers of Node's versions differ. */
const MALFORMED: Readonly<Record<string, readonly [bytes: string | Buffer, ...answers: ProblemSlug[]]>> = {
  'two host lines': [get(`${HOST}${HOST}${CLOSE}`), 'bad-request'],
  'two different host lines': [get(`${HOST}hOST: b\r\n${CLOSE}`), 'bad-request'],
  'no host in HTTP/1.1': [get(CLOSE), 'bad-request'],
  'a host with a path': [get(`Host: a/b\r\n${CLOSE}`), 'bad-request'],
  'a host with a user': [get(`Host: u@a\r\n${CLOSE}`), 'bad-request'],
  'a list of hosts': [get(`Host: a, b c\r\n${CLOSE}`), 'bad-request'],
  'a host with a port that is no number': [get(`Host: a:b\r\n${CLOSE}`), 'bad-request'],
  'lines that end with a line feed alone': [`GET /notes HTTP/1.1\nHost: localhost\n${CLOSE}\n`, 'bad-request'],
  'a line that ends with a carriage return alone': [`GET /notes HTTP/1.1\r${HOST}\r\n`, 'bad-request'],
  'a header line that ends with a carriage return alone': [get(`${HOST}x: 1\ry: 2\r\n`), 'bad-request'],
  'a space before the colon': [get('Host : a\r\n'), 'bad-request'],
  'a folded header': [get(`${HOST}x: 1\r\n 2\r\n`), 'bad-request'],
  'a header without a colon': [get(`${HOST}nonsense\r\n`), 'bad-request'],
  'a header without a name': [get(`${HOST}: x\r\n`), 'bad-request'],
  'a space in front of the first header': [get(` ${HOST}`), 'bad-request'],
  'a NUL in a header': [get(`${HOST}x: a\0b\r\n`), 'bad-request'],
  'a control character in a header': [get(`${HOST}x: a\x01b\r\n`), 'bad-request'],
  'a header name that is not ASCII': [get(`${HOST}é: 1\r\n`), 'bad-request'],
  'a length and chunks': [chunked('0\r\n\r\n', 'Content-Length: 5\r\n'), 'bad-request'],
  'chunks and a length': [post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 'bad-request'],
  'two lengths that differ': [post('Content-Length: 5\r\nContent-Length: 6\r\n', 'hello!'), 'bad-request'],
  'two lengths that agree': [post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'), 'bad-request'],
  'a list of lengths': [post('Content-Length: 5, 5\r\n', 'hello'), 'bad-request'],
  'a negative length': [post('Content-Length: -1\r\n'), 'bad-request'],
  'a length with a sign': [post('Content-Length: +5\r\n', 'hello'), 'bad-request'],
  'a length in hexadecimal': [post('Content-Length: 0x5\r\n', 'hello'), 'bad-request'],
  'a length with a fraction': [post('Content-Length: 5.0\r\n', 'hello'), 'bad-request'],
  'an empty length': [post('Content-Length: \r\n'), 'bad-request'],
  'a length beyond all numbers': [post(`Content-Length: ${'9'.repeat(30)}\r\n`), 'bad-request'],
  'a chunk size that is none': [chunked('zz\r\n'), 'bad-request'],
  'a negative chunk size': [chunked('-1\r\n'), 'bad-request'],
  'a chunk size in the way of C': [chunked('0x5\r\nhello\r\n0\r\n\r\n'), 'bad-request'],
  'a chunk size beyond all numbers': [chunked(`${'f'.repeat(20)}\r\n`), 'bad-request'],
  'a chunk that is longer than it says': [chunked('2\r\nhello\r\n0\r\n\r\n'), 'bad-request'],
  'chunks with line feeds alone': [chunked('5\nhello\n0\n\n'), 'bad-request'],
  'a bad chunk that nobody reads': [
    `GET /notes HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    'bad-request',
  ],
  'a chunk extension without end': [chunked(`5;${'x'.repeat(20_000)}`), 'bad-request', 'payload-too-large'],
  'trailers without end': [chunked(`0\r\nx: ${'y'.repeat(20_000)}`), 'request-header-fields-too-large'],
  'a coding that does not end in chunked': [post('Transfer-Encoding: gzip\r\n', 'hello'), 'bad-request'],
  'chunked, and then another coding': [post('Transfer-Encoding: chunked, gzip\r\n', 'hello'), 'bad-request'],
  'identity as a coding': [post('Transfer-Encoding: identity\r\n', 'hello'), 'bad-request'],
  'another coding before chunked': [
    post(`Transfer-Encoding: gzip, chunked\r\n${CLOSE}`, '0\r\n\r\n'),
    'not-implemented',
  ],
  'chunked twice': [
    post(`Transfer-Encoding: chunked, chunked\r\n${CLOSE}`, '0\r\n\r\n'),
    'not-implemented',
    'bad-request',
  ],
  'chunks in HTTP/1.0': [get(`${HOST}Transfer-Encoding: chunked\r\n`, '/notes', 'HTTP/1.0'), 'bad-request'],
  'two host lines, thousands of lines apart': [get(`${HOST}${'x:\r\n'.repeat(2_500)}${HOST}${CLOSE}`), 'bad-request'],
  'HTTP/2.0 on the request line': [get(HOST, '/notes', 'HTTP/2.0'), 'http-version-not-supported'],
  'HTTP/0.9 on the request line': [get(HOST, '/notes', 'HTTP/0.9'), 'http-version-not-supported', 'bad-request'],
  'HTTP/1.2': [get(HOST, '/notes', 'HTTP/1.2'), 'bad-request', 'http-version-not-supported'],
  'HTTP/3': [get(HOST, '/notes', 'HTTP/3'), 'bad-request'],
  'http in small letters': [get(HOST, '/notes', 'http/1.1'), 'bad-request'],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'bad-request'],
  'a request of HTTP/0.9': ['GET /notes\r\n\r\n', 'http-version-not-supported', 'bad-request'],
  'the greeting of TLS': [Buffer.from('16030100ea010000e60303', 'hex'), 'bad-request'],
  'a server that speaks first': ['SSH-2.0-OpenSSH_9.7\r\n', 'bad-request'],
  'an unknown method': [`NONSENSE /notes HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'a method in small letters': [`get /notes HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'no method': [` /notes HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'a space in the target': [get(`${HOST}${CLOSE}`, '/no tes'), 'bad-request'],
  'a NUL in the target': [get(HOST, '/no\0tes'), 'bad-request'],
  'a target that is no path': [get(HOST, 'notes'), 'bad-request'],
  'an asterisk where it means nothing': [get(`${HOST}${CLOSE}`, '*'), 'bad-request'],
  'a fragment': [get(`${HOST}${CLOSE}`, '/notes#top'), 'bad-request'],
  'a percent sign without digits': [get(`${HOST}${CLOSE}`, '/%zz'), 'bad-request'],
  'percent-encoded bytes that are not UTF-8': [get(`${HOST}${CLOSE}`, '/%ff'), 'bad-request'],
  'an absolute target without a host': [get(`${HOST}${CLOSE}`, 'http:///notes'), 'bad-request'],
  'two slashes in front': [get(`${HOST}${CLOSE}`, '//evil/x'), 'not-found'],
  '17 KB of headers': [get(`${HOST}x: ${'y'.repeat(17_000)}\r\n`), 'request-header-fields-too-large'],
  '17 KB of headers on many lines': [get(HOST + 'name: value\r\n'.repeat(2_000)), 'request-header-fields-too-large'],
  '17 KB of target': [get(HOST, `/${'x'.repeat(17_000)}`), 'request-header-fields-too-large'],
  '17 KB of header name': [get(`${HOST}${'y'.repeat(17_000)}: 1\r\n`), 'request-header-fields-too-large'],
  'an endless header': [get(`${HOST}x: ${'y'.repeat(1_000_000)}`), 'request-header-fields-too-large'],
  'an expectation that nobody knows': [post(`Expect: foo\r\n${CLOSE}`), 'expectation-failed'],
  'an expectation beside the known one': [
    post(`Expect: 100-continue, foo\r\nContent-Length: 5\r\n${CLOSE}`),
    'expectation-failed',
  ],
  CONNECT: [`CONNECT b:443 HTTP/1.1\r\n${HOST}\r\n`, 'method-not-allowed'],
  'CONNECT with bytes for the other side': [`CONNECT b:443 HTTP/1.1\r\n${HOST}\r\nhello`, 'method-not-allowed'],
  TRACE: [`TRACE /notes HTTP/1.1\r\n${HOST}${CLOSE}\r\n`, 'method-not-allowed'],
  PATCH: [`PATCH /notes/1 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`, 'method-not-allowed'],
  PROPFIND: [`PROPFIND /notes HTTP/1.1\r\n${HOST}${CLOSE}\r\n`, 'method-not-allowed'],
  QUERY: [`QUERY /notes HTTP/1.1\r\n${HOST}${CLOSE}\r\n`, 'method-not-allowed'],
};

/** What is sent, and the status that answers it: odd, but right. */
const ODD: Readonly<Record<string, readonly [bytes: string | Buffer, status: number]>> = {
  'no host in HTTP/1.0': ['GET /notes HTTP/1.0\r\n\r\n', 200],
  'an expectation in HTTP/1.0': [`GET /notes HTTP/1.0\r\n${HOST}Expect: foo\r\n\r\n`, 200],
  'an empty host': [get(`Host:\r\n${CLOSE}`), 200],
  'a host with a port': [get(`Host: localhost:8080\r\n${CLOSE}`), 200],
  'an IPv6 host': [get(`Host: [::1]:80\r\n${CLOSE}`), 200],
  'an absolute target': [get(`${HOST}${CLOSE}`, 'http://b/notes?limit=1'), 200],
  'an absolute target without a path': [get(`${HOST}${CLOSE}`, 'http://b'), 307],
  'an upgrade to a WebSocket': [get(`${HOST}Connection: Upgrade, close\r\nUpgrade: websocket\r\n`), 200],
  'an upgrade to HTTP/2': [get(`${HOST}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n`), 200],
  'headers with the names of inherited members': [
    get(`${HOST}__proto__: x\r\nconstructor: y\r\ntoString: z\r\nhasOwnProperty: 1\r\n${CLOSE}`),
    200,
  ],
  'empty lines before the request': [`\r\n\r\n${get(`${HOST}${CLOSE}`)}`, 200],
  'blanks around a header': [get(`Host: \t localhost \t \r\n${CLOSE}`), 200],
  'bytes beyond ASCII in a header': [Buffer.from(get(`${HOST}x: \xe9\xff\r\n${CLOSE}`), 'latin1'), 200],
  'a thousand headers': [get(`${HOST}${'x: y\r\n'.repeat(1_000)}${CLOSE}`), 200],
  'a percent-encoded path': [get(`${HOST}${CLOSE}`, '/n%6Ftes'), 200],
  'a broken percent-encoding in the query': [get(`${HOST}${CLOSE}`, '/notes?x=%zz&%'), 200],
  'dots in the path': [get(`${HOST}${CLOSE}`, '/tags/../notes'), 404],
  'a GET with a body': [get(`${HOST}${CLOSE}Content-Length: 5\r\n`).concat('hello'), 200],
  'a GET with a chunked body': [
    get(`${HOST}${CLOSE}Transfer-Encoding: chunked\r\n`).concat(chunk('hello'), '0\r\n\r\n'),
    200,
  ],
  'a DELETE with a body': [`DELETE /notes/7 HTTP/1.1\r\n${HOST}${CLOSE}Content-Length: 5\r\n\r\nhello`, 404],
  'a length with zeros in front': [post(`${CLOSE}Content-Length: 0024\r\n`, NOTE), 201],
  'chunked in capitals': [chunked(`${chunk(NOTE)}0\r\n\r\n`, CLOSE).replace('chunked', 'CHUNKED'), 201],
  'chunks of one byte, with zeros in front': [
    chunked(
      [...NOTE]
        .map((byte) => `0001\r\n${byte}\r\n`)
        .join('')
        .concat('0\r\n\r\n'),
      CLOSE,
    ),
    201,
  ],
  'chunk extensions and trailers': [chunked(`18;a=b;c="d"\r\n${NOTE}\r\n0;e\r\nx: y\r\nHost: b\r\n\r\n`, CLOSE), 201],
  'OPTIONS *': [`OPTIONS * HTTP/1.1\r\n${HOST}${CLOSE}\r\n`, 204],
};

test('a malformed request is answered by a problem, closes its own connection, and harms nobody', async (t) => {
  const service = await startService(t);
  for (const [name, [bytes, ...allowed]] of Object.entries(MALFORMED)) {
    await t.test(name, async () => {
      const answer = await ask(service, bytes);
      const slug = allowed.find((each) => problemTypes[each].status === answer.status);
      assert.ok(slug, `${answer.status} ${answer.body}`);
      assertProblem(answer, slug);
      assert.equal(answer.headers.connection?.toLowerCase(), 'close');
      if (slug === 'method-not-allowed') assert.match(answer.headers.allow ?? '', /GET/);
      await assertAlive(service);
    });
  }
  assert.equal((await service.request('GET', '/notes')).json.total, 0);
});

test('an odd request that is right by the letter is answered like any other', async (t) => {
  const service = await startService(t);
  for (const [name, [bytes, status]] of Object.entries(ODD)) {
    await t.test(name, async () => {
      const answer = await ask(service, bytes);
      assert.equal(answer.status, status, answer.body);
    });
  }
});

test('every answer to something malformed has a request id of its own, which is in the log', async (t) => {
  const service = await startService(t);
  const bytes = get(`${HOST}x-request-id: mine\r\nnonsense\r\n`);
  const ids = [await ask(service, bytes), await ask(service, bytes)].map(({ headers }) => headers['x-request-id']);
  assert.equal(new Set([...ids, 'mine']).size, 3);
  const refused = service.log.filter(({ message }) => message === 'refused');
  assert.deepEqual(
    refused.map(({ fields }) => [fields.request_id, fields.status]),
    ids.map((id) => [id, 400]),
  );
});

test('who goes on sending after something malformed can still read the answer', async (t) => {
  const service = await startService(t);
  const more = Buffer.alloc(1_000_000, 'x');
  const starts: [string, ProblemSlug][] = [
    [get('Host : a\r\n'), 'bad-request'],
    [get(`${HOST}x: ${'y'.repeat(20_000)}`), 'request-header-fields-too-large'],
    [chunked('zz\r\n'), 'bad-request'],
    [`CONNECT b:443 HTTP/1.1\r\n${HOST}\r\n`, 'method-not-allowed'],
  ];
  for (const [start, slug] of starts) {
    const conversation = await converse(service, start);
    // Each packet of it makes Node's parser report the error again.
    for (let round = 0; round < 5; round += 1) conversation.socket.write(more);
    assertProblem(await conversation.answer(), slug);
    await conversation.closed();
  }
});

test('who goes on sending rubbish in a body after its answer keeps the answer, and gets no second one', async (t) => {
  const service = await startService(t);
  const conversation = await converse(service, get(`${HOST}Transfer-Encoding: chunked\r\n`));
  assert.equal((await conversation.answer()).status, 200);
  for (let round = 0; round < 5; round += 1) conversation.socket.write(Buffer.alloc(100_000, 'z'));
  await conversation.closed();
});

test('who stops in the middle of a request is told so', async (t) => {
  const service = await startService(t);
  for (const start of ['GET /no', get(HOST).slice(0, -2), post('Content-Length: 9\r\n', '{'), chunked('5\r\nhe')]) {
    const conversation = await converse(service, start);
    conversation.socket.end();
    assertProblem(await conversation.answer(), 'bad-request');
    await conversation.closed();
  }
});

test('who resets the connection at any point harms nobody', async (t) => {
  const service = await startService(t);
  const starts: { bytes: string; answered: boolean }[] = [
    { bytes: '', answered: false },
    { bytes: 'GET /no', answered: false },
    { bytes: get(HOST), answered: true },
    { bytes: get('Host : a\r\n'), answered: true },
    { bytes: post('Content-Length: 9\r\n', '{'), answered: false },
    { bytes: post('Expect: 100-continue\r\nContent-Length: 9\r\n'), answered: true },
    { bytes: chunked('zz\r\n'), answered: true },
    { bytes: chunked(chunk('x'.repeat(2_000_000))), answered: true },
    { bytes: `CONNECT b:443 HTTP/1.1\r\n${HOST}\r\n`, answered: true },
    { bytes: `${get(HOST)}CONNECT b:443 HTTP/1.1\r\n${HOST}\r\n`, answered: true },
  ];
  for (const { bytes, answered } of starts) {
    const early = await converse(service, bytes);
    early.socket.resetAndDestroy();
    const late = await converse(service, bytes);
    if (answered) await late.answer();
    late.socket.resetAndDestroy();
    await assertAlive(service);
  }
});

test('damaged requests get whole answers, and nothing worse than 501 and 505', async (t) => {
  t.diagnostic(`SEED=${SEED}`);
  const service = await startService(t);
  const requests = [
    get(HOST),
    post('Content-Length: 24\r\n', NOTE),
    chunked(`${chunk(NOTE)}0\r\n\r\n`),
    get(HOST, '/docs'),
  ];
  const damage = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.nat(4),
    insert: fc.oneof(
      fc.constantFrom(
        '\r\n',
        '\r',
        '\n',
        '\0',
        ' ',
        ':',
        ',',
        '\t',
        '0',
        'f',
        'HTTP/1.1',
        'Host: b\r\n',
        '%',
        '?',
        '/',
      ),
      fc.string({ unit: 'binary-ascii', maxLength: 3 }),
    ),
  });
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom(...requests), { minLength: 1, maxLength: 3 }),
    fc.array(damage, { minLength: 1, maxLength: 3 }),
    async (parts, damages) => {
      const bytes = damages.reduce((text, { at, cut, insert }) => {
        const index = Math.floor(at * text.length);
        return text.slice(0, index) + insert + text.slice(index + cut);
      }, parts.join(''));
      const { socket, ...conversation } = await converse(service, bytes);
      socket.end();
      for (const { status } of await conversation.rest()) {
        assert.ok(status < 500 || status === 501 || status === 505, `${status}`);
      }
    },
  );
  await fc.assert(property, { seed: SEED, numRuns: 500 });
  await assertAlive(service);
});
