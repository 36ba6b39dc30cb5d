// The distributed engine on the stand-in: whatever fails, a batch is carried out once, its rows are
// returned, and reads see every acknowledged write.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { notes } from '../../src/resources/notes.ts';
import type { ReadLevel } from '../../src/rqlite/address.ts';
import { Cluster } from '../../src/rqlite/cluster.ts';
import {
  AnswerTooLarge,
  type Database,
  DatabaseUnavailable,
  DatabaseUncertain,
} from '../../src/storage/database.ts';
import { SCHEMA_VERSION } from '../../src/storage/schema/migrations.ts';
import { openCluster } from '../support/engines.ts';
import { send } from '../support/http.ts';
import { startListener } from '../support/ports.ts';
import { expected } from '../support/records.ts';
import {
  type Fault,
  limitCluster,
  type StandIn,
  startStandIn,
} from '../support/rqlite-stand-in.ts';
import { type PlainTable, plainTable } from '../support/tables.ts';
import { until } from '../support/until.ts';

// However slow a test is, its requests can be counted.
limitCluster({ after }, { firstPauseMs: 2, maxPauseMs: 20, quietMs: Number.POSITIVE_INFINITY });

/** Opens a database on the cluster, with the tables of the service. */
const open = (t: TestContext, { nodes }: StandIn, level?: ReadLevel): Promise<Database> =>
  openCluster(t, nodes, level);

async function openTables(t: TestContext, count = 1) {
  const standIn = await startStandIn(t, count);
  const database = await open(t, standIn);
  return { standIn, database, notes: plainTable(notes, database) };
}

/** What a write ends with that was certainly not done. */
const isNotDone = (error: unknown) =>
  error instanceof DatabaseUnavailable && !(error instanceof DatabaseUncertain);

async function assertTags(database: Database, count: number) {
  const found = await database.read({ sql: 'SELECT count(*) AS count FROM tags' });
  assert.deepEqual(found, [{ count }]);
}

const titles = async (table: PlainTable) => {
  const page = await table.page(100, 0);
  return JSON.parse(page?.items ?? '[]').map(({ title }: { title: string }) => title);
};

