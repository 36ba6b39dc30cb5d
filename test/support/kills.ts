// Kills a service while clients write, and checks afterwards that no acknowledged write is lost. A
// write without an answer is in doubt: it may have been stored or not, but not in part.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkFile } from '../../src/commands/check.ts';
import { allItems } from './collections.ts';
import { startCommand, stop } from './command.ts';
import { newFile } from './databases.ts';
import { brokenConnection, request } from './http.ts';
import { between } from './random.ts';

const CLIENTS = 16;

/** The texts that a client sends. */
type Input = Readonly<Record<string, string>>;

/** The texts that a record may have, as JSON; undefined: none. A write in doubt adds one. */
type States = readonly (string | undefined)[];

const listOf = (path: string) => path.slice(0, path.lastIndexOf('/'));

/** What a service must have kept. A write that rejects leaves its record in doubt. */
class Ledger {
  acknowledged = 0;
  onAcknowledged = () => {};
  readonly #records = new Map<string, States>();
  /** The lists of unanswered creations by their texts, which are all different. */
  readonly #unanswered = new Map<string, string>();

  async create(url: string, list: string, input: Input): Promise<string> {
    const text = JSON.stringify(input);
    this.#unanswered.set(text, list);
    const { status, headers } = await request(url, 'POST', list, { json: input });
    const path = String(headers.location);
    assert.deepEqual([status, listOf(path)], [201, list]);
    assert.ok(!this.#records.has(path), `${path} was given twice`);
    this.#records.set(path, [text]);
    this.#unanswered.delete(text);
    this.#acknowledge();
    return path;
  }

  async replace(url: string, path: string, input: Input): Promise<void> {
    const text = JSON.stringify(input);
    this.#records.set(path, [...(this.#records.get(path) ?? []), text]);
    assert.equal((await request(url, 'PUT', path, { json: input })).status, 200);
    this.#records.set(path, [text]);
    this.#acknowledge();
  }

  /** Removes a record with those below it. */
  async remove(url: string, path: string): Promise<void> {
    this.#enterAll(path, (known) => [...known, undefined]);
    assert.equal((await request(url, 'DELETE', path)).status, 204);
    this.#enterAll(path, () => [undefined]);
    this.#acknowledge();
  }

  /** Asserts the content of all lists. Nobody may write meanwhile. */
  async verify(url: string): Promise<void> {
    const lists = new Set([...this.#records.keys()].map(listOf));
    for (const list of lists) await this.#verifyList(url, list);
    this.#unanswered.clear();
  }

  async #verifyList(url: string, list: string): Promise<void> {
    const found = await textsIn(url, list);
    for (const [path, text] of found) {
      const known = this.#records.get(path);
      const label = `${path} is ${text.slice(0, 200)}, not ${known}`.slice(0, 1_000);
      assert.ok(known ? known.includes(text) : this.#unanswered.get(text) === list, label);
      // The record was not deleted, so its children were not deleted either.
      if (known?.includes(undefined)) this.#enterAll(path, (states) => states.slice(0, 1));
      this.#records.set(path, [text]);
    }
    for (const [path, known] of this.#records) {
      if (listOf(path) !== list || found.has(path)) continue;
      assert.ok(known.includes(undefined), `${path} is lost: ${known}`.slice(0, 1_000));
      this.#records.set(path, [undefined]);
    }
  }

  /** Does the same to a record and those below it. */
  #enterAll(path: string, states: (known: States) => States): void {
    for (const [each, known] of this.#records)
      if (each === path || each.startsWith(`${path}/`)) this.#records.set(each, states(known));
  }

  #acknowledge(): void {
    this.acknowledged += 1;
    this.onAcknowledged();
  }
}

async function textsIn(url: string, list: string): Promise<Map<string, string>> {
  if ((await request(url, 'GET', list)).status === 404) return new Map();
  const items = await allItems({ request: (...args) => request(url, ...args) }, list);
  return new Map(
    items.map(({ id, name, title, body }) => [
      `${list}/${id}`,
      JSON.stringify({ name, title, body }),
    ]),
  );
}

/** Writes records of every kind, as a client does in its turn number `turn`. */
async function writeOnce(url: string, ledger: Ledger, name: string, turn: number): Promise<void> {
  const label = `${name}, turn ${turn}`;
  // Some texts are longer than a page of the file, so that a write could be torn.
  const long = label.padEnd(turn % 5 === 0 ? between(5_000, 9_000) : 0, '.');
  const kept = await ledger.create(url, '/notes', { title: label, body: long });
  await ledger.replace(url, kept, { title: `${label}, replaced`, body: long });
  const tag = await ledger.create(url, '/tags', { name: label });
  const comment = await ledger.create(url, `${kept}/comments`, { body: long });
  await ledger.replace(url, comment, { body: `${long}, replaced` });
  await ledger.create(url, `${kept}/comments`, { body: `${label}, another` });
  if (turn % 2 === 0) await ledger.remove(url, tag);
  if (turn % 3 === 0) await ledger.remove(url, comment);
  if (turn % 3 === 1) await ledger.remove(url, kept);
}

async function writeUntilKilled(url: string, ledger: Ledger, name: string): Promise<void> {
  try {
    for (let turn = 0; ; turn += 1) await writeOnce(url, ledger, name, turn);
  } catch (error) {
    assert.ok(brokenConnection(error), error as Error);
  }
}

/** Kills a service `kills` times, after `writes` acknowledged writes each, and looks for all. */
export async function killRepeatedly(
  t: TestContext,
  kills: number,
  writes: readonly [number, number],
): Promise<void> {
  const path = newFile(t);
  const ledger = new Ledger();
  const args = ['--port', '0', '--log-level', 'error', '--db', path];
  const start = () => startCommand(t, args, { folder: dirname(path) });

  let command = start();
  let url = await command.ready();
  for (let kill = 1; kill <= kills; kill += 1) {
    const enough = ledger.acknowledged + between(...writes);
    const clients = Promise.all(
      Array.from({ length: CLIENTS }, (_, client) =>
        writeUntilKilled(url, ledger, `kill ${kill}, client ${client}`),
      ),
    );
    const enoughWritten = new Promise<void>((resolve) => {
      ledger.onAcknowledged = () => ledger.acknowledged >= enough && resolve();
    });
    await Promise.race([enoughWritten, clients]);
    // Half of the kills come right after an acknowledgement, to catch one that precedes its commit.
    for (let turns = between(0, 1) * between(1, 50); turns > 0; turns -= 1) await nextTurn();
    command.process.kill('SIGKILL');
    await clients;
    assert.equal((await command.ended).signal, 'SIGKILL');
    assert.ok(statSync(`${path}-wal`).size > 0, 'the service closed the file');
    command = start();
    url = await command.ready();
    await ledger.verify(url);
    assert.deepEqual(await checkFile(path), []);
  }
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  assert.deepEqual(await checkFile(path), []);
  assert.ok(ledger.acknowledged >= kills * writes[0]);
  t.diagnostic(`${kills} kills, ${ledger.acknowledged} acknowledged writes, all kept`);
}
