// Many clients append to one note and edit what they have appended, while processes and nodes are
// killed. Each acknowledged text is there once and whole, each other one at most once.
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

const keyed = () => ({ 'idempotency-key': randomUUID() });
/** A line that would show where it was torn. */
const lineOf = (number: number) => `${number}${'.'.repeat(number % 11)}|`;

async function appendLines(
  t: TestContext,
  db: string,
  lines: number,
  killsOf: (service: RestartableService) => (() => Promise<void>)[],
): Promise<void> {
  const service = await startRestartable(t, db);
  await service.insist('POST', '/notes', { json: { title: 'a', body: 'lines\n' } });
  const kept = new Set<string>();
  const inDoubt = new Set<string>();
  const tags = new Set<unknown>();
  let [next, replays] = [0, 0];

  /** Appends a line without a key once, or with a key until it is acknowledged; then edits some. */
  async function append(number: number): Promise<void> {
    const line = lineOf(number);
    const parts = { json: { text: number % 3 === 0 ? `${line}\n` : line } };
    const answer =
      number % 2 === 0
        ? await service.attempt('POST', '/notes/1/append', parts)
        : await service.insist('POST', '/notes/1/append', { ...parts, headers: keyed() });
    if (!answer) {
      inDoubt.add(line);
      return;
    }
    assert.equal(answer.status, 200, answer.text);
    assert.ok(answer.json.body.includes(`\n${line}`), line);
    tags.add(answer.headers.etag);
    replays += Number(answer.headers['idempotent-replayed'] === 'true');
    const isEdited = number % 20 === 1;
    if (isEdited) {
      const json = { old_text: `\n${line}`, new_text: `\nedited ${line}` };
      const edited = await service.insist('POST', '/notes/1/edit', { json, headers: keyed() });
      assert.equal(edited.status, 200, edited.text);
    }
    kept.add(isEdited ? `edited ${line}` : line);
  }

  async function keepAppending(): Promise<void> {
    while (next < lines) {
      next += 1;
      await append(next);
    }
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, keepAppending));
  await withKills(clients, { done: () => kept.size, total: lines }, killsOf(service));

  const { json } = await service.insist('GET', '/notes/1');
  const found: string[] = json.body.split('\n').filter(Boolean);
  assert.equal(found.shift(), 'lines');
  assert.equal(new Set(found).size, found.length, 'a line is there twice');
  for (const line of found) assert.ok(kept.delete(line) || inDoubt.has(line), line);
  assert.deepEqual([...kept], []);
  await service.stop();
  await assertSound(db);
  t.diagnostic(`${found.length} lines in ${tags.size} changes, ${service.failures()} failures`);
  t.diagnostic(`${inDoubt.size} lines without an answer, ${replays} repetitions of what was done`);
}

testLedger('appends: no line is lost, doubled or torn', appendLines, 4_000, 2_000);
