// A leader that this service cannot reach, although the other nodes do: they forward to it, until
// it answers again. Whoever leads then is compared with the other nodes as before.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { notes } from '../../src/resources/notes.ts';
import type { ReadLevel } from '../../src/rqlite/address.ts';
import { Cluster } from '../../src/rqlite/cluster.ts';
import { openRqlite } from '../../src/rqlite/engine.ts';
import { DatabaseUnavailable } from '../../src/storage/database.ts';
import { openCluster } from '../support/engines.ts';
import { limitCluster, startStandIn } from '../support/rqlite-stand-in.ts';
import { plainTable } from '../support/tables.ts';
import { until } from '../support/until.ts';

const LIMITS = {
  ...{ firstPauseMs: 2, maxPauseMs: 20, nodeMs: 200, silentMs: 3_600_000, refusalMs: 0 },
  ...{ recheckMs: Number.POSITIVE_INFINITY, quietMs: Number.POSITIVE_INFINITY },
};

/** Opens three nodes, of which node 0 leads and has one note. */
async function start(t: TestContext, level?: ReadLevel) {
  limitCluster(t, LIMITS);
  const standIn = await startStandIn(t, 3);
  const database = await openCluster(t, standIn.nodes, level);
  const table = plainTable(notes, database);
  assert.equal(await table.create(['first', 'b']), 1);
  return { standIn, database, notes: table };
}

const titleOf = (record: string | null | undefined) => JSON.parse(record ?? '{}').title;

for (const level of ['linearizable', 'weak'] as const)
  test(`silent link: with ${level} reads, another node forwards until it is back`, async (t) => {
    const { standIn, notes } = await start(t, level);
    standIn.cutOff(0);
    assert.equal(await notes.create(['second', 'b']), 2);
    assert.equal(titleOf(await notes.read(2)), 'second');
    const { ignored, forwarded } = standIn;
    const before = ignored.length;
    assert.deepEqual([await notes.create(['third', 'b']), ignored.length], [3, before]);
    assert.ok(forwarded.execute > 1 && forwarded.query > 0, JSON.stringify(forwarded));
    // It is pinged, and otherwise left alone.
    limitCluster(t, { silentMs: 0 });
    assert.equal(await notes.create(['fourth', 'b']), 4);
    await until(() => ignored.length > before);
    assert.deepEqual([...new Set(ignored.slice(before))], ['/readyz']);
    standIn.mend(0);
    let count = 4;
    await until(async () => {
      const { execute } = forwarded;
      count += 1;
      assert.equal(await notes.create(['later', 'b']), count);
      return forwarded.execute === execute;
    });
  });

test('silent link: nodes that wait for a silent leader are asked again, not it', async (t) => {
  const { standIn, notes } = await start(t);
  standIn.silence(0);
  const waiting = notes.create(['second', 'b']);
  const { execute } = standIn.requests;
  // The others wait for the leader themselves, but they answer pings.
  await until(() => standIn.requests.execute >= execute + 8);
  assert.equal(standIn.ignored.filter((path) => path.startsWith('/db/')).length, 1);
  standIn.elect(1);
  assert.equal(await waiting, 2);
});

for (const next of [0, 1, 2])
  test(`silent link: node ${next} leads next, and has missed no write, or one`, async (t) => {
    for (const isFull of [false, true]) {
      const { standIn, database, notes } = await start(t);
      standIn.cutOff(0);
      assert.equal(await notes.create(['second', 'b']), 2);
      // Another service reaches all nodes.
      standIn.mend(0);
      const other = await openCluster(t, standIn.nodes);
      if (isFull) standIn.fillDisk(next);
      standIn.elect(next === 1 ? 2 : 1);
      await other.transact([]);
      standIn.cutOff(0);
      standIn.elect(next);
      // Nothing was asked while another node led.
      if (next === 0) limitCluster(t, { quietMs: 0 });
      if (isFull) {
        const names = `(?:raft-${next}|${standIn.nodes[next]})`;
        const refusal = { message: new RegExp(`^the leader ${names} does not have`) };
        await assert.rejects(notes.read(1), refusal);
        await assert.rejects(notes.create(['lost', 'b']), refusal);
      } else {
        assert.equal(titleOf(await notes.read(2)), 'second');
        assert.equal(await notes.create(['third', 'b']), 3);
        const { execute } = standIn.forwarded;
        assert.equal(await notes.create(['fourth', 'b']), 4);
        assert.equal(standIn.forwarded.execute > execute, next === 0);
      }
      await database.close();
    }
  });

test('silent link: an answer over a way that is left does not tell who leads', async (t) => {
  const { standIn } = await start(t);
  standIn.cutOff(0);
  using cluster = new Cluster({ nodes: standIn.nodes, user: undefined, password: undefined });
  const ask = () => cluster.send('/db/query?redirect&level=weak', [['SELECT 1']]);
  const { node, leadership } = await ask();
  assert.deepEqual([node, leadership], ['raft-0', cluster.leadership]);
  standIn.faults.push({ fault: 'slow', of: 'query' });
  const slow = ask();
  await until(() => standIn.faults.length === 0);
  standIn.mend(0);
  limitCluster(t, { silentMs: 0 });
  await until(async () => (await ask()).node === standIn.nodes[0]);
  const late = await slow;
  assert.deepEqual([late.node, late.leadership], ['raft-0', Number.NaN]);
});

test('silent link: the data of a leader are not those of the next one', async (t) => {
  const { standIn } = await start(t);
  standIn.cutOff(0);
  using cluster = new Cluster({ nodes: standIn.nodes, user: undefined, password: undefined });
  const { node } = await cluster.send('/db/query?redirect&level=weak', [['SELECT 1']]);
  assert.equal((await cluster.ask(node, ['SELECT 1'])).length, 1);
  for (const next of [1, 2]) {
    standIn.elect(next);
    await assert.rejects(cluster.ask(node, ['SELECT 1']), /raft-0 does not lead$/);
  }
});

test('silent link: a copy of all data is not forwarded, which could cut it off', async (t) => {
  const { standIn, notes } = await start(t);
  standIn.cutOff(0);
  assert.equal(await notes.create(['second', 'b']), 2);
  limitCluster(t, { clusterMs: 1_000 });
  const { nodes } = standIn;
  const copied = await openRqlite({ nodes, user: undefined, password: undefined }, 'weak');
  t.after(() => copied.close());
  await assert.rejects(copied.copyTo('/dev/null'), DatabaseUnavailable);
  assert.equal(standIn.forwarded.backup, 0);
  assert.equal(await notes.create(['third', 'b']), 3);
});

test('silent link: what arrives after 20,000 other batches is not carried out again', async (t) => {
  const { standIn, database, notes } = await start(t);
  standIn.faults.push({ fault: 'held', of: 'execute' });
  limitCluster(t, { slowMs: 50 });
  assert.equal(await notes.create(['second', 'b']), 2);
  const age = `UPDATE notes_server_batches SET number = number + 30000
    WHERE number = (SELECT max(number) FROM notes_server_batches)`;
  await database.transact([{ sql: age }]);
  assert.equal(await notes.create(['third', 'b']), 3);
  await standIn.release();
  assert.equal((await notes.page(10, 0))?.total, 3);
});
