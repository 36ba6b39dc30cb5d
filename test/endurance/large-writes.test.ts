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
const ROUND_MS = 3_000;
const WITHIN_MS = 1_000;
/** Another load on the machine may spoil one try, but not all. */
const TRIES = 3;

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
    const url = await startCommand(t, ['--port', '0', ...(await start(t))]).ready();
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    const perform = (method: string, path: string, parts: RequestParts) =>
      send(url, method, path, { ...parts, agent });
    for (let sent = 0; sent < TAGS; sent += 500)
      await perform('POST', '/tags', lines(...newNames(500).map((name) => ({ name }))));
    await perform('POST', '/notes', { json: NOTE });
    for (const [name, write] of Object.entries(WRITES)) {
      const longest: number[] = [];
      do {
        const ends = performance.now() + ROUND_MS;
        const [ordinary] = await Promise.all([
          sendUntil(ends, () => perform('POST', '/notes', { json: NOTE })),
          ...Array.from({ length: CLIENTS }, () => sendUntil(ends, () => perform(...write()))),
        ]);
        longest.push(ordinary);
      } while (Math.min(...longest) > WITHIN_MS && longest.length < TRIES);
      t.diagnostic(`${name}: ${longest.map(Math.round)} ms`);
      assert.ok(Math.min(...longest) <= WITHIN_MS, `${name}: a POST took ${longest} ms`);
    }
  });
}