test('rqlite: texts are kept, even those it would take for a BLOB', async (t) => {
  const { notes, standIn } = await openTables(t);
  const texts = [
    ...[`x'6162'`, ` X'41' `, 'a\u0000b', '😀 \u{10ffff}', '\ud7ff\ue000', `'"\\`, '[1]', 'null'],
    '\u2028\n',
  ];
  const ids = await Promise.all(texts.map((text) => notes.create([text, text])));
  for (const [place, id] of ids.entries()) {
    const text = texts[place];
    const record = JSON.parse((await notes.read(id ?? 0)) ?? '');
    assert.deepEqual(record, expected({ id, title: text, body: text }));
  }
  for (const parameter of standIn.parameters)
    assert.ok(!/^\s*x'/i.test(String(parameter)), String(parameter));
});

const FAULTS: readonly Fault[] = [
  ...(['lost answer', 'leadership lost, done', 'leadership lost, not done', 'no leader'] as const),
  ...(['not leader', 'refused', 'broken JSON', 'empty', 'hangs'] as const),
];
for (const fault of FAULTS) {
  for (const of of ['execute', 'query'] as const) {
    test(`rqlite: a write is done once despite "${fault}" of the ${of}`, async (t) => {
      if (fault === 'hangs') limitCluster(t, { nodeMs: 50, slowMs: 50 });
      const { notes, standIn } = await openTables(t, 2);
      const goWrong = (times: number) => {
        // A query follows only when the answer of the batch was lost.
        if (of === 'query') standIn.faults.push({ fault: 'lost answer', of: 'execute' });
        standIn.faults.push(...Array.from({ length: times }, () => ({ fault, of })));
      };
      assert.equal(await notes.create(['before', 'b']), 1);
      goWrong(2);
      const both = [notes.create(['one', 'b']), notes.create(['two', 'b'])];
      assert.deepEqual(await Promise.all(both), [2, 3]);
      assert.equal(standIn.faults.length, 0);
      goWrong(1);
      assert.equal(await notes.replace(2, ['ONE', 'b']), true);
      goWrong(1);
      assert.deepEqual(await Promise.all([notes.remove(3), notes.remove(3)]), [true, false]);
      assert.deepEqual(await titles(notes), ['before', 'ONE']);
    });
  }
}

test('rqlite: the leader is found, remembered and found again', async (t) => {
  const { notes, standIn } = await openTables(t, 3);
  await notes.create(['a', 'b']);
  const before = { ...standIn.requests };
  await notes.create(['c', 'd']);
  assert.deepEqual(standIn.requests, { ...before, execute: before.execute + 1 });
  standIn.elect(2);
  assert.equal(await notes.create(['e', 'f']), 3);
  standIn.elect(undefined);
  const waiting = notes.create(['g', 'h']);
  await until(() => standIn.requests.execute > before.execute + 6);
  standIn.elect(1);
  assert.equal(await waiting, 4);
});

for (const fault of ['late', 'halting'] as const) {
  test(`rqlite: an answer that is "${fault}" is awaited, not asked for again`, async (t) => {
    // On a busy machine, a ping takes longer than usual.
    limitCluster(t, { nodeMs: 200 });
    const { notes, standIn } = await openTables(t, 3);
    const { execute, query } = standIn.requests;
    standIn.faults.push({ fault, of: 'execute' }, { fault, of: 'query' });
    assert.equal(await notes.create(['a', 'b']), 1);
    assert.deepEqual(await titles(notes), ['a']);
    assert.deepEqual(standIn.requests, { execute: execute + 1, query: query + 1, backup: 0 });
    assert.equal(standIn.faults.length, 0);
  });
}

test('rqlite: a slow answer makes the next request on its socket no more patient', async (t) => {
  limitCluster(t, { nodeMs: 50, slowMs: 3_600_000 });
  const held: ServerResponse[] = [];
  const pings: ServerResponse[] = [];
  const answer = (response?: ServerResponse) => response?.end('{"results":[]}');
  const node = await startListener(t, ({ method }, response) => {
    (method === 'GET' ? pings : held).push(response.setHeader('x-rqlite-version', '8'));
    // The first request has its answer before that of its ping.
    if (held.length === 2) answer(pings[0]);
    else if (method === 'GET') answer(held[0]);
  });
  using cluster = new Cluster({ nodes: [node], user: undefined, password: undefined });
  await cluster.send('/db/execute', []);
  const next = cluster.send('/db/execute', []);
  await until(() => pings.length === 2);
  for (const response of [pings[1], held[1]]) answer(response);
  await next;
});

test('rqlite: an answer beyond `maxBytes` is not received', async (t) => {
  const { database } = await openTables(t);
  const read = (characters: number) =>
    database.read({ sql: `SELECT printf('%.*c', ${characters}, 'x') AS text`, maxBytes: 100_000 });
  assert.equal((await read(99_000))[0]?.text, 'x'.repeat(99_000));
  await assert.rejects(read(101_000), AnswerTooLarge);
});

test('rqlite: calls end soon when the service stops', async (t) => {
  limitCluster(t, { nodeMs: 20, clusterMs: 3_600_000, stopMs: 20 });
  const { database, notes, standIn } = await openTables(t, 2);
  const calls = [notes.create(['a', 'b']), notes.read(1)];
  standIn.silence(0);
  standIn.elect(undefined);
  database.stopSoon?.();
  // What is asked from now on waits for `stopMs`.
  limitCluster(t, { nodeMs: 3_600_000 });
  await Promise.all(calls.map((call) => assert.rejects(call, DatabaseUnavailable)));
});

test('rqlite: a silent leader is replaced by another', async (t) => {
  limitCluster(t, { nodeMs: 50 });
  const { notes, standIn } = await openTables(t, 3);
  await notes.create(['a', 'b']);
  standIn.silence(0);
  standIn.elect(2);
  assert.equal(await notes.create(['c', 'd']), 2);
  assert.deepEqual(await titles(notes), ['a', 'c']);
});

test('rqlite: a node that was given up is left out while others redirect to it', async (t) => {
  limitCluster(t, { nodeMs: 50, silentMs: 3_600_000 });
  const { notes, standIn } = await openTables(t, 3);
  await notes.create(['a', 'b']);
  standIn.silence(0);
  const { execute } = standIn.requests;
  const waiting = notes.create(['c', 'd']);
  // It is pinged instead, and the nodes that redirect to it are asked in turn.
  await until(() => standIn.requests.execute >= execute + 4);
  assert.equal(standIn.ignored.filter((path) => path.startsWith('/db/')).length, 1);
  standIn.elect(2);
  assert.equal(await waiting, 2);
});

for (const [what, bytesPerMs, times] of [
  ['is awaited', 1, 1],
  ['is not awaited for ever', Number.POSITIVE_INFINITY, 2],
] as const)
  test(`rqlite: a node that is slow to receive a large batch ${what}`, async (t) => {
    const { notes, standIn } = await openTables(t);
    limitCluster(t, { nodeMs: 200, slowMs: 50, bytesPerMs });
    const { execute } = standIn.requests;
    standIn.faults.push({ fault: 'slow', of: 'execute' });
    assert.equal(await notes.create(['a', 'b'.repeat(50_000)]), 1);
    assert.equal(standIn.requests.execute, execute + times);
  });

test('rqlite: batches are forgotten after 20,000 later ones', async (t) => {
  const { database } = await openTables(t);
  const addBatch = async () => {
    await database.transact([]);
    const [row] = await database.read({
      sql: 'SELECT id FROM notes_server_batches ORDER BY number DESC LIMIT 1',
    });
    return row?.id;
  };
  const [old, next] = [await addBatch(), await addBatch()];
  const age = `UPDATE notes_server_batches SET number = 19999 +
    (SELECT number FROM notes_server_batches WHERE id = '${old}') WHERE id = '${next}'`;
  await database.transact([{ sql: age }]);
  const sql = `SELECT id FROM notes_server_batches WHERE id IN ('${old}', '${next}')
    ORDER BY number`;
  assert.deepEqual(await database.read({ sql }), [{ id: old }, { id: next }]);
  await addBatch();
  assert.deepEqual(await database.read({ sql }), [{ id: next }]);
});

test('rqlite: read levels; rows of a batch are always linearizable', async (t) => {
  for (const level of ['linearizable', 'weak'] as const) {
    const standIn = await startStandIn(t);
    const database = await open(t, standIn, level);
    standIn.levels.length = 0;
    standIn.faults.push({ fault: 'lost answer', of: 'execute' });
    await database.transact([{ step: { write: 'DELETE FROM notes' }, parameter: '' }]);
    await database.read({ sql: 'SELECT 1' });
    // The nodes were compared, because a write was repeated.
    const levels = standIn.levels.filter((each) => each !== 'none');
    assert.deepEqual(levels, ['linearizable', level]);
  }
});

test('rqlite: a write without its rows is uncertain, not repeated', async (t) => {
  const { notes, standIn } = await openTables(t);
  standIn.faults.push({ fault: 'lost answer', of: 'execute' }, { fault: 'stale', of: 'query' });
  const refused = await Promise.allSettled([notes.create(['a', 'b']), notes.create(['c', 'd'])]);
  for (const each of refused)
    assert.ok(each.status === 'rejected' && each.reason instanceof DatabaseUncertain);
  assert.deepEqual(await titles(notes), ['a', 'c']);
});

test('rqlite: uncertain without an answer; waiting writes are not done', async (t) => {
  limitCluster(t, { clusterMs: 1_500 });
  const { notes, standIn } = await openTables(t);
  standIn.elect(undefined);
  const first = notes.create(['a', 'b']);
  const { execute } = standIn.requests;
  await until(() => standIn.requests.execute > execute);
  const second = notes.create(['c', 'd']);
  await assert.rejects(first, DatabaseUncertain);
  await assert.rejects(second, isNotDone);
});

/** What is answered or done first; from then on, nothing comes late. */
const LOOKS: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  'a read': (database) => database.read({ sql: 'SELECT 1' }),
  'another write': (database) => database.transact([]),
  'a health check': (database) => database.ping(),
  'a moment without requests': async () => {},
};
for (const [what, look] of Object.entries(LOOKS))
  test(`rqlite: an uncertain write is not carried out after ${what}`, async (t) => {
    const { standIn, database, notes } = await openTables(t, 2);
    const other = await open(t, standIn);
    const batches = async () => {
      const [row] = await other.read({ sql: 'SELECT count(*) AS count FROM notes_server_batches' });
      return Number(row?.count);
    };
    const before = await batches();
    limitCluster(t, { nodeMs: 50, slowMs: 50, clusterMs: 200 });
    standIn.faults.push({ fault: 'held', of: 'execute' });
    const uncertain = notes.create(['late', 'b']);
    await until(() => standIn.faults.length === 0);
    standIn.elect(undefined);
    await assert.rejects(uncertain, DatabaseUncertain);
    limitCluster(t, { nodeMs: 1_000, slowMs: 4_000, clusterMs: 10_000 });
    standIn.elect(1);
    await look(database);
    await until(async () => (await batches()) > before);
    await standIn.release();
    assert.deepEqual(await titles(notes), []);
    assert.equal(await notes.create(['a', 'b']), 1);
  });

