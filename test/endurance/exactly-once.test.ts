// Clients with idempotency keys repeat each request until it is answered, while connections break
// and processes and nodes are killed or hang. Every request is carried out exactly once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { allItems } from '../support/collections.ts';
import type { RequestParts } from '../support/http.ts';
import { between } from '../support/random.ts';
import type { RestartableService } from '../support/restartable-service.ts';
import { until } from '../support/until.ts';
import { type Ledger, testLedger } from './ledgers.ts';

const LINES = 5;

const MAX_PAUSE_MS = 40;

/** How many connections break while a process hangs. */
const MANY = 100;

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

async function beginCreations(service: RestartableService, t: TestContext): Promise<Ledger> {
  const { insist } = service;
  await insist('POST', '/notes', { json: { title: 'a', body: 'the note of comments' } });
  const texts = new Map<string, string[]>([
    ['/notes', ['the note of comments']],
    ['/tags', []],
    ['/notes/1/comments', []],
  ]);
  const agent = new Agent({ keepAlive: true });
  let isOver = false;
  t.after(() => {
    isOver = true;
    agent.destroy();
  });
  let [running, broken, replays] = [0, 0, 0];

  /** Breaks connections, as clients do that give up waiting. */
  async function keepBreaking(): Promise<void> {
    while (!isOver) {
      await delay(between(0, MAX_PAUSE_MS));
      const busy = Object.values(agent.sockets).flatMap((sockets) => sockets ?? []);
      const victim = busy[between(0, busy.length - 1)];
      if (between(0, 1) === 0) victim?.destroy();
      else victim?.resetAndDestroy();
      broken += Number(victim !== undefined);
    }
  }
  void keepBreaking();

  async function enter(number: number): Promise<void> {
    const { list, parts, texts: created } = creation(number);
    for (const text of created) texts.get(list)?.push(text);
    running += 1;
    const answer = await insist('POST', list, { ...parts, agent });
    assert.equal(answer.status, 201, answer.text);
    replays += Number(answer.headers['idempotent-replayed'] === 'true');
    const again = number % 10 > 0 ? undefined : await insist('POST', list, { ...parts, agent });
    running -= 1;
    if (!again) return;
    assert.deepEqual([again.status, again.text], [201, answer.text]);
    assert.equal(again.headers.location, answer.headers.location);
    assert.equal(again.headers['idempotent-replayed'], 'true');
  }

  return {
    enter,
    hang() {
      const enough = broken + MANY;
      return service.hangOne(() => until(() => running === 0 || broken >= enough));
    },
    async check() {
      for (const [list, expected] of texts) {
        const items = await allItems({ request: insist }, list);
        assert.deepEqual(items.map(({ body, name }) => body ?? name).sort(), expected.sort());
      }
      return `${broken} broken connections, ${replays} answers came only with a repetition`;
    },
  };
}

testLedger('idempotency: keys are used once', beginCreations, 10_000, 2_000);
