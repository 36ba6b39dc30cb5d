// A service on real rqlite nodes: answers that take long to arrive, an export while others write,
// writes with an unknown outcome, searches during an election, and a stop without any node.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SLOW_READ_LIMITS } from '../../src/lists/slow-reads.ts';
import { runCommand, startCommand, stop } from '../support/command.ts';
import { clusterAddress } from '../support/engine.ts';
import { parseExposition, sampleOf } from '../support/exposition.ts';
import { request } from '../support/http.ts';
import { startRelay } from '../support/ports.ts';
import { needsRqlited as skip, startCluster } from '../support/rqlite-nodes.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const NOTE = { title: 'words', body: 'b' };

/** The bound that the guide states, on a machine that other tests use too. */
const STOP_MS = 3_000;

/** 16 Mbit/s. */
const BYTES_PER_MS = 2_000;

/** Creates 100 notes and returns the length of the list of all. */
async function fill(url: string, body: string): Promise<number> {
  for (let count = 0; count < 100; count += 1)
    assert.equal((await request(url, 'POST', '/notes', { json: { ...NOTE, body } })).status, 201);
  return (await request(url, 'GET', '/notes?limit=100')).bytes.length;
}

/** Asserts that a service answers three requests for all notes, sent at once. */
async function readPages(url: string, length: number) {
  const pages = [1, 2, 3].map(() => request(url, 'GET', '/notes?limit=100'));
  for (const { status, bytes } of await Promise.all(pages))
    assert.deepEqual([status, bytes.length], [200, length], bytes.toString('utf8', 0, 300));
}

test('cluster: three pages of 5 MB at once over a link of 16 Mbit/s', { skip }, async (t) => {
  const cluster = await startCluster(t, 1);
  const node = cluster.nodes[0]?.url ?? '';
  const direct = await startService(t, { db: clusterAddress([node]) });
  const length = await fill(direct.url, 'x'.repeat(50_000));
  let freeAtMs = 0;
  const link = await startRelay(
    t,
    async () => node,
    async (server, client) => {
      for await (const part of server) {
        const now = performance.now();
        freeAtMs = Math.max(freeAtMs, now) + part.length / BYTES_PER_MS;
        await delay(freeAtMs - now);
        client.write(part);
      }
    },
  );
  const far = await startService(t, { db: clusterAddress([link]) });
  await readPages(far.url, length);
});

test('cluster: three pages of 30 MB at once', { skip }, async (t) => {
  const { db } = await startCluster(t, 1);
  const { url } = await startService(t, { db });
  await readPages(url, await fill(url, '語'.repeat(100_000)));
});

test('cluster: a backup by export while it is written to, and its way back', {
  skip,
}, async (t) => {
  const { db } = await startCluster(t, 3);
  const service = await startService(t, { db });
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  let last = 1;
  let isOver = false;
  const write = async () => {
    while (!isOver) {
      // A replacement, and then a creation: no state has more notes than replacements.
      const title = `${last}`;
      const put = await service.request('PUT', '/notes/1', { json: { ...NOTE, title } });
      const post = await service.request('POST', '/notes', { json: { ...NOTE, title } });
      assert.deepEqual([put.status, post.status], [200, 201]);
      last += 1;
    }
  };
  const writing = write();
  await until(() => last > 50);
  const acknowledged = last;
  const command = startCommand(t, ['export', 'backup.jsonl', '--db', db]);
  const { status, stderr } = await command.ended;
  isOver = true;
  await writing;
  assert.equal(status, 0, stderr);
  const args = ['--db', 'restored.db'];
  const { folder } = command;
  assert.equal((await runCommand(t, ['import', 'backup.jsonl', ...args], { folder })).status, 0);
  const lines = readFileSync(join(folder, 'backup.jsonl'), 'utf8').split('\n');
  const notes = lines.filter((line) => line.startsWith('{"type":"note",'));
  const { title } = JSON.parse(notes[0] ?? '');
  // Note 1 and the notes of all turns before, or also that of the last turn.
  assert.ok([Number(title), Number(title) + 1].includes(notes.length), `${title} ${notes.length}`);
  assert.ok(notes.length >= acknowledged, `${notes.length} notes, ${acknowledged} acknowledged`);
  const restored = startCommand(t, ['--port', '0', ...args], { folder });
  const { json } = await request(await restored.ready(), 'GET', '/notes');
  assert.equal(json.total, notes.length);
});

