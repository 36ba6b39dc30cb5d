// Two services on three real nodes. The leader is killed and a follower stopped, again and again:
// every acknowledged write is kept, once, and nothing else is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startCommand, stop } from '../support/command.ts';
import { clusterAddress } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { createLedger, Refused, writeOnce } from '../support/ledger.ts';
import { needsRqlited as skip, startNodes } from '../support/rqlite-nodes.ts';
import { assertSound } from '../support/stored-data.ts';
import { until } from '../support/until.ts';

const KILLS = 4;
const WRITERS = 8;

/** The number of acknowledged writes between one fault and the next. */
const BETWEEN = 100;

test(`cluster: nothing lost or done twice after ${KILLS} kills of leaders`, { skip }, async (t) => {
  const cluster = await startNodes(3);
  t.after(() => cluster.stop());
  const db = clusterAddress(cluster.nodes.map(({ url }) => url));
  const services = [1, 2].map(() =>
    startCommand(t, ['--port', '0', '--db', db, '--log-level', 'silent']),
  );
  const urls = await Promise.all(services.map((service) => service.ready()));
  const urlOf = (writer: number) => urls[writer % 2] ?? assert.fail();

  let [refused, over] = [0, false];
  const ledger = createLedger(() => {});

  async function keepWriting(writer: number): Promise<void> {
    for (let turn = 0; !over; turn += 1) {
      try {
        const title = `writer ${writer}, read ${turn}`;
        const path = await ledger.create(urlOf(writer), '/notes', { title, body: 'b' });
        // The other service must see it at once.
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

  for (let kill = 0; kill < KILLS; kill += 1) {
    await moreWrites(BETWEEN);
    const leader = await cluster.nodeWhichIs('Leader');
    await leader.signal('SIGKILL');
    await moreWrites(1);
    await leader.restart();

    // Two of three nodes are a majority.
    const follower = await cluster.nodeWhichIs('Follower');
    await follower.signal('SIGSTOP');
    await moreWrites(BETWEEN);
    await follower.signal('SIGCONT');
  }
  over = true;
  await writers;
  await ledger.verify(urlOf(0), 'all');
  await assertSound(db);
  for (const service of services) assert.equal((await stop(service)).status, 0);

  ledger.report(t, KILLS);
  t.diagnostic(`${refused} times 503`);
});
