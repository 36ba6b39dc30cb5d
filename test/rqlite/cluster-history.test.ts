// A node of a cluster that misses a write, as if its disk were full: nothing is answered from it
// when it leads, and the service goes on when another node leads.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { notes } from '../../src/resources/notes.ts';
import { openRqlite } from '../../src/rqlite/engine.ts';
import { DatabaseUnavailable, DatabaseUncertain } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/schema/migrations.ts';
import { limitCluster, type StandIn, startStandIn } from '../support/rqlite-stand-in.ts';
import { plainTable } from '../support/tables.ts';
import { until } from '../support/until.ts';

const LIMITS = {
  ...{ firstPauseMs: 2, maxPauseMs: 20, comparisonMs: 200, refusalMs: 0 },
  recheckMs: Number.POSITIVE_INFINITY,
};

/** Opens a table of notes on the cluster, as one service does. */
async function openService(t: TestContext, { nodes }: StandIn, known = nodes) {
  const warnings: string[] = [];
  const address = { nodes: known, user: undefined, password: undefined };
  const database = await openRqlite(address, 'linearizable', {
    warn: (message) => warnings.push(message),
  });
  t.after(() => database.close());
  await migrate(database);
  return { database, warnings, notes: plainTable(notes, database) };
}

async function start(t: TestContext, count = 3) {
  limitCluster(t, LIMITS);
  const standIn = await startStandIn(t, count);
  return { standIn, ...(await openService(t, standIn)) };
}

/** Repeats a call while it is refused, as long as a comparison lasts that began before. */
async function whenProven<T>(call: () => Promise<T>): Promise<T> {
  let result: T | undefined;
  await until(async () => {
    result = await call().catch((error) => {
      assert.ok(isRefusal(error), error);
      return undefined;
    });
    return result !== undefined;
  });
  return result ?? assert.fail();
}

const isRefusal = (error: unknown) =>
  error instanceof DatabaseUnavailable && !(error instanceof DatabaseUncertain);

/** Returns an assertion that an error names the leader, and says that nothing was changed. */
const refuses =
  ({ nodes }: StandIn, leader: number) =>
  (error: unknown) =>
    isRefusal(error) &&
    error instanceof Error &&
    error.message.includes(`the leader ${nodes[leader]} `) &&
    /empty a node that has missed writes/.test(error.message);

for (const count of [3, 5]) {
  test(`cluster history: a leader of ${count} nodes that missed a write is refused`, async (t) => {
    const { standIn, database, warnings, notes } = await start(t, count);
    standIn.fillDisk(1);
    assert.equal(await notes.create(['a', 'b']), 1);
    assert.equal(await notes.create(['c', 'd']), 2);
    standIn.elect(1);
    await assert.rejects(notes.read(1), refuses(standIn, 1));
    await assert.rejects(notes.create(['e', 'f']), refuses(standIn, 1));
    await assert.rejects(database.ping(), refuses(standIn, 1));
    standIn.elect(2);
    assert.equal(await notes.create(['g', 'h']), 3);
    assert.deepEqual(JSON.parse((await notes.read(1)) ?? '').title, 'a');
    // Each is logged once: as the leader, and as another node.
    assert.equal(warnings.length, 2);
    for (const warning of warnings) assert.ok(warning.includes(standIn.nodes[1] ?? ''), warning);
    assert.equal(await notes.create(['i', 'j']), 4);
    assert.equal(warnings.length, 2);
  });
}

test('cluster history: another node leads at once, where this is allowed', async (t) => {
  const { standIn, notes } = await start(t);
  standIn.mayReplaceLeader = true;
  standIn.fillDisk(1);
  assert.equal(await notes.create(['a', 'b']), 1);
  standIn.elect(1);
  await assert.rejects(notes.read(1), refuses(standIn, 1));
  await until(async () => (await notes.read(1).catch(() => undefined)) !== undefined);
  assert.equal(await notes.create(['c', 'd']), 2);
});

test('cluster history: a write on which the leader fails is uncertain', async (t) => {
  const { standIn, notes } = await start(t);
  standIn.fillDisk(0);
  await assert.rejects(notes.create(['a', 'b']), DatabaseUncertain);
  await assert.rejects(notes.create(['c', 'd']), refuses(standIn, 0));
  await assert.rejects(notes.read(1), refuses(standIn, 0));
  standIn.elect(1);
  assert.equal(await whenProven(() => notes.create(['e', 'f'])), 2);
  assert.equal(JSON.parse((await notes.read(1)) ?? '').title, 'a');
});

test('cluster history: a leader fails on the write of another service', async (t) => {
  const { standIn, notes } = await start(t);
  const other = await openService(t, standIn);
  await notes.create(['a', 'b']);
  standIn.fillDisk(0);
  await assert.rejects(other.notes.create(['c', 'd']), DatabaseUncertain);
  // Sound nodes have carried it out after the write of the other service.
  await assert.rejects(notes.create(['e', 'f']), DatabaseUncertain);
  await assert.rejects(notes.create(['g', 'h']), refuses(standIn, 0));
  standIn.elect(2);
  assert.equal(await whenProven(() => notes.create(['i', 'j'])), 4);
  assert.equal(await whenProven(() => other.notes.create(['k', 'l'])), 5);
});

