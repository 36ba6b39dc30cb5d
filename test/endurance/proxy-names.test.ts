// Names of notes behind proxies as the guide to deployment configures them: the same as without.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { codeBlocks, guide, sectionOf } from '../project/documents.ts';
import { type Both, HEADERS, PROXIES, startBoth } from '../support/guide-proxies.ts';
import { send } from '../support/http.ts';
import { BEAUTIFUL, FORMS, HOSTILE } from '../support/names-of-notes.ts';
import { openSocket, readAll } from '../support/raw.ts';

const NOTE = { title: 'a', body: 'b' };

/** Sends requests for a name to the proxy, and past it. */
function asking(t: TestContext, { url, socketPath }: Both, base: string) {
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })] as const;
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const parts = { headers: HEADERS, agent: agents[0] };
  return {
    through: (method: string, name: string, json?: object) =>
      send(url, method, `${base}/named/${name}`, { ...parts, ...(json && { json }) }),
    past: (method: string, path: string) =>
      send(url, method, path, { headers: HEADERS, agent: agents[1], socketPath }),
  };
}

/** Resolves with the status of a GET at a name whose bytes are raw. */
async function statusOfRaw({ url }: Both, path: string): Promise<number> {
  const socket = await openSocket({ port: Number(new URL(url).port) });
  const lines = ['host: notes.example.org', 'x-api-key: key', 'connection: close', '', ''];
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}`);
  return Number(/^HTTP\/1.1 (\d+)/.exec(await readAll(socket))?.[1]);
}

async function assertSameNames(t: TestContext, both: Both, base = ''): Promise<void> {
  const { through, past } = asking(t, both, base);
  const raw = FORMS['raw slashes'] ?? assert.fail();
  for (const [index, name] of BEAUTIFUL.entries()) {
    const made = await through('PUT', raw(name), NOTE);
    assert.deepEqual([made.status, made.json?.id], [201, index + 1], name);
  }
  const total = BEAUTIFUL.length;
  const { json } = await past('GET', '/notes?include=name&limit=100');
  assert.deepEqual(
    json.items.map(({ name }: { name: string }) => name),
    BEAUTIFUL,
  );
  for (const [form, write] of Object.entries(FORMS))
    for (const [index, name] of BEAUTIFUL.entries()) {
      const read = await through('GET', write(name));
      assert.deepEqual([read.status, read.json?.id], [200, index + 1], `${form}: ${name}`);
      const text = { text: 'c' };
      const appended = await through('POST', `${write(name)}/append`, text);
      assert.deepEqual([appended.status, appended.json?.id], [200, index + 1], `${form}: ${name}`);
    }
  assert.equal(await statusOfRaw(both, `${base}/named/Projekte/Küche.md`), 200);
  assert.equal(await statusOfRaw(both, `${base}/named/Projekte/Köche.md`), 404);
  for (const [name, [code]] of Object.entries(HOSTILE))
    for (const [form, write] of Object.entries(FORMS))
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const label = `${method} ${form}: ${JSON.stringify(name)}`;
        const {
          status,
          headers,
          json: problem,
        } = await through(method, write(name), method === 'PUT' ? NOTE : undefined);
        // The proxy may refuse it before.
        const isOurs = headers['content-type'] === 'application/problem+json';
        assert.ok(
          isOurs ? status === 422 : [400, 404, 405].includes(status),
          `${label} -> ${status}`,
        );
        if (isOurs) assert.equal(problem.errors[0].code, code, label);
      }
  assert.equal((await past('GET', '/notes?named=true')).json.total, total);
  assert.equal((await past('GET', '/notes')).json.total, total);
}

for (const name of Object.keys(PROXIES))
  test(`proxy names: behind ${name}, they mean the same`, { timeout: 120_000 }, async (t) => {
    const both = await startBoth(t, name, undefined, 1_000_000);
    if (both) await assertSameNames(t, both);
  });

test('proxy names: behind an nginx that removes a path, they mean the same', async (t) => {
  const section = sectionOf(guide('deployment'), 'Names with slashes').replace(/^ {2}/gm, '');
  const [map = '', location = ''] = codeBlocks(section, 'nginx');
  const edit = (site: string) => {
    const lines = site.replace(/^.*location \/ \{\n.*proxy_pass.*\n/m, location.replace('}\n', ''));
    return `${map}\n${lines}`;
  };
  const both = await startBoth(t, 'nginx', edit, 1_000_000);
  if (both) await assertSameNames(t, both, '/notes');
});