test('rqlite: several services start on an empty cluster', async (t) => {
  const standIn = await startStandIn(t, 2);
  const databases = await Promise.all([open(t, standIn), open(t, standIn), open(t, standIn)]);
  const sql = 'SELECT max(version) AS version FROM notes_server_schema';
  for (const each of databases)
    assert.deepEqual(await each.read({ sql }), [{ version: SCHEMA_VERSION }]);
});

const NOWHERE = { sql: 'INSERT INTO nowhere VALUES (1)' };

test('rqlite: a failed batch has no effect and reports its error', async (t) => {
  const { database } = await openTables(t);
  const insert = { sql: `INSERT INTO tags (name) VALUES ('kept?')` };
  await assert.rejects(database.transact([insert, NOWHERE]), /no such table: nowhere/);
  await assertTags(database, 0);
  await database.transact([insert]);
  await assertTags(database, 1);
});

test('rqlite: a batch that may be done in part is not repeated', async (t) => {
  const { database } = await openTables(t);
  const insert = {
    step: { write: `INSERT INTO tags (name, number) SELECT 'a', count(*) FROM tags` },
    parameter: '',
  };
  await assert.rejects(database.transact([insert, NOWHERE]), DatabaseUncertain);
  // A statement that fails at run time rolls the others back.
  const fails = { sql: `INSERT INTO tags (id, name, number) VALUES (1, 'b', 9)` };
  const failed = database.transact([insert, fails]);
  await assert.rejects(failed, /UNIQUE constraint failed: tags/);
  await assertTags(database, 1);
});

