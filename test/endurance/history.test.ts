// Deletions and restores while processes and nodes are killed, long games of random moves, and the
// erasure of a large trash beside writes.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { newFile, openPath, rows, withNumbers, writeFilled } from '../support/databases.ts';
import { playHistory } from '../support/history-games.ts';
import { type RestartableService, startRestartable } from '../support/restartable-service.ts';
import { needsRqlited, startCluster } from '../support/rqlite-nodes.ts';
import { assertSound } from '../support/stored-data.ts';
import { until } from '../support/until.ts';
import { type Ledger, testLedger } from './ledgers.ts';

const seed = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);

const NOTES = 64;
const COMMENTS = 3;
const OLD_NOTES = 30_000;
const MONTH_MS = 31 * 86_400_000;

/** Plays against two processes, to which requests go in turn. */
async function play(t: TestContext, db: string, moves: number): Promise<void> {
  const service = await startRestartable(t, db);
  const agent = new Agent({ keepAlive: false });
  await playHistory(
    { request: (method, path, parts) => service.insist(method, path, { ...parts, agent }) },
    { seed, moves },
  ).then((played) => t.diagnostic(played));
  await service.stop();
  await assertSound(db);
}

test('history: a long game of two processes', (t) => play(t, newFile(t), 5_000));

test('history: a game of two services on a cluster', { skip: needsRqlited }, async (t) => {
  await play(t, (await startCluster(t, 3)).db, 500);
});

/** Clients delete and restore notes, each of which is always whole, in the trash or not. */
async function beginRestores(service: RestartableService): Promise<Ledger> {
  const { attempt, insist } = service;
  for (const name of ['a', 'b']) await insist('POST', '/tags', keyed({ name }));
  const ids = await Promise.all(
    Array.from({ length: NOTES }, (_, place) => create(service, place)),
  );
  let restored = 0;

  async function enter(number: number): Promise<void> {
    const id = ids[number % NOTES];
    await attempt('DELETE', `/notes/${id}`);
    const answer = await attempt('POST', `/trash/${id}/restore`);
    assert.ok(!answer || answer.status === 200 || answer.status === 404, answer?.text);
    restored += Number(answer?.status === 200);
    const { status, json } = await insist('GET', `/notes/${id}?include=tag_ids,name`);
    if (status !== 404) assert.deepEqual([json.tag_ids, json.name], [[1, 2], json.title]);
  }

  async function check(): Promise<string> {
    for (const id of ids) {
      const isDeleted = (await insist('GET', `/notes/${id}`)).status === 404;
      assert.equal((await insist('GET', `/trash/${id}`)).status, isDeleted ? 200 : 404);
      if (isDeleted) await insist('POST', `/trash/${id}/restore`);
      const { json } = await insist('GET', `/notes/${id}?include=tag_ids,name`);
      assert.deepEqual([json.tag_ids, json.name, json.body], [[1, 2], json.title, 'later']);
      for (const [list, count] of [
        ['comments', COMMENTS],
        ['versions', 1],
      ] as const)
        assert.equal((await insist('GET', `/notes/${id}/${list}`)).json.total, count, list);
    }
    assert.equal((await insist('GET', '/notes?tag_id=1,2&q=later')).json.total, NOTES);
    assert.equal((await insist('GET', '/trash')).json.total, 0);
    assert.ok(restored > NOTES);
    return `${restored} restored`;
  }

  return { enter, check };
}

const keyed = (json: object) => ({ json, headers: { 'idempotency-key': `"${randomUUID()}"` } });

async function create({ insist }: RestartableService, place: number): Promise<number> {
  const title = `n${place}`;
  await insist('PUT', `/named/${title}`, { json: { title, body: 'first', tag_ids: [1, 2] } });
  const { json } = await insist('PUT', `/named/${title}`, { json: { title, body: 'later' } });
  for (let count = 0; count < COMMENTS; count += 1)
    await insist('POST', `/notes/${json.id}/comments`, keyed({ body: 'c' }));
  return json.id;
}

testLedger('history: each note is whole, here or in the trash', beginRestores, 4_000, 400);

test('history: a note that is changed as fast as possible keeps few versions', async (t) => {
  const db = newFile(t);
  const service = await startRestartable(t, db, 1);
  const database = await openPath(db);
  t.after(() => database.close());
  await service.insist('POST', '/notes', { json: { title: 'a', body: 'b' } });
  let [isOver, changes, most] = [false, 0, 0];
  const clients = Array.from({ length: 16 }, async () => {
    while (!isOver) {
      changes += 1;
      await service.insist('PATCH', '/notes/1', { json: { body: `${changes}` } });
    }
  });
  const count = async () => {
    const [row] = await rows(database, 'SELECT count(*) AS count FROM note_versions');
    most = Math.max(most, Number(row?.count));
    return Number(row?.count);
  };
  for (let thinnings = 0; thinnings < 3; thinnings += 1) {
    await until(async () => (await count()) >= 104);
    assert.equal((await service.insist('GET', '/notes/1/versions')).json.total, 100);
    await until(async () => (await count()) <= 101);
  }
  isOver = true;
  await Promise.all(clients);
  await until(async () => (await count()) === 100);
  t.diagnostic(`${changes} changes, at most ${most} versions`);
  // A minute's: one in each second.
  assert.ok(most <= 160, `${most}`);
  await service.stop();
  await assertSound(db);
});

test('history: a large trash is erased while others write', async (t) => {
  const old = Date.now() - MONTH_MS;
  const db = await writeFilled(t, [
    `${withNumbers(OLD_NOTES)} INSERT INTO deleted_notes
       (deleted_at, tag_ids, id, number, created_at, updated_at, title, body)
     SELECT ${old}, '[]', n, n, ${old}, ${old}, 'note ' || n, printf('%.*c', 200, 'x')
     FROM numbers`,
    `${withNumbers(OLD_NOTES)} INSERT INTO note_versions
     SELECT n, n, n, ${old}, ${old}, 'version ' || n, printf('%.*c', 200, 'x') FROM numbers`,
    `INSERT INTO sqlite_sequence (name, seq)
     VALUES ('notes', ${OLD_NOTES}), ('changes', ${OLD_NOTES})`,
  ]);
  const service = await startRestartable(t, db, 1);
  const { json: kept } = await service.insist('POST', '/notes', {
    json: { title: 'a', body: 'b' },
  });
  await service.insist('DELETE', `/notes/${kept.id}`);
  const startedMs = performance.now();
  let [writes, longestMs] = [0, 0];
  for (let total = OLD_NOTES; total > 1; writes += 1) {
    const sentMs = performance.now();
    const answer = await service.insist('POST', '/tags', { json: { name: `${writes}` } });
    longestMs = Math.max(longestMs, performance.now() - sentMs);
    assert.equal(answer.status, 201);
    if (writes % 100 === 0) total = (await service.insist('GET', '/trash?limit=1')).json.total;
  }
  t.diagnostic(`${OLD_NOTES} erased in ${Math.round(performance.now() - startedMs)} ms`);
  t.diagnostic(`the longest of ${writes} writes took ${Math.round(longestMs)} ms`);
  assert.equal((await service.insist('GET', `/trash/${kept.id}`)).status, 200);
  await service.stop();
  await assertSound(db);
});
