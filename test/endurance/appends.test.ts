// Many clients append to one note, and to notes at names that nobody has created yet, edit what
// they have appended, and search, while processes and nodes are killed. Each acknowledged text is
// there once, whole, each other one at most once; each name has one note, which is found.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { RestartableService } from '../support/restartable-service.ts';
import { type Ledger, testLedger } from './ledgers.ts';

/** Half of them at the name. */
const LINES_PER_NAME = 80;

const nameOf = (number: number) => (number % 2 ? `n${Math.floor(number / LINES_PER_NAME)}` : 'one');

async function beginAppends({ attempt, insist }: RestartableService): Promise<Ledger> {
  await insist('PUT', '/named/one', { json: { title: 'a', body: 'lines\n' } });
  const names = new Set<string>();
  const kept = new Set<string>();
  const inDoubt = new Set<string>();
  let replays = 0;
  const keyed = (json: object) => ({ json, headers: { 'idempotency-key': randomUUID() } });

  /** Appends a line without a key once, or with a key until it is acknowledged; then edits some. */
  async function enter(number: number): Promise<void> {
    const name = nameOf(number);
    const path = name === 'one' ? '/notes/1' : `/named/${name}`;
    // It would show where it was torn.
    const line = `w${number}${'.'.repeat(number % 11)}|`;
    const json = { text: number % 3 === 0 ? `${line}\n` : line };
    names.add(name);
    const answer =
      number % 4 > 1
        ? await attempt('POST', `${path}/append`, { json })
        : await insist('POST', `${path}/append`, keyed(json));
    if (!answer) {
      inDoubt.add(`${name} ${line}`);
      return;
    }
    assert.ok(answer.status === 200 || answer.status === 201, answer.text);
    assert.ok(answer.json.body.includes(line), line);
    replays += Number(answer.headers['idempotent-replayed'] === 'true');
    const isEdited = number % 20 < 2;
    if (isEdited) {
      const edit = keyed({ old_text: line, new_text: `edited ${line}` });
      const edited = await insist('POST', `${path}/edit`, edit);
      assert.equal(edited.status, 200, edited.text);
    }
    kept.add(`${name} ${isEdited ? 'edited ' : ''}${line}`);
    // Indexes the notes, so that kills interrupt that as well.
    if (number % 20 === 2) await attempt('GET', `/notes?q=w${number}`);
  }

  async function check(): Promise<string> {
    const { json } = await insist('GET', '/notes?limit=100&include=name');
    const found: string[] = json.items.map(({ name }: { name: string }) => name);
    assert.deepEqual([found.length, new Set(found)], [json.total, names]);
    for (const { name, body } of json.items) {
      const lines: string[] = body.split('\n').filter(Boolean);
      if (name === 'one') assert.equal(lines.shift(), 'lines');
      assert.equal(new Set(lines).size, lines.length, `a line of ${name} is there twice`);
      for (const line of lines)
        assert.ok(kept.delete(`${name} ${line}`) || inDoubt.has(`${name} ${line}`), line);
      const [word] = /w\d+/.exec(body) ?? [];
      const searched = (await insist('GET', `/notes?include=name&q=${word}`)).json;
      assert.deepEqual([searched.total, searched.items[0]?.name], [1, name], word);
    }
    assert.deepEqual([...kept], []);
    return `${inDoubt.size} lines without an answer, ${replays} repetitions of what was done`;
  }

  return { enter, check };
}

testLedger('appends: no line is lost, doubled or torn', beginAppends, 4_000, 2_000);
