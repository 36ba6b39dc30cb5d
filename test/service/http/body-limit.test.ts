// The limit on bodies, to the byte. A client that sends too much can always read why, even while it
// is sending.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  assertAlive,
  assertProblem,
  chunk,
  chunkedText,
  converse,
  NOTE,
  requestText,
} from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const LIMIT = 1_000;

function note(length: number): string {
  const text = JSON.stringify({ title: 'é', body: '' });
  return text.replace('""', `"${'b'.repeat(length - Buffer.byteLength(text))}"`);
}

const limited = await startService({ after }, { bodyLimitBytes: LIMIT });
const service = await startService({ after });
const totalOf = async ({ request } = service) => (await request('GET', '/notes')).json.total;

test('body limit: exactly the limit is accepted, a byte more is 413', async () => {
  const total = await totalOf(limited);
  const send = (method: string, path: string, length: number) =>
    limited.request(method, path, { body: note(length) });
  const { status, headers } = await send('POST', '/notes', LIMIT);
  assert.equal(status, 201);
  const refused = await send('POST', '/notes', LIMIT + 1);
  assert.equal(refused.status, 413);
  assert.equal(refused.json.detail, 'The body is larger than 1000 bytes.');
  assert.equal(refused.headers.connection, 'close');
  assert.equal((await send('PUT', `${headers.location}`, LIMIT)).status, 200);
  assert.equal((await send('PUT', `${headers.location}`, LIMIT + 1)).status, 413);
  assert.equal(await totalOf(limited), total + 1);
});

test('body limit: the same for chunked bodies', async () => {
  for (const size of [1, 7, LIMIT]) {
    const cut = (text: string) => text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
    const { answer, closed } = await converse(
      limited,
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

test('body limit: a mebibyte by default', async () => {
  const statusOf = async (length: number) =>
    (await service.request('POST', '/notes', { body: NOTE.padEnd(length) })).status;
  assert.deepEqual([await statusOf(1_048_576), await statusOf(1_048_577)], [201, 413]);
});

test('body limit: thousands of chunks of one byte that arrive later are joined', async () => {
  const headers = ['transfer-encoding: chunked', 'expect: 100-continue'];
  const { socket, answer } = await converse(service, requestText('POST /notes', headers));
  assert.equal((await answer()).status, 100);
  socket.write(`${[...NOTE.padEnd(20_000)].map(chunk).join('')}0\r\n\r\n`);
  assert.equal((await answer()).status, 201);
  socket.destroy();
});

test('body limit: a declared length is refused before media type and body', async () => {
  const writes = ['POST /notes', 'PUT /notes/1', 'DELETE /notes/1', 'POST /counter/increment'];
  const headers = ['content-type: text/xml', 'content-encoding: gzip', 'content-length: 1001'];
  for (const line of [...writes, 'GET /notes']) {
    const { socket, answer } = await converse(limited, requestText(line, headers));
    assertProblem(await answer(), 'payload-too-large');
    socket.destroy();
  }
});

test('refused bodies: an endless sender can read the answer and is cut off', async () => {
  const more = chunk('x'.repeat(100_000));
  for (const [line, header, status] of [
    ['POST /notes', 'content-length: 1000000000000', 413],
    ['POST /notes', 'transfer-encoding: chunked', 413],
    ['POST /nothing', 'transfer-encoding: chunked', 404],
    ['GET /notes', 'transfer-encoding: chunked', 200],
  ] as const) {
    const { socket, answer } = await converse(limited, requestText(line, [header]));
    socket.on('drain', send);
    function send(): void {
      while (socket.writable && socket.write(more));
    }
    send();
    const { status: answered, headers } = await answer();
    assert.deepEqual([answered, headers.connection], [status, 'close'], line);
    await new Promise((resolve) => socket.once('close', resolve));
    await assertAlive(limited);
  }
});

test('unused bodies: not waited for, unless something changes', async () => {
  for (const [line, status] of [
    ['GET /notes', 200],
    ['POST /nothing', 404],
    ['PATCH /notes', 405],
  ] as const) {
    for (const header of ['content-length: 500', 'transfer-encoding: chunked']) {
      const { socket, answer } = await converse(service, requestText(line, [header]));
      assert.equal((await answer()).status, status, `${line}, ${header}`);
      socket.destroy();
    }
  }
  const { location } = (await service.request('POST', '/notes', { body: NOTE })).headers;
  const { socket, answer, closed } = await converse(
    service,
    requestText(`DELETE ${location}`, ['content-length: 500']),
  );
  socket.end();
  assertProblem(await answer(), 'bad-request');
  await closed();
  assert.equal((await service.request('GET', `${location}`)).status, 200);
});