test('cluster history: an error of a leader that missed a write is no outcome', async (t) => {
  const { standIn, database } = await start(t);
  const other = await openService(t, standIn);
  standIn.fillDisk(0);
  await assert.rejects(other.notes.create(['a', 'b']), DatabaseUncertain);
  // It fails where the note is missing.
  const sql = `INSERT INTO comments (note_id, body) VALUES (1, 'c')`;
  await assert.rejects(database.transact([{ sql }]), DatabaseUncertain);
  standIn.elect(1);
  const counting = 'SELECT count(*) AS count FROM comments';
  const found = await whenProven(() => database.read({ sql: counting }));
  assert.deepEqual(found, [{ count: 1 }]);
});

test('cluster history: a service does not start on a leader that missed a write', async (t) => {
  const { standIn, notes } = await start(t);
  standIn.fillDisk(1);
  await notes.create(['a', 'b']);
  standIn.elect(1);
  await assert.rejects(openService(t, standIn), refuses(standIn, 1));
  standIn.elect(0);
  const { notes: later } = await openService(t, standIn);
  assert.equal(JSON.parse((await later.read(1)) ?? '').title, 'a');
});

test('cluster history: a leader that led before, and missed a write between', async (t) => {
  const { standIn, notes } = await start(t);
  const other = await openService(t, standIn);
  standIn.elect(1);
  standIn.fillDisk(0);
  assert.equal(await other.notes.create(['a', 'b']), 1);
  standIn.elect(0);
  limitCluster(t, { quietMs: 0 });
  await assert.rejects(notes.read(1), refuses(standIn, 0));
});

test('cluster history: reads of a lone address are refused without the own write', async (t) => {
  limitCluster(t, LIMITS);
  const standIn = await startStandIn(t, 3);
  const { notes } = await openService(t, standIn, standIn.nodes.slice(1, 2));
  standIn.fillDisk(1);
  assert.equal(await notes.create(['a', 'b']), 1);
  standIn.elect(1);
  await assert.rejects(notes.read(1), refuses(standIn, 1));
});

for (const [what, fillings, leaders] of [
  ['different writes', [[1], [2]], [1]],
  // The one node that has it is in the minority: nobody can tell whether it has all writes.
  ['the same write', [[1, 2]], [1, 2, 0]],
] as const) {
  test(`cluster history: a majority that missed ${what} is refused`, async (t) => {
    const { standIn, notes } = await start(t);
    for (const nodes of fillings) {
      for (const node of nodes) standIn.fillDisk(node);
      await notes.create(['a', 'b']);
    }
    for (const leader of leaders) {
      standIn.elect(leader);
      await assert.rejects(openService(t, standIn), refuses(standIn, leader));
    }
  });
}

test('cluster history: nodes that missed a write know it, also without the others', async (t) => {
  const { standIn, notes } = await start(t);
  standIn.fillDisk(1);
  standIn.fillDisk(2);
  for (const id of [1, 2, 3]) assert.equal(await notes.create(['a', 'b']), id);
  standIn.silence(0);
  standIn.elect(1);
  await assert.rejects(openService(t, standIn), refuses(standIn, 1));
  // It knows no earlier batch.
  await assert.rejects(openService(t, standIn), /has missed writes; empty/);
});

test('cluster history: a service that only reads notices that its leader has failed', async (t) => {
  const { standIn, notes, warnings } = await start(t);
  const other = await openService(t, standIn);
  await notes.create(['a', 'b']);
  standIn.fillDisk(0);
  await assert.rejects(other.notes.create(['c', 'd']), DatabaseUncertain);
  limitCluster(t, { recheckMs: 0 });
  await until(() => notes.read(1).then(() => false, refuses(standIn, 0)));
  assert.ok(warnings.some((warning) => warning.includes(`the leader ${standIn.nodes[0]} `)));
});

test('cluster history: a node that does not lead is named soon', async (t) => {
  const { standIn, notes, warnings } = await start(t);
  standIn.fillDisk(2);
  await notes.create(['a', 'b']);
  assert.deepEqual(warnings, []);
  limitCluster(t, { recheckMs: 0 });
  await notes.create(['c', 'd']);
  await until(() => warnings.length > 0);
  assert.match(warnings.join(), new RegExp(`^the node ${standIn.nodes[2]} does not have`));
  assert.equal(await notes.create(['e', 'f']), 3);
});

test('cluster history: silent nodes do not stop a leader that is proven', async (t) => {
  const { standIn, notes } = await start(t);
  await notes.create(['a', 'b']);
  standIn.silence(1);
  standIn.silence(2);
  limitCluster(t, { recheckMs: 100, nodeMs: 100 });
  // Reads begin comparisons, and the first ones end meanwhile.
  const { execute } = standIn.requests;
  while (standIn.requests.execute < execute + 5) await notes.read(1);
  assert.equal(await notes.create(['c', 'd']), 2);
});

test('cluster history: a silent node does not matter, a majority does', async (t) => {
  const { standIn, notes } = await start(t);
  standIn.silence(2);
  standIn.elect(1);
  assert.equal(await notes.create(['a', 'b']), 1);
  standIn.silence(0);
  standIn.elect(1);
  await assert.rejects(notes.create(['c', 'd']), DatabaseUncertain);
  await assert.rejects(notes.create(['e', 'f']), refuses(standIn, 1));
});

test('cluster history: nodes are compared only when something may have happened', async (t) => {
  const { standIn, notes } = await start(t);
  await notes.create(['a', 'b']);
  const comparisons = () => standIn.levels.filter((level) => level === 'none').length;
  const before = comparisons();
  for (let round = 0; round < 5; round += 1) await notes.create(['c', 'd']);
  await notes.read(1);
  assert.equal(comparisons(), before);
  standIn.elect(1);
  await notes.create(['e', 'f']);
  assert.ok(comparisons() > before);
});
