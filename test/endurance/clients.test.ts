// The client scripts that the guide to testing clients lists, as their users run them: refused for
// a while, without an answer, and behind a proxy without its service.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { assertStored, CLIENTS, REPORT, runClient } from '../support/client-scripts.ts';
import { send } from '../support/http.ts';
import { startListener } from '../support/ports.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';

/** Starts a proxy; `arrivals` are the times at which it has received requests. */
async function startProxy(
  t: TestContext,
  answer: (count: number, request: IncomingMessage, response: ServerResponse) => unknown,
) {
  const arrivals: number[] = [];
  const url = await startListener(t, (request, response) => {
    answer(arrivals.push(performance.now()), request, response);
  });
  return { url, arrivals };
}

/** A timer may end a little before its second. */
function assertSecondLater([first = 0, second = 0]: readonly number[]): void {
  assert.ok(second - first > 900, `${second - first} ms`);
}

// Each client waits for a second in some tests, so they run side by side.
describe('clients', { concurrency: true }, () => {
  for (const client of CLIENTS) {
    const { script, needs, isThere } = client;

    test(`clients: ${script} works without a key, and retries`, async (t) => {
      if (!isThere) return skipLoudly(t, `there is no ${needs} here`);
      const service = await startService(t);
      let hasLost = false;
      const proxy = await startProxy(t, async (count, request, response) => {
        const refusal = [429, 503][count - 1];
        if (refusal) return void response.writeHead(refusal, { 'retry-after': '1' }).end();
        const { method = '', url = '', headers } = request;
        const body = Buffer.concat(await request.toArray());
        const answer = await send(service.url, method, url, {
          body,
          headers: headers as Record<string, string>,
        });
        const isLost = !hasLost && answer.headers['content-type'] === 'application/x-ndjson';
        hasLost ||= isLost;
        if (isLost) return void response.destroy();
        response.writeHead(answer.status, answer.headers).end(answer.bytes);
      });
      assert.deepEqual(await runClient(client, proxy), { stdout: REPORT, stderr: '' });
      await assertStored(service);
      assertSecondLater(proxy.arrivals);
    });
  }

  for (const client of CLIENTS.filter(({ script }) => script !== 'notes.sh')) {
    for (const status of [502, 200]) {
      test(`clients: ${client.script} reports ${status} of a proxy in a line`, async (t) => {
        if (!client.isThere) return skipLoudly(t, `there is no ${client.needs} here`);
        const headers = {
          'content-type': 'text/html',
          'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT',
        };
        const proxy = await startProxy(t, (count, _request, response) => {
          response
            .writeHead(count === 1 ? 503 : status, headers)
            .end('<h1>\nnot from the service\n</h1>');
        });
        await assert.rejects(runClient(client, proxy), ({ code, stdout, stderr }) => {
          assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
          const reason = `the answer has status ${status} and is not from the service`;
          assert.equal(stderr, `${client.script}: ${reason}\n`);
          return true;
        });
        assert.equal(proxy.arrivals.length, 2);
        assertSecondLater(proxy.arrivals);
      });
    }
  }
});
