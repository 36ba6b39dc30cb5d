// `Expect: 100-continue`: a client that asks first is told at once whether its body is wanted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem, chunk, converse, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const NOTE = '{"title":"a","body":"b"}';
const LENGTH = `content-length: ${NOTE.length}`;

const asking = (line: string, ...headers: string[]) => requestText(line, ['expect: 100-continue', ...headers]);

test('a body that will be read is asked for, and then read', async (t) => {
  const service = await startService(t);
  const { socket, answer } = await converse(service, asking('POST /notes', LENGTH));
  assert.deepEqual(await answer(), { status: 100, headers: {}, body: '' });
  socket.write(NOTE);
  assert.equal((await answer()).status, 201);
  socket.write(asking('PUT /notes/1', 'transfer-encoding: chunked'));
  assert.equal((await answer()).status, 100);
  socket.write(`${chunk(NOTE)}0\r\n\r\n`);
  assert.equal((await answer()).status, 200);
  socket.destroy();
});

test('the expectation is understood in any case of its letters', async (t) => {
  const service = await startService(t);
  const { socket, answer } = await converse(service, requestText('POST /notes', ['Expect: 100-Continue', LENGTH]));
  assert.equal((await answer()).status, 100);
  socket.destroy();
});

test('a request that will be refused is refused before its body is sent', async (t) => {
  const service = await startService(t);
  const cases = [
    [asking('POST /notes', 'content-length: 1048577'), 'payload-too-large'],
    [asking('POST /notes', LENGTH, 'content-type: text/plain'), 'unsupported-media-type'],
    [asking('POST /notes', LENGTH, 'content-encoding: gzip'), 'unsupported-media-type'],
    [asking('POST /nothing', LENGTH), 'not-found'],
    [asking('PATCH /notes', LENGTH), 'method-not-allowed'],
    [asking('POST /notes', LENGTH, 'host: b'), 'bad-request'],
    [requestText('POST /notes', ['expect: foo', LENGTH]), 'expectation-failed'],
    [requestText('POST /notes', ['expect: 100-continue, foo', LENGTH]), 'expectation-failed'],
  ] as const;
  for (const [sent, slug] of cases) {
    const { socket, answer } = await converse(service, sent);
    assertProblem(await answer(), slug);
    socket.destroy();
  }
});

test('a chunked body that turns out too large is refused after all', async (t) => {
  const service = await startService(t);
  const { socket, answer, closed } = await converse(service, asking('POST /notes', 'transfer-encoding: chunked'));
  assert.equal((await answer()).status, 100);
  socket.write(chunk('x'.repeat(1_048_577)));
  assertProblem(await answer(), 'payload-too-large');
  await closed();
});

test('a body that nobody reads is not asked for', async (t) => {
  const service = await startService(t);
  for (const [line, status] of [
    ['GET /notes', 200],
    ['OPTIONS /notes', 204],
  ] as const) {
    const { answer, closed } = await converse(service, asking(line, LENGTH));
    const { status: answered, headers } = await answer();
    assert.deepEqual([answered, headers.connection], [status, 'close'], line);
    await closed();
  }
});

test('who sends its body without waiting is served all the same', async (t) => {
  const service = await startService(t);
  const { answer, closed } = await converse(service, asking('POST /notes', LENGTH, 'connection: close') + NOTE);
  assert.equal((await answer()).status, 100);
  assert.equal((await answer()).status, 201);
  await closed();
});

test('who sends its body without waiting can read a refusal', async (t) => {
  const size = 10_000_000;
  const service = await startService(t, { bodyLimitBytes: size });
  for (const [line, type, length, slug] of [
    ['POST /notes', 'text/plain', size, 'unsupported-media-type'],
    ['POST /nothing', 'application/json', size, 'not-found'],
    ['POST /notes', 'application/json', size + 1, 'payload-too-large'],
  ] as const) {
    const headers = [`content-type: ${type}`, `content-length: ${length}`];
    const { answer, closed } = await converse(service, asking(line, ...headers), Buffer.alloc(length, 'x'));
    assertProblem(await answer(), slug);
    await closed();
  }
});

test('an expectation in HTTP/1.0 is not one', async (t) => {
  const service = await startService(t);
  const sent = `POST /notes HTTP/1.0\r\nexpect: 100-continue\r\n${LENGTH}\r\n\r\n${NOTE}`;
  const { answer, closed } = await converse(service, sent);
  assert.equal((await answer()).status, 201);
  await closed();
});
