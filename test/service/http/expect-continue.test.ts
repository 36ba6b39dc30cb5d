// `Expect: 100-continue`: a client that asks first learns at once whether to send its body.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem, chunk, converse, NOTE, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const LENGTH = `content-length: ${NOTE.length}`;

const asking = (line: string, ...headers: string[]) =>
  requestText(line, ['expect: 100-continue', ...headers]);

const service = await startService({ after });

test('100-continue: sent before a body is read', async () => {
  const { socket, answer } = await converse(service, asking('POST /notes', LENGTH));
  assert.deepEqual(await answer(), { status: 100, headers: {}, body: '' });
  socket.write(NOTE);
  const { status, headers } = await answer();
  assert.equal(status, 201);
  socket.write(asking(`PUT ${headers.location}`, 'transfer-encoding: chunked'));
  assert.equal((await answer()).status, 100);
  socket.write(`${chunk(NOTE)}0\r\n\r\n`);
  assert.equal((await answer()).status, 200);
  socket.destroy();
});

test('100-continue: a refusal comes before the body', async () => {
  const cases = [
    [asking('POST /notes', 'content-length: 1048577'), 'payload-too-large'],
    [asking('POST /notes', LENGTH, 'content-type: text/xml'), 'unsupported-media-type'],
    [asking('POST /notes', LENGTH, 'content-encoding: gzip'), 'unsupported-media-type'],
    [asking('POST /nothing', LENGTH), 'not-found'],
    [asking('PATCH /notes', LENGTH), 'method-not-allowed'],
    [asking('POST /notes', LENGTH, 'host: b'), 'bad-request'],
  ] as const;
  for (const [sent, slug] of cases) {
    const { socket, answer } = await converse(service, sent);
    assertProblem(await answer(), slug);
    socket.destroy();
  }
});

test('100-continue: a chunked body over the limit is 413', async () => {
  const { socket, answer, closed } = await converse(
    service,
    asking('POST /notes', 'transfer-encoding: chunked'),
  );
  assert.equal((await answer()).status, 100);
  socket.write(chunk('x'.repeat(1_048_577)));
  assertProblem(await answer(), 'payload-too-large');
  await closed();
});

test('100-continue: not sent for an unused body', async () => {
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

test('100-continue: clients may send without waiting', async () => {
  const { answer, closed } = await converse(
    service,
    asking('POST /notes', LENGTH, 'connection: close') + NOTE,
  );
  assert.equal((await answer()).status, 100);
  assert.equal((await answer()).status, 201);
  await closed();
});

test('100-continue: ignored in HTTP/1.0', async () => {
  const sent = `POST /notes HTTP/1.0\r\nexpect: 100-continue\r\n${LENGTH}\r\n\r\n${NOTE}`;
  const { answer, closed } = await converse(service, sent);
  assert.equal((await answer()).status, 201);
  await closed();
});
