// Malformed requests: which fault is answered, what follows them, and whether the service keeps
// working.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import { setLimits } from '../../support/overload.ts';
import {
  assertAlive,
  assertProblem,
  bare,
  CLOSE,
  chunk,
  chunkedText,
  converse,
  exchange,
  HOST,
  requestText,
} from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const CONNECT = `CONNECT b:443 HTTP/1.1\r\n${HOST}\r\n`;
const post = (headers: string, body = '') => `POST /notes HTTP/1.1\r\n${HOST}${headers}\r\n${body}`;
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body);

// On a busy machine, a client may take long to send all that it sends.
setLimits({ after }, HTTP_LIMITS, { drainMs: 30_000 });
const service = await startService({ after });

test('malformed bodies: no second answer after the first', async () => {
  const conversation = await converse(service, bare(`${HOST}Transfer-Encoding: chunked\r\n`));
  assert.equal((await conversation.answer()).status, 200);
  for (let round = 0; round < 5; round += 1) conversation.socket.write(Buffer.alloc(100_000, 'z'));
  await conversation.closed();
});

test('malformed bodies: the answer to HEAD is not lost', async () => {
  const answered = () => service.log.filter(({ fields }) => fields.method === 'HEAD').length;
  const { socket, answer, closed } = await converse(
    service,
    requestText('HEAD /notes', ['transfer-encoding: chunked']),
  );
  await until(() => answered() === 1);
  socket.write('zz\r\n');
  assert.equal((await answer('HEAD')).status, 200);
  await closed();
});

test('resets: harmless at any point of a request', async () => {
  const starts: { bytes: string; answered: boolean }[] = [
    { bytes: '', answered: false },
    { bytes: 'GET /no', answered: false },
    { bytes: bare(HOST), answered: true },
    { bytes: bare('Host : a\r\n'), answered: true },
    { bytes: post('Content-Length: 9\r\n', '{'), answered: false },
    { bytes: post('Expect: 100-continue\r\nContent-Length: 9\r\n'), answered: true },
    { bytes: chunked('zz\r\n'), answered: true },
    { bytes: chunked(chunk('x'.repeat(2_000_000))), answered: true },
    { bytes: CONNECT, answered: true },
    { bytes: `${bare(HOST)}${CONNECT}`, answered: true },
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

test('connections: kept open when client and service agree', async () => {
  const cases = [
    { sent: bare(HOST), stays: true },
    { sent: bare(HOST + CLOSE), stays: false },
    { sent: bare('', '/notes', 'HTTP/1.0'), stays: false },
    { sent: bare('Connection: keep-alive\r\n', '/notes', 'HTTP/1.0'), stays: true },
    { sent: bare(HOST, '/nothing'), stays: true },
    { sent: bare(`${HOST}Connection: x\r\n`), stays: true },
  ];
  for (const { sent, stays } of cases) {
    const { socket, answer, closed } = await converse(service, sent);
    assert.equal((await answer()).headers.connection, stays ? 'keep-alive' : 'close', sent);
    if (stays) {
      socket.write(sent);
      await answer();
      socket.destroy();
    } else await closed();
  }
});

test('malformed: a target that is not percent-encoded is told how curl does it', async () => {
  const curl = "must be percent-encoded (with curl: --get --data-urlencode 'q=TEXT').";
  const beyondAscii = `A character of the request target that is not printable ASCII ${curl}`;
  const space = `HTTP/1.1 must follow the request target. A space in the target ${curl}`;
  for (const [target, expected] of [
    ['/notes?q=東', beyondAscii],
    ['/東', beyondAscii],
    ['http://localhost/notes?q=東', beyondAscii],
    ['/notes?q=\x7f', beyondAscii],
    ['/notes?q=a b', space],
    ['/notes?q=I see', space],
    ['/no tes', space],
    ['/notes?q=a#b', `A # in the request target ${curl}`],
    ['/notes?q=100%', 'The percent-encoding of the query is not valid; a % itself is %25.'],
    ['/100%', 'The percent-encoding of the path is not valid; a % itself is %25.'],
  ] as const) {
    const answer = await exchange(service, bare(HOST + CLOSE, target));
    assert.equal(assertProblem(answer, 'bad-request').detail, expected, target);
  }
});

test('fault order: each correction reveals the next fault', async (t) => {
  const strict = await startService(t, { bodyLimitBytes: 1_000 });
  const [long, noJson, wrong, right] = [
    'x'.repeat(1_001),
    '{',
    '{"title":1}',
    '{"title":"a","body":"b"}',
  ];
  const text = ['content-type: text/xml'];
  const steps = [
    {
      slug: 'request-header-fields-too-large',
      sent: requestText('POST /nothing/x#', [`x: ${'y'.repeat(17_000)}`], long),
    },
    { slug: 'bad-request', sent: requestText('POST /nothing/x#', [...text, 'host: b'], long) },
    { slug: 'bad-request', sent: requestText('POST /nothing/x#', text, long) },
    { slug: 'not-found', sent: requestText('POST /nothing/x', text, long) },
    { slug: 'method-not-allowed', sent: requestText('POST /notes/x', text, long) },
    { slug: 'payload-too-large', sent: requestText('PUT /notes/x', text, long) },
    { slug: 'unsupported-media-type', sent: chunkedText('PUT /notes/x', text, long) },
    { slug: 'payload-too-large', sent: chunkedText('PUT /notes/x', [], long) },
    { slug: 'bad-request', sent: requestText('PUT /notes/x', [], noJson) },
    { slug: 'validation-failed', sent: requestText('PUT /notes/x', [], wrong) },
    { slug: 'validation-failed', sent: requestText('PUT /notes/1', [], wrong) },
    { slug: 'validation-failed', sent: requestText('PUT /notes/x', [], right) },
    { slug: 'not-found', sent: requestText('PUT /notes/1', [], right) },
  ] as const;
  for (const { slug, sent } of steps) {
    const { socket, answer } = await converse(strict, sent);
    const { detail } = assertProblem(await answer(), slug);
    socket.destroy();
    if (sent.includes('/notes/1 ') && slug === 'not-found')
      assert.equal(detail, 'Note with ID 1 was not found.');
  }
});
