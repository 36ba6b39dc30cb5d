// Clients change the same records at once: each reads a record, adds its change and writes it back
// under the condition that nobody else has. No change is lost, and none is there twice.
import assert from 'node:assert/strict';
import { between } from '../support/random.ts';
import type { RestartableService } from '../support/restartable-service.ts';
import { type Ledger, testLedger } from './ledgers.ts';

const RECORDS = 60;

async function beginChanges({ attempt, insist }: RestartableService): Promise<Ledger> {
  for (let id = 1; id <= RECORDS; id += 1)
    await insist('POST', '/notes', { json: { title: 'a', body: '|' } });
  /** The changes by the record to which they were added; of those without an answer, by all. */
  const kept = new Map<number, string>();
  const inDoubt = new Map<number, string>();
  let conflicts = 0;

  async function enter(number: number): Promise<void> {
    const path = `/notes/${between(1, RECORDS)}`;
    const { headers, json } = await insist('GET', path);
    const body = `${json.body}${number}|`;
    const method = number % 2 === 0 ? 'PUT' : 'PATCH';
    const answer = await attempt(method, path, {
      json: method === 'PUT' ? { title: 'a', body } : { body },
      headers: { 'if-match': String(headers.etag) },
    });
    if (answer?.status === 412) {
      conflicts += 1;
      return enter(number);
    }
    (answer ? kept : inDoubt).set(number, path);
    if (answer) assert.deepEqual([answer.status, answer.json.body], [200, body]);
  }

  async function check(): Promise<string> {
    const found = new Map<number, string>();
    for (let id = 1; id <= RECORDS; id += 1) {
      const path = `/notes/${id}`;
      const { json } = await insist('GET', path);
      for (const number of json.body.split('|').filter(Boolean).map(Number)) {
        assert.equal(found.get(number), undefined, `change ${number} is there twice`);
        found.set(number, path);
        assert.equal(kept.get(number) ?? inDoubt.get(number), path);
      }
    }
    for (const [number, path] of kept) assert.equal(found.get(number), path, `change ${number}`);
    const doubts = `${inDoubt.size} changes without an answer`;
    return `${conflicts} conflicts, ${doubts}, ${found.size - kept.size} of them made`;
  }

  return { enter, check };
}

testLedger('conditions: no change is lost', beginChanges, 5_000, 1_000);
