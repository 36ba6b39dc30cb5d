// The command `check` compares the nodes of a cluster.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { notes } from '../../../src/resources/notes.ts';
import { REMEDY } from '../../../src/rqlite/batches.ts';
import { assertRefused, runCommand } from '../../support/command.ts';
import { clusterAddress } from '../../support/engine.ts';
import { openCluster } from '../../support/engines.ts';
import { send } from '../../support/http.ts';
import { limitCluster, startStandIn } from '../../support/rqlite-stand-in.ts';
import { nodeFaults } from '../../support/stored-data.ts';
import { plainTable } from '../../support/tables.ts';

/** Returns a cluster of three nodes with two notes, and its faults with numbers for the nodes. */
async function start(t: TestContext) {
  const standIn = await startStandIn(t, 3);
  const table = plainTable(notes, await openCluster(t, standIn.nodes));
  await table.create(['a', 'b']);
  await table.create(['c', 'd']);
  const db = clusterAddress(standIn.nodes);
  const faults = async () =>
    (await nodeFaults(db)).map((line) =>
      line.replace(/http:\S+/, (url) => `node ${standIn.nodes.indexOf(url)}`),
    );
  return { standIn, table, db, faults };
}

test('check: nodes with the same data, also while it is written', async (t) => {
  const { standIn, table, db, faults } = await start(t);
  const { status, stdout } = await runCommand(t, ['check', db]);
  assert.deepEqual([status, stdout], [0, `${db}: ok\n`]);
  standIn.delayReads(2);
  let isOver = false;
  const writing = (async () => {
    for (let count = 0; !isOver; count += 1)
      await Promise.all([table.create(['e', 'f']), table.replace(1, ['g', `${count}`])]);
  })();
  assert.deepEqual(await faults(), []);
  isOver = true;
  await writing;
});

test('check: an answer of the cluster is lost', async (t) => {
  const { standIn, faults } = await start(t);
  // A node that does not lead uses one up when it names the leader.
  for (let count = 0; count < 2; count += 1)
    standIn.faults.push({ fault: 'lost answer', of: 'execute' });
  assert.deepEqual(await faults(), []);
  assert.deepEqual(standIn.faults, []);
});

test('check: names a node that has missed writes, and the records', async (t) => {
  const { standIn, table, db, faults } = await start(t);
  standIn.fillDisk(2);
  await table.create(['e', 'f']);
  standIn.fillDisk(2);
  await table.replace(1, ['g', 'h']);
  assert.deepEqual(await faults(), [
    `node 2 has missed writes: ${REMEDY}`,
    'node 2 differs in note 1',
    'node 2 differs in note 3',
    'node 2 differs in note_version 1',
  ]);
  const { status, stdout } = await runCommand(t, ['check', '--db', db]);
  assert.equal(status, 1);
  assert.ok(stdout.startsWith(`${db}: ${standIn.nodes[2]} has missed writes: `), stdout);
});

test('check: trusts the node with most writes, not the first or most of them', async (t) => {
  const { standIn, table, faults } = await start(t);
  standIn.fillDisk(0);
  standIn.fillDisk(1);
  await table.create(['e', 'f']).catch(() => {});
  const missed = [0, 1].map((node) => `node ${node} has missed writes: ${REMEDY}`);
  const differs = [0, 1].map((node) => `node ${node} differs in note 3`);
  assert.deepEqual(await faults(), [...missed, ...differs]);
  standIn.silence(1);
  const silent = 'node 1 does not answer, is far behind, or has no room';
  assert.deepEqual(await faults(), [missed[0], silent, differs[0]]);
});

test('check: names all nodes if it cannot tell which are right', async (t) => {
  const { standIn, table, faults } = await start(t);
  for (const node of [1, 2, 0]) {
    standIn.fillDisk(node);
    await table.create(['e', `${node}`]).catch(() => {});
  }
  const [first, second, third, ...records] = await faults();
  assert.equal(first, 'node 0 has other writes than another node');
  assert.match(second ?? '', /^node 1 has missed writes: /);
  assert.equal(third, 'node 2 has other writes than another node');
  const differing = [3, 4].flatMap((id) =>
    [0, 1, 2].map((node) => `node ${node} differs in note ${id}`),
  );
  assert.deepEqual(records, differing);
});

test('check: names records that another program has changed on one node', async (t) => {
  const { standIn, faults } = await start(t);
  const ids = [2, -5, 99];
  for (const id of ids)
    await standIn.change(1, `REPLACE INTO notes (id, title, body) VALUES (${id}, '', '')`);
  const changed = ids.map((id) => `node 1 differs in note ${id}`);
  assert.deepEqual(await faults(), changed);
  await standIn.change(1, 'DELETE FROM notes');
  const deleted = [-5, 1, 2, 99].map((id) => `deleted_note ${id}`);
  const lost = ['note 1', 'note 2', ...deleted].map((record) => `node 1 differs in ${record}`);
  assert.deepEqual(await faults(), lost);
});

test('check: names a node without an answer', async (t) => {
  const { standIn, faults } = await start(t);
  limitCluster(t, { nodeMs: 300, comparisonMs: 1_000, maxPauseMs: 20 });
  for (const node of [1, 2]) standIn.silence(node);
  const silent = 'does not answer, is far behind, or has no room';
  assert.deepEqual(await faults(), [`node 1 ${silent}`, `node 2 ${silent}`]);
});

test('check: refuses a cluster of a development version, unchanged', async (t) => {
  const standIn = await startStandIn(t);
  const body = JSON.stringify([
    ['CREATE TABLE notes_server_migrations (version INTEGER PRIMARY KEY)'],
    ['CREATE TABLE notes_server_batches (id TEXT)'],
  ]);
  await send(standIn.nodes[0] ?? '', 'POST', '/db/execute?transaction', { body });
  const refusal = /cannot open the database rqlite:.*: a development version made it: export it/;
  assertRefused(await runCommand(t, ['check', clusterAddress(standIn.nodes)]), 1, refusal);
  assert.equal(standIn.requests.execute, 1);
});

test('check: refuses a cluster without data, and a repair', async (t) => {
  const { nodes } = await startStandIn(t);
  const db = clusterAddress(nodes);
  assertRefused(await runCommand(t, ['check', db]), 1, /it is empty/);
  assertRefused(await runCommand(t, ['check', '--repair', db]), 2, /works with files only/);
});
