// The configurations of nginx, Caddy and Apache in the guide to deployment. Skipped where the
// programs are not installed.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { guide } from '../project/documents.ts';
import { stop } from '../support/command.ts';
import { openStream } from '../support/event-stream.ts';
import { BASE, type Both, HEADERS, PROXIES, startBoth } from '../support/guide-proxies.ts';
import { request, send } from '../support/http.ts';
import { until } from '../support/until.ts';

async function assertPassedOn(t: TestContext, { url, command }: Both): Promise<void> {
  const stream = await openStream(t, url, '/changes', HEADERS);
  for (let count = 1; count <= 3; count += 1) {
    const json = { title: 'a', body: 'b' };
    assert.equal((await request(url, 'POST', '/notes', { headers: HEADERS, json })).status, 201);
    await stream.changes(count);
  }
  assert.equal(stream.hasEnded(), false);
  assert.equal((await stop(command)).status, 0);
  await until(stream.hasEnded);
}

test('proxies: nginx passes on each change at once over HTTP/1.0 too', {
  timeout: 60_000,
}, async (t) => {
  // By default, nginx uses HTTP/1.0, and then it buffers answers without a length.
  const both = await startBoth(t, 'nginx', (site) => site.replace('proxy_http_version 1.1;', ''));
  if (both) await assertPassedOn(t, both);
});

for (const isMended of [false, true]) {
  const lines = `${isMended ? 'with' : 'without'} the lines of the guide`;
  test(`proxies: entity tags behind an nginx that compresses, ${lines}`, async (t) => {
    const [, map = '', header = ''] =
      /```nginx\n(map .*)\n(proxy_set_header .*)\n```/.exec(guide('safe-writes')) ?? [];
    assert.ok(header);
    const both = await startBoth(t, 'nginx', (site) => {
      const mended = isMended
        ? `${map}\n${site.replace('proxy_pass', `${header}\nproxy_pass`)}`
        : site;
      return `gzip on; gzip_types application/json;\n${mended}`;
    });
    if (!both) return;
    const change = (tag: string) =>
      request(both.url, 'PATCH', '/notes/1', {
        headers: { ...HEADERS, 'if-match': tag },
        json: { title: 'b' },
      });
    const json = { title: 'a', body: 'b'.repeat(1_000) };
    await request(both.url, 'POST', '/notes', { headers: HEADERS, json });
    const headers = { ...HEADERS, 'accept-encoding': 'gzip' };
    const read = await send(both.url, 'GET', '/notes/1', { headers });
    const tag = String(read.headers.etag);
    assert.deepEqual([read.headers['content-encoding'], tag.slice(0, 3)], ['gzip', 'W/"']);
    const changed = await change(tag);
    assert.equal(changed.status, isMended ? 200 : 412);
    if (isMended) return;
    assert.match(changed.json.detail, /proxy that compresses/);
    assert.equal((await change(tag.replace('W/', ''))).status, 200);
  });
}

for (const name of Object.keys(PROXIES)) {
  test(`proxies: the configuration of ${name} in the guide`, async (t) => {
    const both = await startBoth(t, name);
    if (!both) return;
    const { url } = both;
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    const ask = (method: string, path: string, parts = {}) =>
      request(url, method, path, { agent, headers: HEADERS, ...parts });
    const made = await ask('POST', '/notes', { json: { title: 'ä', body: 'b' } });
    assert.deepEqual([made.status, made.headers.location], [201, '/notes/1']);
    assert.equal((await ask('GET', '/notes/1')).text, made.text);
    assert.equal((await ask('GET', '/notes/2')).json.type, `${BASE}/problems/not-found`);
    // Caddy asks for a compressed answer and unpacks it, so that the length is missing.
    assert.equal((await send(url, 'GET', '/docs', { headers: HEADERS })).status, 200);
    const large = { title: 'a', body: 'b'.repeat(1_100_000) };
    assert.equal((await ask('POST', '/notes', { json: large })).status, 413);
    // The page of the service writes through the proxy, other pages do not.
    const from = (origin: string) => ({
      headers: { ...HEADERS, origin },
      json: { title: 'a', body: 'b' },
    });
    assert.equal((await ask('POST', '/notes', from(BASE))).status, 201);
    assert.equal((await ask('POST', '/notes', from('https://evil.example'))).status, 403);
    await assertPassedOn(t, both);
  });

  test(`proxies: with ${name}, a client cannot claim an address`, async (t) => {
    const both = await startBoth(t, name);
    if (!both) return;
    const statuses = new Set<number>();
    // A wrong key counts for the address, not for the key.
    for (let count = 0; count <= 10; count += 1) {
      const headers = { ...HEADERS, 'x-api-key': 'wrong', 'x-forwarded-for': `192.0.2.${count}` };
      statuses.add((await request(both.url, 'GET', '/notes', { headers })).status);
    }
    assert.deepEqual([...statuses], [401, 429]);
    const { stderr } = await stop(both.command);
    const clients = [...stderr.matchAll(/"client":"([^"]*)"/g)].map(([, client]) => client);
    assert.deepEqual([...new Set(clients)], ['127.0.0.1']);
  });
}
