// Random changes on both sides while runs go on, lose answers and break off between two effects: no
// text is lost that its owner did not replace or delete where it lay, and in the end all sides are
// the same. NOTES_TEST_SEED=n makes the same changes again, but requests may come in another order;
// NOTES_TEST_GAMES=n plays more.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { EFFECTS } from '../../src/sync/effects.ts';
import { createRandom, type Random } from '../support/mutations.ts';
import { Owners } from '../support/owners.ts';
import { folderOf, type SyncedFolder, startSynced } from '../support/synced-folder.ts';

const SEED = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
const GAMES = Number(process.env.NOTES_TEST_GAMES ?? 1);

const ROUNDS = 10;
/** So many effects happen in a run at most, and most runs have fewer. */
const MAX_EFFECTS = 26;
/** So many runs without faults bring all folders in step at the latest. */
const MAX_QUIET_ROUNDS = 10;

/** Folders, a service, and what happens to them. */
class Game {
  /** What has happened. */
  readonly trace: string[] = [];
  readonly #test: TestContext;
  readonly #random: Random;
  readonly #owners: Owners;
  readonly #folders: readonly SyncedFolder[];

  constructor(test: TestContext, seed: number, folders: readonly SyncedFolder[]) {
    this.#test = test;
    this.#random = createRandom(seed);
    this.#owners = new Owners(this.#random, '', (line) => this.trace.push(line));
    this.#folders = folders;
  }

  async play(): Promise<void> {
    const { below, pick } = this.#random;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let left = below(4); left > 0; left -= 1) this.#changeHere(pick(this.#folders));
      for (let left = below(3); left > 0; left -= 1) await this.#changeThere();
      await this.#runBroken(pick(this.#folders));
    }
    await this.#settle();
    await this.#verify();
  }

  #changeHere(synced: SyncedFolder): void {
    this.trace.push(`in folder ${this.#folders.indexOf(synced)}`);
    this.#owners.changeHere(synced);
  }

  async #changeThere(): Promise<void> {
    for (const { service } of this.#folders.slice(0, 1)) await this.#owners.changeThere(service);
  }

  /** Runs the command with changes meanwhile, and lets nothing happen from a random effect on. */
  async #runBroken(synced: SyncedFolder): Promise<void> {
    const { below, oneIn, pick } = this.#random;
    const { before } = EFFECTS;
    const { fetch } = globalThis;
    let left = below(MAX_EFFECTS);
    let isChanging = false;
    EFFECTS.before = (effect, what) => {
      if (!isChanging && oneIn(10)) this.#changeHere(synced);
      left -= 1;
      this.trace.push(`${left < 0 ? 'broken off before' : 'before'} ${effect} ${what}`);
      if (left < 0) throw new Error('killed');
    };
    const change = async () => {
      // What its owner does is one step.
      if (isChanging) return;
      isChanging = true;
      await this.#changeThere();
      isChanging = false;
    };
    const mocked = this.#test.mock.method(globalThis, 'fetch', async (...args: Fetched) => {
      const kind = oneIn(10) ? below(3) : undefined;
      if (kind === 0) await change();
      const answer = await fetch(...args);
      if (kind === 1) await change();
      if (kind !== 2) return answer;
      this.trace.push(`lost: the answer to ${args[1]?.method} ${args[0]}`);
      throw new Error('lost');
    });
    try {
      await this.#run(synced, ...(oneIn(5) ? [pick(['--push', '--pull'])] : []));
    } finally {
      EFFECTS.before = before;
      mocked.mock.restore();
    }
  }

  async #run(synced: SyncedFolder, ...args: readonly string[]) {
    this.trace.push(`folder ${this.#folders.indexOf(synced)}: starts ${args.join()}`);
    const { lines, warnings, status } = await synced.sync('--max-delete', '1000', ...args);
    this.trace.push(`status ${status}: ${lines.join('; ')}\n${warnings}`);
    assert.doesNotMatch(warnings, /TypeError|undefined/);
    return { lines, warnings, status };
  }

  /** Runs until all is in step, without faults. */
  async #settle(): Promise<void> {
    // A run leaves a deletion that it did not plan to the next one, and does not say so.
    for (let round = 0, silent = 0; round < MAX_QUIET_ROUNDS && silent < 2; round += 1) {
      silent += 1;
      for (const each of this.#folders) {
        // They are left until their owners delete them.
        for (const [path, text] of Object.entries(each.files()))
          if (text.trim() === '') each.remove(path);
        const { lines, status } = await this.#run(each);
        if (lines.length > 0 || status !== 0) silent = 0;
      }
    }
  }

  async #verify(): Promise<void> {
    const [first] = this.#folders;
    const notes = (await first?.notes()) ?? {};
    for (const each of this.#folders) {
      assert.deepEqual(each.files(), notes);
      assert.deepEqual(await this.#run(each), { lines: [], warnings: '', status: 0 });
      for (const place of ['aside', 'tmp'])
        assert.deepEqual(readdirSync(each.at(`.notes-sync/${place}`)), []);
    }
    const live = new Set(Object.values(notes));
    const lost = [...this.#owners.owed].filter((text) => !live.has(text));
    assert.deepEqual(lost, []);
  }
}

type Fetched = Parameters<typeof fetch>;

for (const count of [1, 2, 3])
  test(`sync: random changes and runs that break off, ${count} folders`, async (t) => {
    for (let seed = SEED; seed < SEED + GAMES; seed += 1) {
      const synced = await startSynced(t);
      const others = Array.from({ length: count - 1 }, () => folderOf(t, synced.service));
      const game = new Game(t, seed, [synced, ...others]);
      await game.play().catch((error) => {
        error.message = `NOTES_TEST_SEED=${seed}: ${error.message}\n${game.trace.join('\n')}`;
        throw error;
      });
      await synced.service.close();
    }
  });