test('cluster: a write with an unknown outcome, repeated with its key', { skip }, async (t) => {
  const cluster = await startCluster(t, 3);
  const { request } = await startService(t, { db: cluster.db });
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
  const stopped = [await cluster.nodeWhichIs('Leader'), await cluster.nodeWhichIs('Follower')];
  for (const node of stopped) await node.signal('SIGSTOP');
  const once = { json: { ...NOTE, title: 'once' }, headers: { 'idempotency-key': 'a-key' } };
  const unknown = await request('POST', '/notes', once);
  assert.equal(unknown.status, 503);
  assert.match(unknown.json.detail, /Repeat it with the same idempotency-key/);
  for (const node of stopped) await node.signal('SIGCONT');
  await until(async () => (await request('POST', '/notes', once)).status === 201);
  // What the nodes had received before comes before these.
  for (let count = 0; count < 50; count += 1) await request('POST', '/notes', { json: NOTE });
  assert.equal((await request('GET', '/notes?q=once')).json.total, 1);
});

test('cluster: an uncertain write does not come after somebody has looked', { skip }, async (t) => {
  const { port } = new URL((await startCluster(t, 1)).nodes[0]?.url ?? '');
  let isHeld = false;
  const held: (() => Promise<unknown>)[] = [];
  // What a client has sent before it gives up arrives later, as from the buffer of a kernel.
  const relay = createServer((client) => {
    const node = connect(Number(port), '127.0.0.1').on('error', () => {});
    client
      .on('error', () => {})
      .on('data', (part) => {
        if (!isHeld) node.write(part);
        else
          held.push(() => {
            node.write(part);
            return once(node, 'data');
          });
      });
    node.on('data', (part) => client.destroyed || client.write(part));
    t.after(() => node.destroy());
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void relay.close());
  const way = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
  const { request } = await startService(t, { db: clusterAddress([way]) });
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
  isHeld = true;
  const uncertain = await request('POST', '/notes', { json: NOTE });
  assert.equal(uncertain.status, 503);
  assert.match(uncertain.json.detail, /may have been carried out/);
  isHeld = false;
  let total: unknown;
  await until(async () => {
    const { status, json } = await request('GET', '/notes');
    total = json.total;
    return status === 200;
  });
  assert.equal(total, 1);
  assert.ok(held.length > 0);
  await Promise.all(held.map((arrive) => arrive()));
  assert.equal((await request('GET', '/notes')).json.total, 1);
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
  assert.equal((await request('GET', '/notes')).json.total, 2);
});

test('cluster: searches while a leader is elected', { skip }, async (t) => {
  const cluster = await startCluster(t, 3);
  const { request } = await startService(t, { db: cluster.db });
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
  const leader = await cluster.nodeWhichIs('Leader');
  const follower = await cluster.nodeWhichIs('Follower');
  // Nobody can be elected until one of them is back.
  for (const node of [leader, follower]) await node.signal('SIGSTOP');
  const searches = [1, 2, 3].map(() => request('GET', '/notes?q=words'));
  await delay(SLOW_READ_LIMITS.waitMs + 500);
  await follower.signal('SIGCONT');
  for (const each of searches) {
    const { status, text } = await each;
    assert.equal(status, 200, text);
  }
});

test(`cluster: a service stops in ${STOP_MS / 1_000} s although all nodes are dead`, {
  skip,
}, async (t) => {
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    const cluster = await startCluster(t, 3);
    const command = startCommand(t, ['--port', '0', '--db', cluster.db]);
    const url = await command.ready();
    assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
    for (const node of cluster.nodes) await node.signal(signal);
    const waiting = ['/notes/1', '/notes?q=words'].map((path) => request(url, 'GET', path));
    await until(async () => {
      const families = parseExposition((await request(url, 'GET', '/metrics')).text);
      // These and the request for the metrics.
      return sampleOf(families, 'http_server_active_requests') === waiting.length + 1;
    });
    const begun = performance.now();
    const { status } = await stop(command);
    const tookMs = performance.now() - begun;
    t.diagnostic(`${signal}: ${Math.round(tookMs)} ms`);
    assert.deepEqual([status, tookMs < STOP_MS], [0, true]);
    for (const each of waiting) assert.equal((await each).status, 503);
  }
});
