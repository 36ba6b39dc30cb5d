// Clients as users write them, in the languages of scripts, against a service without keys, with keys, and at its limit.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Service, startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { until } from '../../support/until.ts';

const CLIENTS = [
  { command: 'sh', script: 'notes.sh', needs: 'curl' },
  { command: process.execPath, script: 'notes.mjs', needs: process.execPath },
  { command: 'python3', script: 'notes.py', needs: 'python3' },
] as const;

const KEY = 'a-key-for-scripts';
const TITLES = ['Shopping list 🛒 ✅', 'Third', 'Fourth', 'Fifth'];
const NOTES = TITLES.map((title) => ({ title, body: 'Milk 🥛\nBread "and butter"\nC:\\apples' }));
const REPORT = `refused: title must not be blank\n4 notes: ${TITLES.join(', ')}; tag errands\n`;

/** Runs a client to its end; rejects with what it said if its exit status is another than 0. */
function run({ command, script }: (typeof CLIENTS)[number], { url }: Pick<Service, 'url'>, key = '') {
  const path = fileURLToPath(new URL(`../../../../test/service/clients/${script}`, import.meta.url));
  const env = { ...process.env, NOTES_URL: url, NOTES_KEY: key, NODE_OPTIONS: '' };
  return promisify(execFile)(command, [path], { env, timeout: 60_000 });
}

/** Asserts that what the client has done is there, as another one sees it. */
async function assertStored({ request }: Service, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const itemsOf = async (path: string) => (await request('GET', path, { headers })).json.items;
  const [first, ...others] = await itemsOf('/notes');
  assert.deepEqual(
    [first, ...others].map(({ title, body }) => ({ title, body })),
    NOTES,
  );
  assert.deepEqual(await itemsOf('/tags'), [{ id: 1, name: 'errands' }]);
  const comment = { id: 1, note_id: first.id, body: 'Oat milk,\nplease 🙏' };
  assert.deepEqual(await itemsOf(`/notes/${first.id}/comments`), [comment]);
}

for (const client of CLIENTS) {
  const { script, needs } = client;
  const isThere = spawnSync(needs, ['--version']).status === 0;

  test(`${script} does its work where no key is asked for`, async (t) => {
    if (!isThere) return skipLoudly(t, `there is no ${needs} here`);
    const service = await startService(t);
    assert.deepEqual(await run(client, service), { stdout: REPORT, stderr: '' });
    await assertStored(service);
  });

  test(`${script} sends its key, and fails with another one`, async (t) => {
    if (!isThere) return skipLoudly(t, `there is no ${needs} here`);
    const service = await startService(t, { apiKeys: [KEY] });
    await assert.rejects(run(client, service, 'another'), ({ code, stdout, stderr }) => {
      assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
      assert.match(stderr, /key/);
      return true;
    });
    assert.deepEqual(await run(client, service, KEY), { stdout: REPORT, stderr: '' });
    await assertStored(service, { authorization: `Bearer ${KEY}` });
  });

  test(`${script} comes back when it was told to, after it has asked too often`, async (t) => {
    if (!isThere) return skipLoudly(t, `there is no ${needs} here`);
    const service = await startService(t, { rateLimit: 600 });
    // Somebody else at the same address uses up all there is, before the client comes and until it has felt it.
    const useUpUntilRefused = (who: string) =>
      until(async () => {
        await Promise.all(Array.from({ length: 50 }, () => service.request('GET', '/tags')));
        return service.log.some(({ fields }) => fields.method === who && fields.status === 429);
      });
    await useUpUntilRefused('GET');
    const ending = run(client, service);
    await useUpUntilRefused('POST');
    assert.equal((await ending).stdout, REPORT);
  });
}

/** Something that answers like a proxy whose service is not there: 503 to the first request, and `status` to the next. */
async function startProxy(t: TestContext, status: number) {
  const arrivals: number[] = [];
  const server = createServer((_, response) => {
    const isFirst = arrivals.push(performance.now()) === 1;
    const headers = { 'content-type': 'text/html', 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' };
    response.writeHead(isFirst ? 503 : status, headers).end('<h1>\nnot from the service\n</h1>');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}

for (const client of CLIENTS.filter(({ script }) => script !== 'notes.sh')) {
  for (const status of [502, 200]) {
    test(`${client.script} waits a second where a proxy says a date, and tells its ${status} without JSON in a line`, async (t) => {
      if (spawnSync(client.needs, ['--version']).status !== 0) return skipLoudly(t, `there is no ${client.needs} here`);
      const proxy = await startProxy(t, status);
      await assert.rejects(run(client, proxy), ({ code, stdout, stderr }) => {
        assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
        assert.equal(stderr, `${client.script}: the answer has status ${status} and is none of the service\n`);
        return true;
      });
      const [first = 0, second = 0, ...others] = proxy.arrivals;
      assert.deepEqual(others, []);
      // Not at once: it has waited, however long the rest took.
      assert.ok(second - first > 900, `${second - first} ms`);
    });
  }
}
