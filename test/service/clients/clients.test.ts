// The client scripts that the README shows, as their users run them: with and without a key, refused for a while, and
// behind a proxy whose service is not there.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { assertStored, CLIENTS, isInstalled, REPORT, runClient } from '../../support/client-scripts.ts';
import { send } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';

const KEY = 'a-key-for-scripts';

/** Starts a proxy; `arrivals` are the times at which it has received requests. */
async function startProxy(
  t: TestContext,
  answer: (count: number, request: IncomingMessage, response: ServerResponse) => unknown,
) {
  const arrivals: number[] = [];
  const server = createServer((request, response) => {
    answer(arrivals.push(performance.now()), request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}

/** Asserts that the second request came a second after the first; a timer may end a little early. */
function assertSecondLater([first = 0, second = 0]: readonly number[]): void {
  assert.ok(second - first > 900, `${second - first} ms`);
}

// Each client waits for a second in some tests, so they run side by side.
describe('clients', { concurrency: true }, () => {
  for (const client of CLIENTS) {
    const { script, needs } = client;

    test(`clients: ${script} works without a key, and retries when told`, async (t) => {
      if (!isInstalled(needs)) return skipLoudly(t, `there is no ${needs} here`);
      const service = await startService(t);
      const proxy = await startProxy(t, async (count, request, response) => {
        if (count === 1) return void response.writeHead(429, { 'retry-after': '1' }).end();
        const { method = '', url = '', headers } = request;
        const body = Buffer.concat(await request.toArray());
        const answer = await send(service.url, method, url, { body, headers: headers as Record<string, string> });
        response.writeHead(answer.status, answer.headers).end(answer.bytes);
      });
      assert.deepEqual(await runClient(client, proxy), { stdout: REPORT, stderr: '' });
      await assertStored(service);
      assertSecondLater(proxy.arrivals);
    });

    test(`clients: ${script} sends its key, and fails with a wrong one`, async (t) => {
      if (!isInstalled(needs)) return skipLoudly(t, `there is no ${needs} here`);
      const service = await startService(t, { apiKeys: [KEY] });
      await assert.rejects(runClient(client, service, 'another'), ({ code, stdout, stderr }) => {
        assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
        assert.match(stderr, /key/);
        return true;
      });
      assert.deepEqual(await runClient(client, service, KEY), { stdout: REPORT, stderr: '' });
      await assertStored(service, { authorization: `Bearer ${KEY}` });
    });
  }

  for (const client of CLIENTS.filter(({ script }) => script !== 'notes.sh')) {
    for (const status of [502, 200]) {
      test(`clients: ${client.script} reports ${status} of a proxy in a line`, async (t) => {
        if (!isInstalled(client.needs)) return skipLoudly(t, `there is no ${client.needs} here`);
        const headers = { 'content-type': 'text/html', 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' };
        const proxy = await startProxy(t, (count, _request, response) => {
          response.writeHead(count === 1 ? 503 : status, headers).end('<h1>\nnot from the service\n</h1>');
        });
        await assert.rejects(runClient(client, proxy), ({ code, stdout, stderr }) => {
          assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
          const reason = `the answer has status ${status} and is none of the service`;
          assert.equal(stderr, `${client.script}: ${reason}\n`);
          return true;
        });
        assert.equal(proxy.arrivals.length, 2);
        assertSecondLater(proxy.arrivals);
      });
    }
  }
});
