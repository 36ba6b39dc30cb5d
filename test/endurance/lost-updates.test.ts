// Clients change the same records at once: each reads a record, adds its change and writes it back
// under the condition that nobody else has. No change is lost, and none is there twice.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { newFile } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import { between } from '../support/ledger.ts';
import { startRestartable, withKills } from '../support/restartable-service.ts';
import { needsRqlited, startNodes } from '../support/rqlite-nodes.ts';
import { assertSound } from '../support/stored-data.ts';

const CLIENTS = 16;
const RECORDS = 20;

async function changeRecords(t: TestContext, db: string, rounds: number): Promise<void> {
  const service = await startRestartable(t, db);
  for (let id = 1; id <= RECORDS; id += 1) {
    const { status } = await service.insist('POST', '/notes', { json: { title: 'a', body: '|' } });
    assert.equal(status, 201);
  }
  /** The changes by the record to which they were added; of those without an answer, by all. */
  const kept = new Map<number, string>();
  const inDoubt = new Map<number, string>();
  let [lastChange, conflicts] = [0, 0];

  async function change(): Promise<void> {
    lastChange += 1;
    const number = lastChange;
    for (;;) {
      const path = `/notes/${between(1, RECORDS)}`;
      const { headers, json } = await service.insist('GET', path);
      const body = `${json.body}${number}|`;
      const method = number % 2 === 0 ? 'PUT' : 'PATCH';
      const answer = await service.attempt(method, path, {
        json: method === 'PUT' ? { title: 'a', body } : { body },
        headers: { 'if-match': String(headers.etag) },
      });
      if (answer?.status === 412) {
        conflicts += 1;
        continue;
      }
      (answer ? kept : inDoubt).set(number, path);
      if (answer) assert.deepEqual([answer.status, answer.json.body], [200, body]);
      return;
    }
  }

  async function keepChanging(): Promise<void> {
    while (lastChange < rounds) await change();
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, keepChanging));
  await withKills(clients, { done: () => kept.size, total: rounds }, [
    service.killOne,
    service.killAll,
    service.killOne,
  ]);

  const found = new Map<number, string>();
  for (let id = 1; id <= RECORDS; id += 1) {
    const path = `/notes/${id}`;
    const { json } = await service.insist('GET', path);
    for (const number of json.body.split('|').filter(Boolean).map(Number)) {
      assert.equal(found.get(number), undefined, `change ${number} is there twice`);
      found.set(number, path);
      assert.equal(kept.get(number) ?? inDoubt.get(number), path);
    }
  }
  for (const [number, path] of kept) assert.equal(found.get(number), path, `change ${number}`);
  assert.equal(kept.size + inDoubt.size, rounds);
  await service.stop();
  await assertSound(db);
  t.diagnostic(`${kept.size} changes kept, ${conflicts} conflicts, ${service.failures()} failures`);
  t.diagnostic(`${inDoubt.size} changes without an answer, ${found.size - kept.size} of them made`);
}

test('conditions: 5,000 changes of 16 clients, none lost', (t) =>
  changeRecords(t, newFile(t), 5_000));

test('conditions: changes on a cluster, none lost', { skip: needsRqlited }, async (t) => {
  const cluster = await startNodes(3);
  t.after(() => cluster.stop());
  await changeRecords(t, clusterAddress(cluster.nodes.map(({ url }) => url)), 1_000);
});
