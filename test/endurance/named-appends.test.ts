// Many clients append to notes at names that nobody has created yet, while processes and nodes are
// killed. Each name has one note, no note lacks one, and each acknowledged text is there once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import {
  type RestartableService,
  startRestartable,
  withKills,
} from '../support/restartable-service.ts';
import { assertSound } from '../support/stored-data.ts';
import { testLedger } from './ledgers.ts';

const CLIENTS = 64;
const APPENDS_PER_NAME = 40;

async function appendToNames(
  t: TestContext,
  db: string,
  names: number,
  killsOf: (service: RestartableService) => (() => Promise<void>)[],
): Promise<void> {
  const service = await startRestartable(t, db);
  const total = names * APPENDS_PER_NAME;
  const kept = new Set<string>();
  const inDoubt = new Set<string>();
  let [next, created] = [0, 0];

  /** Appends a line without a key once, or with a key until it is acknowledged. */
  async function keepAppending(): Promise<void> {
    while (next < total) {
      const number = next++;
      const name = `n${Math.floor(number / APPENDS_PER_NAME)}`;
      const path = `/named/${name}/append`;
      const json = { text: `${number}|` };
      const headers = { 'idempotency-key': randomUUID() };
      const answer =
        number % 2 === 0
          ? await service.attempt('POST', path, { json })
          : await service.insist('POST', path, { json, headers });
      assert.ok(!answer || answer.status === 200 || answer.status === 201, answer?.text);
      created += Number(answer?.status === 201 && !answer.headers['idempotent-replayed']);
      (answer ? kept : inDoubt).add(`${name} ${number}|`);
    }
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, keepAppending));
  await withKills(clients, { done: () => kept.size, total }, killsOf(service));

  const list = '/notes?limit=100&include=name';
  const { json } = await service.insist('GET', list);
  assert.equal(json.total, names);
  assert.deepEqual(
    json.items.map(({ name }: { name: string }) => name).sort(),
    Array.from({ length: names }, (_, index) => `n${index}`).sort(),
  );
  for (const { name, body } of json.items) {
    const found: string[] = body.split('\n');
    assert.equal(new Set(found).size, found.length, `a line of ${name} is there twice`);
    for (const line of found)
      assert.ok(kept.delete(`${name} ${line}`) || inDoubt.has(`${name} ${line}`), line);
  }
  assert.deepEqual([...kept], []);
  await service.stop();
  await assertSound(db);
  t.diagnostic(`${created} of ${names} acknowledged as created, ${inDoubt.size} without an answer`);
}

testLedger('named appends: each name has one note with all its lines', appendToNames, 60, 40);
