// Three real nodes whose leader is killed again and again, or stopped and continued, while two services write: what was
// acknowledged is there, once, and nothing else is. NOTES_TEST_LEADER_KILLS says how often.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notes } from '../../src/collections/notes.ts';
import { DatabaseUnavailable } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrations.ts';
import { openRqlite } from '../../src/storage/rqlite.ts';
import { createTable } from '../../src/storage/table.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { until } from '../service/until.ts';
import { type RealNode, RQLITED, startNodes } from './rqlite-nodes.ts';

const KILLS = Number(process.env.NOTES_TEST_LEADER_KILLS ?? 6);
const WRITERS = 8;
/** How many writes are acknowledged between two blows. */
const BETWEEN = 100;

const missing = RQLITED ? false : 'NOTES_TEST_RQLITED names no rqlited';

test(`nothing is lost or done twice when the leader is killed or stopped ${KILLS} times`, {
  skip: missing,
}, async (t) => {
  const cluster = await startNodes(3);
  t.after(() => cluster.stop());
  const address = { nodes: cluster.nodes.map(({ url }) => url), user: undefined, password: undefined };
  const tables = await Promise.all(
    [1, 2].map(async () => {
      const database = await openRqlite(address, 'linearizable');
      t.after(() => database.close());
      await migrate(database);
      return createTable(notes.shape, database, createWriter(database));
    }),
  );
  const sent = new Set<string>();
  const acknowledged = new Map<number, string>();
  let over = false;
  let unanswered = 0;
  let longestGapMs = 0;
  let lastMs = performance.now();

  async function keepWriting(writer: number): Promise<void> {
    const table = tables[writer % 2];
    for (let count = 0; !over; count += 1) {
      const title = `${writer}.${count}`;
      sent.add(title);
      try {
        const id = await table?.create([title, 'b']);
        assert.ok(id !== undefined && !acknowledged.has(id), `${id} was given twice`);
        acknowledged.set(id, title);
        longestGapMs = Math.max(longestGapMs, performance.now() - lastMs);
        lastMs = performance.now();
        // By the other service, at once.
        const read = await tables[(writer + 1) % 2]?.read(id);
        assert.equal(JSON.parse(read ?? '{}').title, title);
      } catch (error) {
        assert.ok(error instanceof DatabaseUnavailable, error as Error);
        unanswered += 1;
      }
    }
  }

  const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => keepWriting(writer)));
  for (let blow = 0; blow < KILLS; blow += 1) {
    const enough = acknowledged.size + BETWEEN;
    await Promise.race([until(() => acknowledged.size >= enough), writers]);
    const leader = await leaderOf(cluster.nodes);
    await leader.signal(blow % 3 === 2 ? 'SIGSTOP' : 'SIGKILL');
    const resumed = acknowledged.size + 1;
    await Promise.race([until(() => acknowledged.size >= resumed), writers]);
    if (blow % 3 === 2) await leader.signal('SIGCONT');
    else await leader.restart();
  }
  over = true;
  await writers;

  const stored = new Map<string, number>();
  for (let offset = 0; ; offset += 100) {
    const page = await tables[0]?.page(100, offset);
    const items: { id: number; title: string }[] = JSON.parse(page?.items ?? '[]');
    for (const { id, title } of items) {
      assert.ok(!stored.has(title), `${title} was done twice`);
      assert.ok(sent.has(title), `${title} was never sent`);
      stored.set(title, id);
    }
    if (items.length < 100) break;
  }
  for (const [id, title] of acknowledged) assert.equal(stored.get(title), id, `${title} is lost`);
  assert.ok(stored.size - acknowledged.size <= unanswered);
  t.diagnostic(
    `${KILLS} blows, ${acknowledged.size} acknowledged writes, all there once; ${unanswered} without an answer, of which ` +
      `${stored.size - acknowledged.size} were done; the longest time without a write ${longestGapMs.toFixed(0)} ms`,
  );
});

test('a node that has just been started again tells all that was acknowledged', { skip: missing }, async (t) => {
  const cluster = await startNodes(1);
  t.after(() => cluster.stop());
  const [node] = cluster.nodes;
  assert.ok(node);
  const database = await openRqlite({ nodes: [node.url], user: undefined, password: undefined }, 'linearizable');
  t.after(() => database.close());
  await migrate(database);
  const table = createTable(notes.shape, database, createWriter(database));
  for (let round = 1; round <= 3; round += 1) {
    // One after the other: each is an entry of the log that the node must carry out again.
    for (let count = 0; count < 200; count += 1) await table.create(['a', 'b']);
    await node.signal('SIGKILL');
    await node.restart();
    const [id, page] = await Promise.all([table.create(['a', 'b']), table.page(1, 0)]);
    assert.deepEqual([id, (page?.total ?? 0) >= 201 * round - 1], [201 * round, true]);
  }
});

async function leaderOf(nodes: readonly RealNode[]): Promise<RealNode> {
  let leader: RealNode | undefined;
  await until(async () => {
    const states = await Promise.all(nodes.map(({ url }) => stateOf(url)));
    leader = nodes[states.indexOf('Leader')];
    return leader !== undefined;
  });
  return leader ?? assert.fail();
}

async function stateOf(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${url}/status`, { signal: AbortSignal.timeout(1_000) });
    return ((await answer.json()) as { store: { raft: { state: string } } }).store.raft.state;
  } catch {
    return undefined;
  }
}
