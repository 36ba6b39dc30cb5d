// Names as raw bytes of UTF-8, which curl sends as they are typed: the same as percent-encoded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEAUTIFUL } from '../../support/names-of-notes.ts';
import {
  assertAlive,
  assertProblem,
  converse,
  exchange,
  get,
  NOTE,
  openSocket,
  readAll,
  requestText,
} from '../../support/raw.ts';
import { assertNoErrors, startService } from '../../support/service.ts';

const JSON_TYPE = 'content-type: application/json';

/** The form of a name with its raw bytes, where a request line has room for them. */
const raw = (name: string) => name.replace(/[\0-\x20#%?]/g, encodeURIComponent);

const NAMES = BEAUTIFUL.filter((name) => /[^\0-\x7f]/.test(name));

test('raw names: each is the name that is percent-encoded, with every method', async (t) => {
  const service = await startService(t);
  const { socket, answer } = await converse(service);
  const ask = (line: string, headers: string[] = [], body = '') => {
    socket.write(requestText(line, headers, body));
    return answer(line.startsWith('HEAD') ? 'HEAD' : undefined);
  };
  for (const [index, name] of NAMES.entries()) {
    const [id, path] = [index + 1, `/named/${raw(name)}`];
    const made = await ask(`PUT ${path}`, [JSON_TYPE], NOTE);
    assert.deepEqual([made.status, made.headers.location], [201, `/notes/${id}`], name);
    const read = await service.request('GET', `/named/${encodeURIComponent(name)}?include=name`);
    assert.deepEqual([read.json.id, read.json.name], [id, name]);
    assert.equal((await ask(`GET ${path}?fields=id`)).body, `{"id":${id}}`, name);
    assert.equal((await ask(`HEAD ${path}`)).status, 200, name);
    const append = [`POST ${path}/append`, [JSON_TYPE], '{"text":"c"}'] as const;
    assert.equal((await ask(append[0], [...append[1]], append[2])).status, 200, name);
    assert.equal((await ask(`DELETE ${path}`)).status, 204, name);
    assert.equal((await ask(`GET /named/${raw(name.normalize('NFD'))}`)).status, 404, name);
  }
  socket.destroy();
  assertNoErrors(service);
});

test('raw names: behind a request that is not answered yet, one is refused in turn', async (t) => {
  const service = await startService(t);
  await service.request('PUT', '/named/K%C3%BCche', { json: { title: 'a', body: 'b' } });
  const lines = ['GET /named/Küche?fields=id', 'GET /notes/1', 'GET /named/Bäder', 'GET /notes'];
  const all = Buffer.from(lines.map((line) => requestText(line)).join('') + get());
  const first = all.indexOf('ü');
  const second = all.indexOf('ä');
  for (const cuts of [[], [first + 1], [first + 4], [first + 1, first + 2, second + 1]]) {
    const { socket, rest } = await converse(service);
    for (const [index, cut] of [...cuts, all.length].entries()) {
      socket.write(all.subarray(cuts[index - 1] ?? 0, cut));
      // The part has arrived once another connection has its answer.
      await assertAlive(service);
    }
    const statuses = (await rest()).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 200, 400], cuts.join());
  }
  assertNoErrors(service);
});

test('raw names: behind the rest of a body in its packet, one is refused', async (t) => {
  const service = await startService(t);
  const early = requestText('POST /nowhere', ['content-length: 20']);
  const { socket, answer, rest } = await converse(service, `${early}GET `);
  // The service answers before the body is complete.
  assert.equal((await answer()).status, 404);
  socket.write(`/named/ HTTP/1.1${requestText('GET /named/ü')}${get()}`);
  const statuses = (await rest()).map(({ status }) => status);
  assert.deepEqual(statuses, [400]);
  assertNoErrors(service);
});

test('raw names: every pipelined request is answered, or the connection ends', async (t) => {
  const service = await startService(t);
  const put = requestText('PUT /named/ü', [JSON_TYPE], NOTE);
  const texts = [put, requestText('GET /named/ü'), put, requestText('GET /notes'), get()];
  for (let round = 0; round < 20; round += 1) {
    const { socket, rest } = await converse(service);
    for (const text of texts) {
      socket.write(text);
      // Each is a packet of its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const statuses = (await rest()).map(({ status }) => status);
    const refused = statuses.indexOf(400);
    assert.ok(
      refused === -1 ? statuses.length === 5 : refused === statuses.length - 1,
      `${statuses}`,
    );
    assert.ok(
      statuses.slice(0, -1).every((status) => status < 300),
      `${statuses}`,
    );
  }
  for (const method of ['PROPPATCH', 'REPORT', 'MKCOL']) {
    const other = await exchange(service, requestText(`${method} /named/ü`));
    assertProblem(other, 'bad-request');
  }
  assertNoErrors(service);
});

test('raw names: what is malformed is refused as ever', async (t) => {
  const service = await startService(t);
  const curl = "must be percent-encoded (with curl: --get --data-urlencode 'q=TEXT').";
  const beyondAscii = `A character of the request target that is not printable ASCII ${curl}`;
  const invalid = 'The percent-encoding of the path is not valid; a % itself is %25.';
  for (const [target, detail] of [
    ['/named/\xff', invalid],
    ['/named/a\xc3/b', invalid],
    ['/named/\xed\xa0\x80', invalid],
    ['/named/\xc3\xbc?title=\xc3\xbc', beyondAscii],
    ['/named/a?title=\xc3\xbc', beyondAscii],
    ['/named/\xc3\xbc\x7f', beyondAscii],
    ['/named/\x7f', beyondAscii],
    ['/named\xc3\xbc', beyondAscii],
    ['/notes/\xc3\xbc', beyondAscii],
    ['/n\xc3\xb6tes', beyondAscii],
  ] as const) {
    const answer = await exchange(service, Buffer.from(get('', target), 'latin1'));
    assert.equal(assertProblem(answer, 'bad-request').detail, detail, target);
  }
  const refused = await exchange(service, get('', '/named/ü/../b'));
  assert.match(assertProblem(refused, 'validation-failed').detail, /segment 2 of 3/);
  const long = await exchange(service, get('', `/named/${'ü'.repeat(20_000)}`));
  assertProblem(long, 'request-header-fields-too-large');
  for (const part of ['', ' HTTP/1.1\r\nhost: localhost\r\n']) {
    const socket = await openSocket(service);
    socket.end(`GET /named/ü${part}`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 400 /);
  }
  await assertAlive(service);
  assertNoErrors(service);
});

test('raw names: their connections are closed when the service stops', async (t) => {
  const service = await startService(t);
  const open = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const conversation = await converse(service, requestText(`GET /named/ü${index}`));
      assert.equal((await conversation.answer()).status, 404);
      return conversation;
    }),
  );
  await service.close();
  for (const { closed } of open) await closed();
  assert.equal(service.log.filter(({ fields }) => fields.route === '/named/{name}').length, 20);
  for (const { fields } of service.log) if (fields.route) assert.equal(fields.client, '127.0.0.1');
});
