// Answers that are sent before the body has arrived: through Python's urllib, which always asks to
// close the connection, an nginx with nothing but proxy_pass, which speaks HTTP/1.0, and slowly.
// And the answers of clients that close only their sending side.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { startCommand } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { send } from '../support/http.ts';
import { lastingPort } from '../support/ports.ts';
import { nginxWith, startProxy } from '../support/proxies.ts';
import { converse, requestText, sendThenRead } from '../support/raw.ts';
import { skipLoudly } from '../support/skip.ts';

const ROUNDS = 20;
/** Near the largest body that nginx accepts, and above that of the service. */
const SIZE = 1_000_000;
const LIMIT = 900_000;

/** Requests, with the status of their early answers. */
const EARLY = [
  [401, 'POST', '/notes', {}],
  [401, 'PUT', '/notes/1', { 'x-api-key': 'none' }],
  [403, 'POST', '/notes', { 'x-api-key': 'key', 'sec-fetch-site': 'cross-site' }],
  [404, 'POST', '/nothing', { 'x-api-key': 'key' }],
  [405, 'PATCH', '/notes', { 'x-api-key': 'key' }],
  [413, 'POST', '/notes', { 'x-api-key': 'key', 'content-type': 'application/json' }],
] as const;

const SCRIPT = `
import json, sys, urllib.error, urllib.request
url, size, cases = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
for status, method, path, headers in cases:
    sent = urllib.request.Request(url + path, b"x" * size, headers, method=method)
    try:
        found = urllib.request.urlopen(sent).status
    except urllib.error.HTTPError as error:
        found = len(error.read()) and error.code
    except Exception as error:
        found = error
    print(status, found)
`;

// The address has ten wrong keys a minute, and then gets 429, which is early as well.
const isExpected = (status: number, found: number) => found === status || found === 429;

async function start(t: TestContext, count: number) {
  const args = ['--port', '0', '--processes', String(count), '--body-limit', String(LIMIT)];
  const url = await startCommand(t, args, { env: { NOTES_API_KEYS: 'key' } }).ready();
  return { url, port: Number(new URL(url).port) };
}

for (const count of [1, 2]) {
  test(`early answers: urllib reads them, processes: ${count}`, async (t) => {
    if (spawnSync('python3', ['--version']).error) return skipLoudly(t, 'there is no python3 here');
    const { url } = await start(t, count);
    const cases = JSON.stringify(Array.from({ length: ROUNDS }, () => EARLY).flat());
    const args = ['-c', SCRIPT, url, String(SIZE), cases];
    const { stdout } = await promisify(execFile)('python3', args);
    const lines = stdout.trim().split('\n');
    assert.equal(lines.length, ROUNDS * EARLY.length);
    for (const line of lines) {
      const [status, found] = line.split(' ').map(Number);
      assert.ok(isExpected(status ?? 0, found ?? 0), line);
    }
  });

  test(`early answers: nginx as it is installed passes them on, processes: ${count}`, async (t) => {
    const { url } = await start(t, count);
    const [folder, port] = [temporaryFolder(t), await lastingPort()];
    const site = `server { listen 127.0.0.1:${port}; location / { proxy_pass ${url}; } }`;
    const proxy = await startProxy(t, nginxWith(folder, site), folder, port);
    if (!proxy) return;
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = EARLY.map(async ([status, method, path, headers]) => {
        const answer = await send(proxy, method, path, { body: Buffer.alloc(SIZE, 'x'), headers });
        assert.ok(isExpected(status, answer.status), `${status}: ${answer.text}`);
      });
      await Promise.all(answers);
    }
  });

  test(`half-closed: each request gets its answer, processes: ${count}`, async (t) => {
    const service = await start(t, count);
    const counter = '{"workers":2,"count":5}';
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [line, body, status] of [
        ['GET /health', '', 200],
        ['GET /notes', '', 200],
        ['POST /tags', '{"name":"a"}', 201],
        ['POST /counter/increment', counter, 200],
      ] as const) {
        const { socket, answer, closed } = await converse(service);
        socket.end(requestText(line, ['x-api-key: key'], body));
        assert.equal((await answer()).status, status, line);
        await closed();
      }
    }
  });

  test(`early answers: a slow client reads them at last, processes: ${count}`, async (t) => {
    const service = await start(t, count);
    const size = 3_000_000;
    const closings = ['HTTP/1.0\r\n', 'HTTP/1.1\r\nconnection: close\r\n', 'HTTP/1.1\r\n'];
    const answers = closings.flatMap((closing) =>
      EARLY.map(async ([status, method, path, headers]) => {
        const fields = Object.entries({ ...headers, 'content-length': size, host: 'localhost' });
        const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
        const head = `${method} ${path} ${closing}${lines}\r\n`;
        // A megabyte in a second.
        const answer = await sendThenRead(service, head, Buffer.alloc(size, 'x'), 60);
        assert.ok(isExpected(status, answer.status), `${status}: ${answer.status}`);
      }),
    );
    await Promise.all(answers);
  });
}
