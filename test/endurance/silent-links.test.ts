// Real rqlite nodes of which the service reaches the leader no longer, but the others still do: it
// asks them, and what arrives at the leader late is not carried out again.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { clusterAddress } from '../support/engine.ts';
import {
  makeLeader,
  type RealCluster,
  needsRqlited as skip,
  startCluster,
} from '../support/rqlite-nodes.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** How long a request may take: a second of silence, one for a ping, and what the machine adds. */
const PATIENCE_MS = 6_000;

test('cluster: only the link to the leader is silent', { skip }, async (t) => {
  let cluster: RealCluster | undefined;
  const cut = new Set<number>();
  const late: (() => void)[] = [];

  /** Starts the link to a node. While it is cut, what is sent waits, as in a buffer. */
  async function startLink(place: number): Promise<string> {
    const relay = createServer((client) => {
      const { port } = new URL(cluster?.nodes[place]?.url ?? '');
      const node = connect(Number(port), '127.0.0.1').on('error', () => {});
      const pass = (part: Buffer) => void node.write(part);
      client.on('error', () => {});
      client.on('data', (part) => (cut.has(place) ? late.push(() => pass(part)) : pass(part)));
      node.on('data', (part) => cut.has(place) || client.destroyed || client.write(part));
      t.after(() => [client, node].map((each) => each.destroy()));
    });
    await once(relay.listen(0, '127.0.0.1'), 'listening');
    t.after(() => void relay.close());
    return `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  }
  const links = await Promise.all([0, 1, 2].map(startLink));
  const started = await startCluster(t, 3, {
    partsOf: (place) => ({ args: ['-http-adv-addr', links[place] ?? ''] }),
  });
  cluster = started;
  const { request } = await startService(t, {
    db: clusterAddress(links.map((link) => `http://${link}`)),
  });

  let count = 0;
  const write = async () => {
    const begun = performance.now();
    const { status, text } = await request('POST', '/notes', { json: { title: 't', body: 'b' } });
    assert.equal(status, 201, text);
    count += 1;
    const { json } = await request('GET', '/notes?limit=1');
    assert.equal(json.total, count);
    const tookMs = performance.now() - begun;
    assert.ok(tookMs < PATIENCE_MS, `${tookMs} ms`);
  };
  await write();
  const leader = started.nodes.indexOf(await started.nodeWhichIs('Leader'));
  cut.add(leader);
  for (let round = 0; round < 50; round += 1) await write();
  // The way goes over a node that then leads, or leads to another one.
  for (const [place, node] of started.nodes.entries())
    if (place !== leader) {
      await makeLeader(started, node);
      await write();
    }
  await makeLeader(started, started.nodes[leader] ?? assert.fail());
  await write();
  assert.ok(late.length > 0);
  cut.delete(leader);
  for (const arrive of late) arrive();
  for (let round = 0; round < 50; round += 1) await write();
  await until(async () => (await request('GET', '/health')).status === 200);
});
