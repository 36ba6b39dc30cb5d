// What comes after something malformed, and around it: who is told, who can still read, who is left alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProblemSlug } from '../../../src/http/problem.ts';
import { assertAlive, assertProblem, chunk, converse, exchange, requestText } from '../../support/raw.ts';
import { bare, HOST } from '../../support/raw-table.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const post = (headers: string, body = '') => `POST /notes HTTP/1.1\r\n${HOST}${headers}\r\n${body}`;
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body);

test('every answer to something malformed has a request id of its own, which is in the log', async (t) => {
  const service = await startService(t);
  const bytes = bare(`${HOST}x-request-id: mine\r\nnonsense\r\n`);
  const ids = [await exchange(service, bytes), await exchange(service, bytes)].map(
    ({ headers }) => headers['x-request-id'],
  );
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
    [bare('Host : a\r\n'), 'bad-request'],
    [bare(`${HOST}x: ${'y'.repeat(20_000)}`), 'request-header-fields-too-large'],
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
  const conversation = await converse(service, bare(`${HOST}Transfer-Encoding: chunked\r\n`));
  assert.equal((await conversation.answer()).status, 200);
  for (let round = 0; round < 5; round += 1) conversation.socket.write(Buffer.alloc(100_000, 'z'));
  await conversation.closed();
});

test('the answer to a HEAD is not lost if a body that nobody reads turns out malformed', async (t) => {
  const service = await startService(t);
  const { socket, answer, closed } = await converse(
    service,
    requestText('HEAD /notes', ['transfer-encoding: chunked']),
  );
  await until(() => service.log.some(({ message }) => message === 'request'));
  socket.write('zz\r\n');
  assert.equal((await answer('HEAD')).status, 200);
  await closed();
});

test('who stops in the middle of a request is told so', async (t) => {
  const service = await startService(t);
  for (const start of ['GET /no', bare(HOST).slice(0, -2), post('Content-Length: 9\r\n', '{'), chunked('5\r\nhe')]) {
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
    { bytes: bare(HOST), answered: true },
    { bytes: bare('Host : a\r\n'), answered: true },
    { bytes: post('Content-Length: 9\r\n', '{'), answered: false },
    { bytes: post('Expect: 100-continue\r\nContent-Length: 9\r\n'), answered: true },
    { bytes: chunked('zz\r\n'), answered: true },
    { bytes: chunked(chunk('x'.repeat(2_000_000))), answered: true },
    { bytes: `CONNECT b:443 HTTP/1.1\r\n${HOST}\r\n`, answered: true },
    { bytes: `${bare(HOST)}CONNECT b:443 HTTP/1.1\r\n${HOST}\r\n`, answered: true },
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

test('a connection stays when both sides mean it to', async (t) => {
  const service = await startService(t);
  const cases = [
    { sent: 'GET /notes HTTP/1.1\r\nHost: localhost\r\n\r\n', stays: true },
    { sent: requestText('GET /notes', ['connection: close']), stays: false },
    { sent: 'GET /notes HTTP/1.0\r\n\r\n', stays: false },
    { sent: 'GET /notes HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', stays: true },
    { sent: 'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n', stays: true },
    { sent: `GET /notes HTTP/1.1\r\n${HOST}Connection: x\r\n\r\n`, stays: true },
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
