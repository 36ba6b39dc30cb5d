// A ledger of what clients were told: which records must be there with which texts, and which writes were never answered,
// so that either outcome is right, but nothing between.
import assert from 'node:assert/strict';
import { request } from './http.ts';

/** The texts a client sends. */
export type Input = Readonly<Record<string, string>>;

/** The states a record may be in, as the JSON of its texts (undefined: it is not there); two while a write is in doubt. */
type States = readonly (string | undefined)[];

/** A write was answered 503. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** What a service must have kept. Every write rejects as `ask` does, or as {@link Refused}, and leaves its record in doubt. */
export interface Ledger {
  /** Creates a record in the list at the path `list`; resolves with its path. */
  create(url: string, list: string, input: Input): Promise<string>;
  replace(url: string, path: string, input: Input): Promise<void>;
  /** Deletes a record and what belongs to it. */
  remove(url: string, path: string): Promise<void>;
  /** Asserts that the lists hold what they must, and nothing that they may not: those written to since, or all. */
  verify(url: string, which: 'touched' | 'all'): Promise<void>;
  /** How many writes were acknowledged. */
  acknowledged(): number;
  /** How many writes were not, and were found done or not done. */
  inDoubt(): { readonly done: number; readonly undone: number };
}

/** Returns an empty ledger, which calls `onAcknowledged` after each write that was acknowledged. */
export function createLedger(onAcknowledged: () => void): Ledger {
  const lists = new Map<string, Map<number, States>>();
  const touched = new Set<string>();
  /** The texts of creates that were sent and not answered, each with its list: no two are the same. */
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

  /** The same for what belongs to the record at `path`. */
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
        assert.ok(known.includes(text), `${list}/${id} is ${text.slice(0, 200)}, not ${known}`.slice(0, 1_000));
      else assert.equal(unanswered.get(text), list, `${list}/${id} was never sent: ${text.slice(0, 200)}`);
      if (!known || known.length > 1) doubts[text === known?.[0] ? 'undone' : 'done'] += 1;
      // Not deleted: then neither is what belongs to it.
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
      assertStatus(status, 201);
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
      assertStatus((await request(url, 'PUT', path, { json: input })).status, 200);
      enter(path, () => [text]);
      acknowledge();
    },

    async remove(url, path) {
      const orGone = (known: States) => (known.includes(undefined) ? known : [...known, undefined]);
      enter(path, orGone);
      enterBelow(path, orGone);
      assertStatus((await request(url, 'DELETE', path)).status, 204);
      enter(path, () => [undefined]);
      enterBelow(path, () => [undefined]);
      acknowledge();
    },

    async verify(url, which) {
      for (const list of which === 'all' ? lists.keys() : [...touched]) await verifyList(url, list);
      touched.clear();
    },

    acknowledged: () => acknowledged,
    inDoubt: () => doubts,
  };
}

/** Returns any whole number from `least` to `most`. */
export const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least + 1));

/** A client's turn number `turn`: notes, tags and comments made, replaced and removed; every text it sends is another. */
export async function writeOnce(url: string, ledger: Ledger, name: string, turn: number): Promise<void> {
  const label = `${name}, turn ${turn}`;
  // Some are longer than a page of the file, so that there is something to tear apart.
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

function assertStatus(status: number, wanted: number): void {
  if (status === 503) throw new Refused();
  assert.equal(status, wanted);
}

function partsOf(path: string): [list: string, id: number] {
  const end = path.lastIndexOf('/');
  return [path.slice(0, end), Number(path.slice(end + 1))];
}

/** The texts of all records of a list by their ids; none where the note that it belongs to is gone. */
async function allTexts(url: string, list: string): Promise<Map<number, string>> {
  const texts = new Map<number, string>();
  for (;;) {
    const { status, text } = await request(url, 'GET', `${list}?limit=100&offset=${texts.size}`);
    if (status === 404) return texts;
    assert.equal(status, 200);
    const { items, total } = JSON.parse(text);
    for (const { id, note_id: _, ...input } of items) texts.set(id, JSON.stringify(input));
    if (items.length === 0 || texts.size === total) {
      assert.equal(texts.size, total);
      return texts;
    }
  }
}
