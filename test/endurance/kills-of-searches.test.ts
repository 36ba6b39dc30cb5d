// Kills of services that create, tag and find notes: afterwards, every acknowledged note is found
// by its word, and every acknowledged tag by the filter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFile } from '../support/databases.ts';
import { between } from '../support/ledger.ts';
import { type RestartableService, startRestartable } from '../support/restartable-service.ts';
import { assertSound } from '../support/stored-data.ts';
import { until } from '../support/until.ts';

const KILLS = 6;
const NOTES = 150;
const CLIENTS = 8;

/** Rejects when no call of `work` is left, which could wait for ever once the test has ended. */
async function inTurn(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: CLIENTS }, client));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}

async function idsIn(service: RestartableService, list: string): Promise<number[]> {
  const ids: number[] = [];
  for (;;) {
    const path = `${list}&order=id&limit=100&after=${ids.at(-1) ?? 0}`;
    const { status, json } = await service.insist('GET', path);
    assert.equal(status, 200);
    ids.push(...json.items.map(({ id }: { id: number }) => id));
    if (json.items.length < 100) return ids;
  }
}

test(`search: finds all acknowledged notes and tags after each of ${KILLS} kills`, async (t) => {
  const path = newFile(t);
  const service = await startRestartable(t, path);
  await service.insist('POST', '/tags', { json: { name: 'a' } });
  const created = new Map<string, number>();
  const tagged = new Set<number>();
  let done = 0;

  async function createNote(number: number): Promise<void> {
    const word = `word${number}`;
    const json = { title: word, body: 'b '.repeat(1 + number) };
    const answer = await service.attempt('POST', '/notes', { json });
    done += 1;
    if (!answer) return;
    assert.equal(answer.status, 201);
    const { id } = answer.json;
    created.set(word, id);
    const put = await service.attempt('PUT', `/notes/${id}/tags/1`);
    if (put?.status === 204) tagged.add(id);
    // Indexes the note, so that kills interrupt that as well.
    await service.attempt('GET', `/notes?q=${word}`);
  }

  async function verify(): Promise<void> {
    const words = [...created];
    await inTurn(words.length, async (number) => {
      const [word, id] = words[number] ?? [];
      assert.deepEqual(await idsIn(service, `/notes?q=${word}`), [id], word);
    });
    const found = new Set(await idsIn(service, '/notes?tag_id=1'));
    assert.deepEqual(
      [...tagged].filter((id) => !found.has(id)),
      [],
    );
  }

  for (let round = 0; round < KILLS; round += 1) {
    const first = round * NOTES;
    const enough = done + between(1, NOTES - 1);
    const clients = inTurn(NOTES, (number) => createNote(first + number));
    await until(() => done >= enough);
    await (round % 2 === 0 ? service.killAll() : service.killOne());
    await clients;
    await verify();
  }
  await service.stop();
  await assertSound(path);
  t.diagnostic(`${created.size} acknowledged notes, ${tagged.size} of them tagged`);
  t.diagnostic(`${service.failures()} requests failed`);
});
