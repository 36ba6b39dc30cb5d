// Two services on three real nodes, whose leader is killed again and again while a follower is stopped now and then: what was
// acknowledged is there, once, and nothing else is. NOTES_TEST_LEADER_KILLS says how often, NOTES_TEST_KILL_MS how much time
// lies between two kills at least, NOTES_TEST_ELECTIONS=default that nodes elect as slowly as rqlite does by default.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startCommand, stop } from '../../support/command.ts';
import { clusterAddress } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { createLedger, Refused, writeOnce } from '../../support/ledger.ts';
import { needsRqlited as skip, startNodes } from '../../support/rqlite-nodes.ts';
import { assertSound } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

const KILLS = Number(process.env.NOTES_TEST_LEADER_KILLS ?? 4);
const KILL_MS = Number(process.env.NOTES_TEST_KILL_MS ?? 0);
const ELECTIONS = process.env.NOTES_TEST_ELECTIONS === 'default' ? 'default' : 'fast';
const WRITERS = 8;

/** How many writes are acknowledged between one blow and the next. */
const BETWEEN = 100;

/** After a kill writes go on within this time. */
const RESUMED_MS = 5_000;

test(`nothing is lost or done twice when the leader is killed ${KILLS} times`, { skip }, async (t) => {
  const cluster = await startNodes(3, { elections: ELECTIONS });
  t.after(() => cluster.stop());
  const db = clusterAddress(cluster.nodes.map(({ url }) => url));
  const services = [1, 2].map(() => startCommand(t, ['--port', '0', '--db', db, '--log-level', 'silent']));
  const urls = await Promise.all(services.map((service) => service.ready()));
  const urlOf = (writer: number) => urls[writer % 2] ?? assert.fail();

  let [lastMs, longestMs, refused, over] = [performance.now(), 0, 0, false];
  const ledger = createLedger(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs);
    lastMs = performance.now();
  });

  async function keepWriting(writer: number): Promise<void> {
    for (let turn = 0; !over; turn += 1) {
      try {
        const title = `writer ${writer}, read ${turn}`;
        const path = await ledger.create(urlOf(writer), '/notes', { title, body: 'b' });
        // By the other service, at once.
        const { status, text } = await request(urlOf(writer + 1), 'GET', path);
        if (status !== 503) assert.equal(JSON.parse(text).title, title);
        if (turn % 8 === 0) await writeOnce(urlOf(writer), ledger, `writer ${writer}`, turn);
      } catch (error) {
        assert.ok(error instanceof Refused, error as Error);
        refused += 1;
        await nextTurn();
      }
    }
  }

  const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => keepWriting(writer)));
  const moreWrites = async (count: number) => {
    const enough = ledger.acknowledged() + count;
    await Promise.race([until(() => ledger.acknowledged() >= enough), writers]);
  };
  const nodeWhichIs = async (state: string) => {
    let states: (string | undefined)[] = [];
    await until(async () => {
      states = await Promise.all(cluster.nodes.map((node) => node.state()));
      return states.includes(state);
    });
    return cluster.nodes[states.indexOf(state)] ?? assert.fail();
  };

  const resumedMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const nextMs = performance.now() + KILL_MS;
    await moreWrites(BETWEEN);
    const leader = await nodeWhichIs('Leader');
    await leader.signal('SIGKILL');
    const killedMs = performance.now();
    await moreWrites(1);
    resumedMs.push(performance.now() - killedMs);
    await leader.restart();

    // Most of the nodes go on without one that hangs.
    const follower = await nodeWhichIs('Follower');
    await follower.signal('SIGSTOP');
    await moreWrites(BETWEEN);
    await follower.signal('SIGCONT');
    while (performance.now() < nextMs) await moreWrites(BETWEEN);
  }
  over = true;
  await writers;
  await ledger.verify(urlOf(0), 'all');
  await assertSound(db);
  for (const service of services) assert.equal((await stop(service)).status, 0);

  const { done, undone } = ledger.inDoubt();
  t.diagnostic(`${KILLS} kills, ${ledger.acknowledged()} acknowledged writes, all there once; ${refused} times 503`);
  t.diagnostic(`${done + undone} writes without an answer: ${done} wholly there, ${undone} not at all`);
  const inMs = (ms: number) => `${ms.toFixed(0)} ms`;
  t.diagnostic(
    `writes went on after ${resumedMs.map(inMs).join(', ')}; the longest time without one: ${inMs(longestMs)}`,
  );
  assert.ok(Math.max(...resumedMs) < RESUMED_MS, `${resumedMs}`);
});
