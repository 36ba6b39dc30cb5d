// Many clients append to one note, and to notes at names that nobody has created yet, and edit what
// they have appended, while processes and nodes are killed. Each acknowledged text is there once,
// whole, each other one at most once; each name has one note, and no note lacks one.
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
/** Half of them at the name. */
const LINES_PER_NAME = 80;

const keyed = () => ({ 'idempotency-key': randomUUID() });
/** A line that would show where it was torn. */
const lineOf = (number: number) => `|${number}${'.'.repeat(number % 11)}|`;
const nameOf = (number: number) => `n${Math.floor(number / LINES_PER_NAME)}`;
const pathOf = (number: number) => (number % 2 ? `/named/${nameOf(number)}` : '/notes/1');

async function appendLines(
  t: TestContext,
  db: string,
  lines: number,
  killsOf: (service: RestartableService) => (() => Promise<void>)[],
): Promise<void> {
  const service = await startRestartable(t, db);
  await service.insist('PUT', '/named/one', { json: { title: 'a', body: 'lines\n' } });
  const kept = new Set<string>();
  const inDoubt = new Set<string>();
  const tags = new Set<unknown>();
  let [next, replays] = [0, 0];

  /** Appends a line without a key once, or with a key until it is acknowledged; then edits some. */
  async function append(number: number): Promise<void> {
    const [path, line] = [pathOf(number), lineOf(number)];
    const parts = { json: { text: number % 3 === 0 ? `${line}\n` : line } };
    const answer =
      number % 4 > 1
        ? await service.attempt('POST', `${path}/append`, parts)
        : await service.insist('POST', `${path}/append`, { ...parts, headers: keyed() });
    if (!answer) {
      inDoubt.add(line);
      return;
    }
    assert.ok(answer.status === 200 || answer.status === 201, answer.text);
    assert.ok(answer.json.body.includes(line), line);
    tags.add(answer.headers.etag);
    replays += Number(answer.headers['idempotent-replayed'] === 'true');
    const isEdited = number % 20 < 2;
    if (isEdited) {
      const json = { old_text: line, new_text: `edited ${line}` };
      const edited = await service.insist('POST', `${path}/edit`, { json, headers: keyed() });
      assert.equal(edited.status, 200, edited.text);
    }
    kept.add(isEdited ? `edited ${line}` : line);
  }

  async function keepAppending(): Promise<void> {
    while (next < lines) await append(next++);
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, keepAppending));
  await withKills(clients, { done: () => kept.size, total: lines }, killsOf(service));

  const { json } = await service.insist('GET', '/notes?limit=100&include=name');
  const names = new Set(Array.from({ length: lines }, (_, number) => nameOf(number)));
  const items: { name: string; body: string }[] = json.items;
  assert.deepEqual(items.map(({ name }) => name).sort(), ['one', ...names].sort());
  for (const { name, body } of items) {
    const found = body.split('\n').filter(Boolean);
    if (name === 'one') assert.equal(found.shift(), 'lines');
    assert.equal(new Set(found).size, found.length, `a line of ${name} is there twice`);
    for (const line of found) {
      const number = Number(/\|(\d+)/.exec(line)?.[1]);
      assert.equal(name, number % 2 ? nameOf(number) : 'one', line);
      assert.ok(kept.delete(line) || inDoubt.has(line), line);
    }
  }
  assert.deepEqual([...kept], []);
  await service.stop();
  await assertSound(db);
  t.diagnostic(`${lines} lines in ${tags.size} changes, ${service.failures()} failures`);
  t.diagnostic(`${inDoubt.size} lines without an answer, ${replays} repetitions of what was done`);
}

testLedger('appends: no line is lost, doubled or torn', appendLines, 4_000, 2_000);
