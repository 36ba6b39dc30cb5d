// The command `sync` as a process that is killed and stopped between any two effects, while texts
// change on both sides and the service loses answers, refuses requests, is restarted, restored from
// a backup or exchanged for an empty one: no text is lost that its owner did not replace or delete.
// NOTES_TEST_SEED=n repeats a game, as far as processes can; NOTES_TEST_GAMES=n plays more.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, type Ending, preload, startCommand } from '../support/command.ts';
import { newFile } from '../support/databases.ts';
import { startFlakyProxy } from '../support/flaky-proxy.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { createRandom, type Random } from '../support/mutations.ts';
import { Owners } from '../support/owners.ts';
import { type Service, startService } from '../support/service.ts';
import { folderOf, namedNotes, type SyncedFolder, type Texts } from '../support/synced-folder.ts';

const SEEDS = process.env.NOTES_TEST_SEED
  ? [Number(process.env.NOTES_TEST_SEED)]
  : [1, 2, 3, Date.now() % 2 ** 31];
const GAMES = Number(process.env.NOTES_TEST_GAMES ?? 1);

const ROUNDS = 10;
/** So many runs without faults bring all folders in step at the latest. */
const MAX_QUIET_ROUNDS = 10;
/** More effects than most runs have. */
const MAX_EFFECTS = 24;

const EFFECTS_MODULE = new URL('../../src/sync/effects.js', import.meta.url);

interface Stop {
  /** The number of the effect before which it happens. */
  readonly at: number;
  readonly signal: 'SIGSTOP' | 'SIGKILL';
}

/** Lets the command stop or kill itself between two effects, and not wait for editors. */
const stopsAt = (stops: readonly Stop[]) =>
  preload(`
    const { EFFECTS, SYNC_TIMES } = await import('${EFFECTS_MODULE}');
    Object.assign(SYNC_TIMES, { missing: 20, retry: 1, aside: 0 });
    const stops = ${JSON.stringify(stops)};
    let count = 0;
    EFFECTS.before = () => {
      count += 1;
      if (stops[0]?.at <= count) process.kill(process.pid, stops.shift().signal);
    };`);

/** Returns the letter of the state of a process; undefined once it is gone. */
function stateOf(pid = 0): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '')[0];
  } catch {
    return undefined;
  }
}

/** Folders, a service, and what happens to them. */
class Game {
  /** What has happened. */
  readonly trace: string[] = [];
  readonly counts = { runs: 0, kills: 0, stops: 0, faults: 0, services: 0 };
  readonly #test: TestContext;
  readonly #random: Random;
  readonly #owners: Owners;
  readonly #prefix: string;
  readonly #running = new Set<Command>();
  #folders: readonly SyncedFolder[] = [];
  #service: Service;
  #file: string;
  #url = '';
  #backup: { readonly file: string; readonly texts: readonly string[] } | undefined;
  #isQuiet = false;
  #paused: Promise<void> = Promise.resolve();

  static async start(test: TestContext, seed: number): Promise<Game> {
    const file = newFile(test);
    const game = new Game(test, seed, file, await startService(test, { db: file }));
    const target = () => game.#service.url;
    game.#url = await startFlakyProxy(test, target, (forward) => game.#pass(forward));
    return game;
  }

  private constructor(test: TestContext, seed: number, file: string, service: Service) {
    this.#test = test;
    this.#random = createRandom(seed);
    this.#prefix = this.#random.pick(['', 'box/é/']);
    this.#owners = new Owners(this.#random, this.#prefix, (line) => this.trace.push(line));
    this.#file = file;
    this.#service = service;
    const count = 1 + this.#random.below(3);
    this.#folders = Array.from({ length: count }, () => folderOf(test, service));
  }

