// The largest writes of ten clients hold up nobody: an ordinary write beside them is carried out
// within a second or refused, and every request gets an answer.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { startCommand } from '../support/command.ts';
import { clusterAddress } from '../support/engine.ts';
import { type Answer, type RequestParts, send } from '../support/http.ts';
import { startStandIn } from '../support/rqlite-stand-in.ts';
import { lines, NOTE } from '../support/tagged-notes.ts';

const CLIENTS = 10;
const ROUND_MS = 2_000;
const WITHIN_MS = 1_000;
/** On a slow machine, an ordinary write takes this part of a large one, which waits for nine. */
const WITHIN_PART = 0.5;
/** Another load on the machine, which slows the clients too, may spoil some tries, but not all. */
const TRIES = 5;

const TAGS = 5_000;

const DEPLOYMENTS: Record<string, (t: TestContext) => Promise<string[]>> = {
  'a file': async () => [],
  'two processes': async () => ['--processes', '2'],
  'the stand-in of a cluster': async (t) => ['--db', clusterAddress((await startStandIn(t)).nodes)],
};

let names = 0;
const newNames = (count: number) =>
  Array.from({ length: count }, () => {
    names += 1;
    return `name ${names}`;
  });
const someIds = (count: number) => {
  const first = 1 + Math.floor(Math.random() * (TAGS - count));
  return Array.from({ length: count }, (_, index) => first + index);
};
const notesWith = (count: number, members: () => object) =>
  lines(...Array.from({ length: count }, () => ({ ...NOTE, ...members() })));

const WRITES: Record<string, () => [method: string, path: string, parts: RequestParts]> = {
  'lines with new names': () => ['POST', '/notes', notesWith(500, () => ({ tags: newNames(10) }))],
  'lines with ids': () => ['POST', '/notes', notesWith(50, () => ({ tag_ids: someIds(100) }))],
  'patches with new names': () => ['PATCH', '/notes/1', { json: { tags: newNames(100) } }],
  'replacements with ids': () => ['PUT', '/notes/1', { json: { ...NOTE, tag_ids: someIds(100) } }],
};

/** Sends as many requests as are answered until `ends`; resolves with the longest time of a 2xx. */
async function sendUntil(ends: number, request: () => Promise<Answer>): Promise<number> {
  let longest = 0;
  while (performance.now() < ends) {
    const started = performance.now();
    const { status, headers, text } = await request();
    if (status === 503) assert.match(String(headers['retry-after']), /^\d+$/);
    else assert.ok(status === 200 || status === 201, `${status} ${text}`);
    if (status !== 503) longest = Math.max(longest, performance.now() - started);
  }
  return longest;
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS)) {
  test(`large writes: they hold up no ordinary write, with ${deployment}`, async (t) => {
    // An idle connection may end at any time, which is not what this test is about.
    const args = ['--port', '0', '--idle-timeout', '300', ...(await start(t))];
    const url = await startCommand(t, args).ready();
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    const perform = (method: string, path: string, parts: RequestParts) =>
      send(url, method, path, { ...parts, agent });
    for (let sent = 0; sent < TAGS; sent += 500)
      await perform('POST', '/tags', lines(...newNames(500).map((name) => ({ name }))));
    await perform('POST', '/notes', { json: NOTE });
    for (const [name, write] of Object.entries(WRITES)) {
      const tries: string[] = [];
      let isHeldUp: boolean;
      do {
        const ends = performance.now() + ROUND_MS;
        const [ordinary, ...large] = await Promise.all([
          sendUntil(ends, () => perform('POST', '/notes', { json: NOTE })),
          ...Array.from({ length: CLIENTS }, () => sendUntil(ends, () => perform(...write()))),
        ]);
        isHeldUp = ordinary > Math.max(WITHIN_MS, WITHIN_PART * Math.max(...large));
        tries.push(`${Math.round(ordinary)} ms beside ${Math.round(Math.max(...large))} ms`);
      } while (isHeldUp && tries.length < TRIES);
      t.diagnostic(`${name}: ${tries}`);
      assert.ok(!isHeldUp, `${name}: ${tries}`);
    }
  });
}
