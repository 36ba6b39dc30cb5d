// The limit on bodies, to the byte; and whoever sends too much can always read why, even while it keeps sending.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCommand, stop } from '../../support/command.ts';
import { assertAlive, assertProblem, chunk, chunkedText, converse, exchange, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const LIMIT = 1_000;

/** A note of exactly `length` bytes. */
function note(length: number): string {
  const text = JSON.stringify({ title: 'é', body: '' });
  return text.replace('""', `"${'b'.repeat(length - Buffer.byteLength(text))}"`);
}

const head = (line: string, ...headers: string[]) => requestText(line, headers);

test('a body of exactly the limit is accepted, and one byte more is not', async (t) => {
  const service = await startService(t, { bodyLimitBytes: LIMIT });
  assert.equal((await service.request('POST', '/notes', { body: note(LIMIT) })).status, 201);
  const refused = await service.request('POST', '/notes', { body: note(LIMIT + 1) });
  assert.equal(refused.status, 413);
  assert.equal(refused.json.detail, 'The body is larger than 1000 bytes.');
  assert.equal(refused.headers.connection, 'close');
  assert.equal((await service.request('PUT', '/notes/1', { body: note(LIMIT) })).status, 200);
  assert.equal((await service.request('PUT', '/notes/1', { body: note(LIMIT + 1) })).status, 413);
  assert.equal((await service.request('GET', '/notes')).json.total, 1);
});

test('the limit is the same for a chunked body, however it is cut', async (t) => {
  const service = await startService(t, { bodyLimitBytes: LIMIT });
  for (const size of [1, 7, LIMIT]) {
    const cut = (text: string) => text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
    const { answer, closed } = await converse(
      service,
      chunkedText('POST /notes', [], ...cut(note(LIMIT))),
      chunkedText('POST /notes', [], ...cut(note(LIMIT + 1))),
    );
    assert.equal((await answer()).status, 201);
    const refusal = await answer();
    assertProblem(refusal, 'payload-too-large');
    assert.equal(refusal.headers.connection, 'close');
    await closed();
  }
});

test('a body in a million chunks of one byte takes little more memory than its bytes', async (t) => {
  // Kept apart, its chunks would take several hundred MB of heap.
  const command = startCommand(t, ['--port', '0'], { node: ['--max-old-space-size=64'] });
  const service = { port: Number(new URL(await command.ready()).port) };
  const body = JSON.stringify({ title: 'a', body: 'b' }).padEnd(1_000_000);
  const start = head('POST /notes', 'transfer-encoding: chunked', 'connection: close');
  assert.equal((await exchange(service, start, [...body].map(chunk).join(''), '0\r\n\r\n')).status, 201);
  assert.equal((await stop(command)).status, 0);
});

test('the limit is a mebibyte unless it is set', async (t) => {
  const service = await startService(t);
  const body = JSON.stringify({ title: 'a', body: 'b' });
  assert.equal((await service.request('POST', '/notes', { body: body.padEnd(1_048_576) })).status, 201);
  assert.equal((await service.request('POST', '/notes', { body: body.padEnd(1_048_577) })).status, 413);
});

test('a declared length over the limit is refused before anything is sent', async (t) => {
  const service = await startService(t, { bodyLimitBytes: LIMIT });
  for (const line of ['POST /notes', 'PUT /notes/1', 'DELETE /notes/1', 'GET /notes', 'POST /counter/increment']) {
    const { socket, answer } = await converse(service, head(line, 'content-length: 1001'));
    assertProblem(await answer(), 'payload-too-large');
    socket.destroy();
  }
});

test('a chunked body is refused as soon as it is over the limit, without waiting for its end', async (t) => {
  const service = await startService(t, { bodyLimitBytes: LIMIT });
  const { socket, answer, closed } = await converse(service, head('POST /notes', 'transfer-encoding: chunked'));
  socket.write(chunk('x'.repeat(LIMIT)));
  socket.write(chunk('x'));
  const refusal = await answer();
  assertProblem(refusal, 'payload-too-large');
  assert.equal(refusal.headers.connection, 'close');
  await closed();
});

test('who sends all of a body that is refused can read the answer', async (t) => {
  const service = await startService(t, { bodyLimitBytes: LIMIT });
  const body = 'x'.repeat(10_000_000);
  const cases = [
    [requestText('POST /notes', [], body), 'payload-too-large'],
    [requestText('GET /notes', [], body), 'payload-too-large'],
    [requestText('POST /notes', ['content-type: text/plain'], body), 'unsupported-media-type'],
    [requestText('POST /nothing', [], body), 'not-found'],
    [requestText('PATCH /notes', [], body), 'method-not-allowed'],
    [chunkedText('POST /notes', [], body), 'payload-too-large'],
    [chunkedText('POST /nothing', [], body), 'not-found'],
  ] as const;
  for (const [sent, slug] of cases) {
    const { answer, closed } = await converse(service, sent);
    assertProblem(await answer(), slug);
    await closed();
  }
});

test('who keeps sending without end can read the answer, and is cut off', async (t) => {
  const service = await startService(t, { bodyLimitBytes: LIMIT });
  for (const [line, header, status] of [
    ['POST /notes', 'content-length: 1000000000000', 413],
    ['POST /notes', 'transfer-encoding: chunked', 413],
    ['POST /nothing', 'transfer-encoding: chunked', 404],
    ['GET /notes', 'transfer-encoding: chunked', 200],
  ] as const) {
    const { socket, answer } = await converse(service, head(line, header));
    const more = chunk('x'.repeat(100_000));
    socket.on('drain', send);
    function send(): void {
      while (socket.writable && socket.write(more));
    }
    send();
    const { status: answered, headers } = await answer();
    assert.deepEqual([answered, headers.connection], [status, 'close'], line);
    await new Promise((resolve) => socket.once('close', resolve));
    await assertAlive(service);
  }
});

test('a body that nobody wants is not waited for, unless something is to be changed', async (t) => {
  const service = await startService(t);
  for (const [line, status] of [
    ['GET /notes', 200],
    ['POST /nothing', 404],
    ['PATCH /notes', 405],
  ] as const) {
    for (const header of ['content-length: 500', 'transfer-encoding: chunked']) {
      const { socket, answer } = await converse(service, head(line, header));
      assert.equal((await answer()).status, status, `${line}, ${header}`);
      socket.destroy();
    }
  }
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  const { socket, answer, closed } = await converse(service, head('DELETE /notes/1', 'content-length: 500'));
  socket.end();
  assertProblem(await answer(), 'bad-request');
  await closed();
  assert.equal((await service.request('GET', '/notes/1')).status, 200);
});

test('a body that ends before its declared length stores nothing', async (t) => {
  const service = await startService(t);
  const { socket, answer, closed } = await converse(service, head('POST /notes', 'content-length: 100') + note(50));
  socket.end();
  assertProblem(await answer(), 'bad-request');
  await closed();
  assert.equal((await service.request('GET', '/notes')).json.total, 0);
});
