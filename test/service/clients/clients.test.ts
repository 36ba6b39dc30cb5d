// The client scripts that the guide to testing clients lists, as their users run them: with and
// without a key, refused for a while, without an answer, and behind a proxy without its service.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { send } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { root } from '../../support/sources.ts';

/** The scripts, each with the command that runs it and the program that has to be installed. */
const CLIENTS = [
  { command: 'sh', script: 'notes.sh', needs: 'curl' },
  { command: process.execPath, script: 'notes.mjs', needs: process.execPath },
  { command: 'python3', script: 'notes.py', needs: 'python3' },
].map((client) => ({ ...client, isThere: spawnSync(client.needs, ['--version']).status === 0 }));

const TITLES = ['Shopping list 🛒 ✅', 'Third', 'Fourth', 'Fifth'];
const BODY = 'Milk 🥛\nBread "and butter"\nC:\\apples';

/** What a script prints when it has succeeded. */
const REPORT = `refused: title must not be blank
notes: ${TITLES.join(', ')}
errands: ${TITLES[0]}
found: ${TITLES[0]}
`;

/** Runs a script to its end; rejects with its output if its exit status is not 0. */
function runClient(
  { command, script }: (typeof CLIENTS)[number],
  { url }: Pick<Service, 'url'>,
  key = '',
) {
  const path = fileURLToPath(new URL(`test/service/clients/${script}`, root));
  const env = {
    ...process.env,
    NOTES_URL: url,
    NOTES_KEY: key,
    NODE_OPTIONS: '',
    NODE_V8_COVERAGE: '',
  };
  return promisify(execFile)(command, [path], { env, timeout: 60_000 });
}

/** Asserts that the service has the records that a script creates. */
async function assertStored({ request }: Service, headers: Readonly<Record<string, string>> = {}) {
  const itemsOf = async (path: string) => (await request('GET', path, { headers })).json.items;
  const notes: { id: number; title: string; body: string }[] = await itemsOf('/notes');
  assert.deepEqual(
    notes.map(({ title, body }) => ({ title, body })),
    TITLES.map((title) => ({ title, body: BODY })),
  );
  const errands = { id: 1, name: 'errands', notes_count: 1 };
  assert.deepEqual(await itemsOf('/tags?include=notes_count'), [errands]);
  const note = notes[0]?.id;
  const comment = { id: 1, note_id: note, body: 'Oat milk,\nplease 🙏' };
  assert.deepEqual(await itemsOf(`/notes/${note}/comments`), [comment]);
}

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

/**
 * Asserts that the second request came a second after the first; a timer may end a little early.
 */
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

    test(`clients: ${script} sends its key, and fails with a wrong one`, async (t) => {
      if (!isThere) return skipLoudly(t, `there is no ${needs} here`);
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