  async play(): Promise<void> {
    const { below, oneIn, pick } = this.#random;
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.#pause(() => this.#change(1 + below(5)));
      if (oneIn(6)) await this.#pause(() => this.#exchangeService());
      const chosen = new Set([pick(this.#folders), ...(oneIn(3) ? [pick(this.#folders)] : [])]);
      await Promise.all([...chosen].map((each) => this.#runBroken(each)));
    }
    await this.#settle();
    await this.#verify();
  }

  /** Runs until all is in step, without faults. */
  async #settle(): Promise<void> {
    this.#isQuiet = true;
    // A run leaves a deletion that it did not plan to the next one, and does not say so.
    for (let round = 0, silent = 0; round < MAX_QUIET_ROUNDS; round += 1) {
      let hasDone = false;
      for (const each of this.#folders) {
        // They are left until their owners delete them.
        for (const [path, text] of Object.entries(each.files()))
          if (text.trim() === '') each.remove(path);
        const { status, stdout, stderr } = await this.#run(each).ended;
        const isBlank = /^(?:left [^\n]*: it is blank\n)+$/.test(stderr);
        assert.ok(status === 0 || (status === 1 && isBlank), stdout + stderr);
        hasDone ||= stdout !== '' || status !== 0;
      }
      silent = hasDone ? 0 : silent + 1;
      if (silent === 2) return;
    }
    assert.fail('it does not come to rest');
  }

  async #verify(): Promise<void> {
    const notes = await namedNotes(this.#service);
    const texts: Texts = Object.fromEntries(
      notes.map(({ name, body }) => [name.slice(this.#prefix.length), body]),
    );
    for (const each of this.#folders) {
      assert.deepEqual(each.files(), texts);
      const { status, stdout, stderr } = await this.#run(each).ended;
      assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
      for (const place of ['aside', 'tmp'])
        assert.deepEqual(readdirSync(each.at(`.notes-sync/${place}`)), [], place);
      const names = readdirSync(each.at('.notes-sync')).sort();
      assert.deepEqual(names, ['.gitignore', 'aside', 'state', 'tmp', 'trash']);
    }
    const live = new Set(Object.values(texts));
    const lost = [...this.#owners.owed].filter((text) => !live.has(text));
    assert.deepEqual(lost, []);
  }

  #run(synced: SyncedFolder, stops: readonly Stop[] = []): Command {
    this.counts.runs += 1;
    const folder = this.#prefix ? ['--folder', this.#prefix] : [];
    const args = ['sync', synced.folder, this.#url, '--max-delete', '1000', ...folder];
    return startCommand(this.#test, args, { node: stopsAt(stops) });
  }

  /** Runs the command once, with changes while it is stopped, and perhaps kills it. */
  async #runBroken(synced: SyncedFolder): Promise<void> {
    const { below, oneIn } = this.#random;
    const command = this.#run(synced, this.#stops());
    this.#running.add(command);
    let ending: Ending | undefined;
    const ended = command.ended.then((found) => {
      ending = found;
      this.#running.delete(command);
    });
    this.trace.push(`folder ${this.#folders.indexOf(synced)}: starts`);
    while (!ending) {
      await Promise.race([ended, delay(2)]);
      await this.#paused;
      if (stateOf(command.process.pid) !== 'T') continue;
      this.counts.stops += 1;
      await this.#pause(async () => {
        await this.#change(1 + below(2), synced);
        if (oneIn(20)) await this.#exchangeService();
      });
    }
    const { status, signal, stdout, stderr } = ending;
    const at = this.#folders.indexOf(synced);
    this.trace.push(`folder ${at}: ${status ?? signal}\n${stdout}${stderr}`);
    if (signal === 'SIGKILL') this.counts.kills += 1;
    else assert.ok(status !== null && status <= 2, stdout + stderr);
    assert.doesNotMatch(stderr, /TypeError|undefined|at file:/);
  }

  #stops(): readonly Stop[] {
    const { below, oneIn } = this.#random;
    const stops: Stop[] = [];
    for (let at = 1 + below(8); at < MAX_EFFECTS; at += 1 + below(8)) {
      stops.push({ at, signal: oneIn(3) ? 'SIGKILL' : 'SIGSTOP' });
      if (stops.at(-1)?.signal === 'SIGKILL') break;
    }
    return stops;
  }

  /** Passes a request on, or does not, or loses its answer, or changes texts before or after. */
  async #pass<Answer>(forward: () => Promise<Answer | undefined>) {
    const { below, oneIn } = this.#random;
    const kind = this.#isQuiet || !oneIn(8) ? undefined : below(5);
    if (kind === undefined) return forward();
    this.counts.faults += 1;
    if (kind === 0) return undefined;
    if (kind === 1) {
      const headers = { 'retry-after': '0.01', 'content-type': 'application/problem+json' };
      return { status: oneIn(2) ? 429 : 503, headers, bytes: '{}' };
    }
    if (kind === 2) await this.#pause(() => this.#change(1));
    const answer = await forward();
    if (kind === 3) await this.#pause(() => this.#change(1));
    return kind === 4 ? undefined : answer;
  }

  /** Stops all commands while their owners change texts, who otherwise would not know what of. */
  #pause(meanwhile: () => Promise<void>): Promise<void> {
    this.#paused = this.#paused.then(async () => {
      const commands = [...this.#running].map(({ process }) => process);
      for (const each of commands) each.kill('SIGSTOP');
      while (commands.some(({ pid }) => !/[TZ]/.test(stateOf(pid) ?? 'Z'))) await delay(1);
      await meanwhile();
      for (const each of commands) each.kill('SIGCONT');
    });
    return this.#paused;
  }

  async #change(count: number, synced?: SyncedFolder): Promise<void> {
    const { oneIn, pick } = this.#random;
    for (let change = 0; change < count; change += 1)
      if (oneIn(3)) await this.#owners.changeThere(this.#service);
      else {
        const place = synced ?? pick(this.#folders);
        this.trace.push(`in folder ${this.#folders.indexOf(place)}`);
        this.#owners.changeHere(place);
      }
  }

  /** Makes a backup, restores it, exchanges the service for an empty one, or starts it again. */
  async #exchangeService(): Promise<void> {
    this.counts.services += 1;
    const kind = this.#random.pick(['restart', 'backup', 'backup', 'restore', 'empty'] as const);
    this.trace.push(`service: ${kind}`);
    if (kind === 'backup') {
      const texts = (await namedNotes(this.#service)).map(({ body }) => body);
      const file = newFile(this.#test);
      await runInProcess(['backup', file, '--db', this.#file]);
      this.#backup = { file, texts };
      return;
    }
    if (kind === 'restore' && !this.#backup) return;
    await this.#service.close();
    const here = this.#folders.flatMap((each) => Object.values(each.files()));
    if (kind === 'empty') {
      this.#file = newFile(this.#test);
      this.#owners.keepOnly(here);
    } else if (kind === 'restore' && this.#backup) {
      await runInProcess(['restore', this.#backup.file, '--db', this.#file, '--force']);
      this.#owners.keepOnly([...here, ...this.#backup.texts]);
    }
    this.#service = await startService(this.#test, { db: this.#file });
  }
}

for (const seed of SEEDS)
  test('sync: random changes, kills, stops and lost answers', async (t) => {
    for (let each = seed; each < seed + GAMES; each += 1) {
      const game = await Game.start(t, each);
      await game.play().catch((error) => {
        error.message = `NOTES_TEST_SEED=${each}: ${error.message}\n${game.trace.join('\n')}`;
        throw error;
      });
      const counts = Object.entries(game.counts).map(([what, count]) => `${count} ${what}`);
      t.diagnostic(`NOTES_TEST_SEED=${each}: ${counts.join(', ')}`);
    }
  });
