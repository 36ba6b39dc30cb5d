// Clients with idempotency keys repeat each request until it is answered, while connections break
// and processes and nodes are killed or hang. Every request is carried out exactly once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { allItems } from '../support/collections.ts';
import { newFile } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import type { RequestParts } from '../support/http.ts';
import { between } from '../support/ledger.ts';
import {
  type RestartableService,
  startRestartable,
  withKills,
} from '../support/restartable-service.ts';
import { needsRqlited, replaceLeader, startNodes } from '../support/rqlite-nodes.ts';
import { assertSound } from '../support/stored-data.ts';
import { until } from '../support/until.ts';

const CLIENTS = 32;
const LINES = 5;

const MAX_PAUSE_MS = 40;

/** Breaks connections of `agent` until it is stopped, as clients do that give up waiting. */
function breakConnections(agent: Agent) {
  const breaker = { broken: 0, over: false, ended: Promise.resolve() };
  async function run(): Promise<void> {
    while (!breaker.over) {
      await delay(between(0, MAX_PAUSE_MS));
      const busy = Object.values(agent.sockets).flatMap((sockets) => sockets ?? []);
      const victim = busy[between(0, busy.length - 1)];
      if (!victim) continue;
      if (between(0, 1) === 0) victim.destroy();
      else victim.resetAndDestroy();
      breaker.broken += 1;
    }
  }
  breaker.ended = run();
  return breaker;
}

/** What a request with a key creates: its list, its parts, the distinct texts of its records. */
function creation(number: number): { list: string; parts: RequestParts; texts: string[] } {
  const headers = { 'idempotency-key': `"${randomUUID()}"` };
  const text = `text ${number}`;
  switch (number % 10) {
    case 0: {
      const texts = Array.from({ length: LINES }, (_, line) => `${text}, line ${line}`);
      const body = texts.map((each) => JSON.stringify({ title: 'a', body: each })).join('\n');
      const type = { 'content-type': 'application/x-ndjson' };
      return { list: '/notes', parts: { body, headers: { ...headers, ...type } }, texts };
    }
    case 1:
      return { list: '/tags', parts: { json: { name: text }, headers }, texts: [text] };
    case 2:
    case 3:
      return { list: '/notes/1/comments', parts: { json: { body: text }, headers }, texts: [text] };
    default:
      return {
        list: '/notes',
        parts: { json: { title: 'a', body: text }, headers },
        texts: [text],
      };
  }
}

async function createOnce(
  t: TestContext,
  db: string,
  keys: number,
  killsOf: (service: RestartableService, hang: () => Promise<void>) => (() => Promise<void>)[],
): Promise<void> {
  const service = await startRestartable(t, db);
  await service.insist('POST', '/notes', { json: { title: 'a', body: 'the note of comments' } });
  const texts = new Map<string, string[]>([
    ['/notes', ['the note of comments']],
    ['/tags', []],
    ['/notes/1/comments', []],
  ]);
  let [next, done, replays] = [0, 0, 0];
  const agent = new Agent({ keepAlive: true });
  const breaker = breakConnections(agent);
  const breaks = (count: number) => {
    const enough = breaker.broken + count;
    return until(() => breaker.over || breaker.broken >= enough);
  };

  async function keepCreating(): Promise<void> {
    while (next < keys && !breaker.over) {
      const { list, parts, texts: created } = creation(next);
      next += 1;
      for (const text of created) texts.get(list)?.push(text);
      const answer = await service.insist('POST', list, { ...parts, agent });
      assert.equal(answer.status, 201, answer.text);
      const isReplay = answer.headers['idempotent-replayed'] === 'true';
      replays += Number(isReplay);
      done += 1;
      if (done % 10 > 0) continue;
      const again = await service.insist('POST', list, { ...parts, agent });
      assert.deepEqual([again.status, again.text], [201, answer.text]);
      assert.equal(again.headers.location, answer.headers.location);
      assert.equal(again.headers['idempotent-replayed'], 'true');
    }
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, keepCreating));
  const manyBreaks = () => Promise.race([breaks(3 * CLIENTS), clients.then(() => {})]);
  const kills = killsOf(service, () => service.hangOne(manyBreaks));
  try {
    await withKills(clients, { done: () => done, total: keys }, kills);
  } finally {
    breaker.over = true;
    await breaker.ended;
    agent.destroy();
  }

  for (const [list, expected] of texts) {
    const items = await allItems({ request: service.insist }, list);
    assert.deepEqual(items.map(({ body, name }) => body ?? name).sort(), expected.sort());
  }
  await service.stop();
  await assertSound(db);
  t.diagnostic(
    `${done} keys, ${service.failures()} failures, ${breaker.broken} broken connections`,
  );
  t.diagnostic(`${replays} requests were carried out although their answer was lost`);
}

test('idempotency: 10,000 keys are used once, whatever breaks', (t) =>
  createOnce(t, newFile(t), 10_000, ({ killOne, killAll }, hang) => [
    ...[killOne, killAll, hang, killOne, killAll, hang],
  ]));

test('idempotency: keys on a cluster are used once', { skip: needsRqlited }, async (t) => {
  const cluster = await startNodes(3);
  t.after(() => cluster.stop());
  const db = clusterAddress(cluster.nodes.map(({ url }) => url));
  const killLeader = () => replaceLeader(cluster);
  await createOnce(t, db, 2_000, ({ killOne, killAll }, hang) => [
    ...[killLeader, killOne, killLeader, killAll, hang, killLeader],
  ]);
});
