// A ledger of acknowledged writes: which records must exist, with which texts. A write without an
// answer is in doubt: it may have been stored or not, but not in part.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { request } from './http.ts';

/** The texts a client sends. */
export type Input = Readonly<Record<string, string>>;

/** The texts that a record may have, as JSON; undefined: none. A write in doubt adds one. */
type States = readonly (string | undefined)[];

/** What a service must have kept. A write that rejects leaves its record in doubt. */
export interface Ledger {
  create(url: string, list: string, input: Input): Promise<string>;
  replace(url: string, path: string, input: Input): Promise<void>;
  remove(url: string, path: string): Promise<void>;
  /** Asserts the content of the lists: of those written to since the last call, or of all. */
  verify(url: string, which: 'touched' | 'all'): Promise<void>;
  acknowledged(): number;
  report(test: Pick<TestContext, 'diagnostic'>, kills: number): void;
}

/** Returns an empty ledger, which calls `onAcknowledged` after each acknowledged write. */
export function createLedger(onAcknowledged: () => void): Ledger {
  const lists = new Map<string, Map<number, States>>();
  const touched = new Set<string>();
  /** The lists of unanswered creates by their texts, which are all different. */
  const unanswered = new Map<string, string>();
  const doubts = { done: 0, undone: 0 };
  let acknowledged = 0;

  function acknowledge(): void {
    acknowledged += 1;
    onAcknowledged();
  }

  function recordsOf(list: string): Map<number, States> {
    const records = lists.get(list) ?? new Map<number, States>();
    lists.set(list, records);
    touched.add(list);
    return records;
  }

  function enter(path: string, states: (known: States) => States): void {
    const [list, id] = partsOf(path);
    const records = recordsOf(list);
    records.set(id, states(records.get(id) ?? []));
  }

  /** Does the same to the children of the record at `path`. */
  function enterBelow(path: string, states: (known: States) => States): void {
    if (!lists.has(`${path}/comments`)) return;
    const children = recordsOf(`${path}/comments`);
    for (const [child, known] of children) children.set(child, states(known));
  }

  async function verifyList(url: string, list: string): Promise<void> {
    const records = recordsOf(list);
    const found = await allTexts(url, list);
    for (const [id, text] of found) {
      const known = records.get(id);
      if (known)
        assert.ok(
          known.includes(text),
          `${list}/${id} is ${text.slice(0, 200)}, not ${known}`.slice(0, 1_000),
        );
      else
        assert.equal(
          unanswered.get(text),
          list,
          `${list}/${id} was never sent: ${text.slice(0, 200)}`,
        );
      if (!known || known.length > 1) doubts[text === known?.[0] ? 'undone' : 'done'] += 1;
      // The record was not deleted, so its children were not deleted either.
      if (known?.includes(undefined)) enterBelow(`${list}/${id}`, (states) => states.slice(0, 1));
      unanswered.delete(text);
      records.set(id, [text]);
    }
    for (const [id, known] of records) {
      if (found.has(id)) continue;
      assert.ok(known.includes(undefined), `${list}/${id} is lost: ${known}`.slice(0, 1_000));
      if (known.length > 1) doubts.done += 1;
      records.set(id, [undefined]);
    }
    for (const [text, itsList] of unanswered) {
      if (itsList === list) doubts.undone += Number(unanswered.delete(text));
    }
  }

  return {
    async create(url, list, input) {
      const records = recordsOf(list);
      const text = JSON.stringify(input);
      unanswered.set(text, list);
      const { status, headers } = await request(url, 'POST', list, { json: input });
      assert.equal(status, 201);
      const path = String(headers.location);
      const [itsList, id] = partsOf(path);
      assert.equal(itsList, list);
      assert.ok(!records.has(id), `${path} was given twice`);
      records.set(id, [text]);
      unanswered.delete(text);
      acknowledge();
      return path;
    },

    async replace(url, path, input) {
      const text = JSON.stringify(input);
      enter(path, (known) => [...known, text]);
      assert.equal((await request(url, 'PUT', path, { json: input })).status, 200);
      enter(path, () => [text]);
      acknowledge();
    },

    async remove(url, path) {
      const orGone = (known: States) => (known.includes(undefined) ? known : [...known, undefined]);
      enter(path, orGone);
      enterBelow(path, orGone);
      assert.equal((await request(url, 'DELETE', path)).status, 204);
      enter(path, () => [undefined]);
      enterBelow(path, () => [undefined]);
      acknowledge();
    },

    async verify(url, which) {
      for (const list of which === 'all' ? lists.keys() : [...touched]) await verifyList(url, list);
      touched.clear();
    },

    acknowledged: () => acknowledged,
    report(test, kills) {
      const { done, undone } = doubts;
      test.diagnostic(`${kills} kills, ${acknowledged} acknowledged writes, all kept`);
      test.diagnostic(
        `${done + undone} writes without an answer: ${done} wholly done, ${undone} not at all`,
      );
    },
  };
}

/** Whether a request failed because its connection broke. */
export function brokenConnection(error: unknown): boolean {
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}

/** Returns a random whole number from `least` to `most`. */
export const between = (least: number, most: number) =>
  least + Math.floor(Math.random() * (most - least + 1));

/** Returns true once in `turns` on average. */
export const oneIn = (turns: number) => between(1, turns) === 1;

/** Writes records of every kind, as a client does in its turn number `turn`. */
export async function writeOnce(url: string, ledger: Ledger, name: string, turn: number) {
  const label = `${name}, turn ${turn}`;
  // Some texts are longer than a page of the file, so that a write could be torn.
  const long = label.padEnd(turn % 5 === 0 ? between(5_000, 9_000) : 0, '.');
  const note = (title: string): Input => ({ title, body: long });
  const kept = await ledger.create(url, '/notes', note(label));
  await ledger.replace(url, kept, note(`${label}, replaced`));
  const tag = await ledger.create(url, '/tags', { name: label });
  const comment = await ledger.create(url, `${kept}/comments`, { body: long });
  await ledger.replace(url, comment, { body: `${long}, replaced` });
  await ledger.create(url, `${kept}/comments`, { body: `${label}, another` });
  if (turn % 2 === 0) await ledger.remove(url, tag);
  if (turn % 3 === 0) await ledger.remove(url, comment);
  if (turn % 3 === 1) await ledger.remove(url, kept);
}

function partsOf(path: string): [list: string, id: number] {
  const end = path.lastIndexOf('/');
  return [path.slice(0, end), Number(path.slice(end + 1))];
}

async function allTexts(url: string, list: string): Promise<Map<number, string>> {
  const texts = new Map<number, string>();
  for (;;) {
    const { status, text } = await request(url, 'GET', `${list}?limit=100&offset=${texts.size}`);
    if (status === 404) return texts;
    assert.equal(status, 200);
    const { items, total } = JSON.parse(text);
    for (const { id, name, title, body } of items)
      texts.set(id, JSON.stringify({ name, title, body }));
    if (items.length === 0 || texts.size === total) {
      assert.equal(texts.size, total);
      return texts;
    }
  }
}