test('rqlite: no writes to newer tables or an unfinished import', async (t) => {
  const { database, notes } = await openTables(t);
  const versions = 'notes_server_schema';
  for (const [begin, end] of [
    [`INSERT INTO ${versions} VALUES (99)`, `DELETE FROM ${versions} WHERE version = 99`],
    ['CREATE TABLE notes_server_import (begun INTEGER)', 'DROP TABLE notes_server_import'],
  ] as const) {
    await database.transact([{ sql: begin }]);
    await assert.rejects(notes.create(['a', 'b']), isNotDone);
    assert.deepEqual(await titles(notes), []);
    await database.transact([{ sql: end }]);
  }
  assert.equal(await notes.create(['a', 'b']), 1);
});

test('rqlite: nodes without foreign keys are refused', async (t) => {
  const standIn = await startStandIn(t);
  await standIn.forgetForeignKeys();
  await assert.rejects(open(t, standIn), /its nodes must be started with -fk/);
});

for (const [owner, table, refusal] of [
  ['another program', 'theirs', /it belongs to another program/],
  ['a development version', 'notes_server_migrations', /a development version made it/],
] as const)
  test(`rqlite: a cluster of ${owner} is refused, unchanged`, async (t) => {
    const standIn = await startStandIn(t);
    const statement = JSON.stringify([[`CREATE TABLE ${table} (id INTEGER)`]]);
    await send(standIn.nodes[0] ?? '', 'POST', '/db/execute?transaction', { body: statement });
    await assert.rejects(open(t, standIn), refusal);
    assert.equal(standIn.requests.execute, 1);
  });
