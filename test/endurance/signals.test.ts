// SIGTERM and SIGINT end all that the launcher starts, in each state, also as process 1, where the
// system ignores signals without a handler.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { KEEP_LOCKS, TAKE_WRITE_LOCK } from '../../src/storage/sqlite/connection.ts';
import { type Command, type CommandParts, preload, startCommand } from '../support/command.ts';
import { holdLock, newFile } from '../support/databases.ts';
import { temporaryFolder } from '../support/engine.ts';
import { filledFile } from '../support/filled.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { asProcessOne, descendantsOf, hasLoadedSqlite, hasOpened } from '../support/process-one.ts';
import { sendSignal } from '../support/processes.ts';
import { skipLoudly } from '../support/skip.ts';
import { until } from '../support/until.ts';

/** Longer than a statement waits for a lock. */
const MAX_END_MS = 15_000;
/** Large enough for a signal in the middle. */
const NOTES = 20_000;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

type Signal = (typeof SIGNALS)[number];

/** What runs, and in which state it gets a signal. */
interface Scene {
  readonly args: readonly string[];
  readonly parts?: CommandParts;
  /** Without this, it sends itself the signal. */
  readonly isReached?: (pids: readonly number[], command: Command) => boolean;
  /** Which files there may be at the end. */
  readonly left?: { readonly folder: string; readonly names: readonly string[] };
}

type MakeScene = (t: TestContext, signal: Signal) => Promise<Scene>;

/** Starts a command through a wrapper; `pids` returns its processes, of which the first counts. */
function start(t: TestContext, { args, parts }: Scene, wrapper: readonly string[]) {
  const command = startCommand(t, [...args], { ...parts, wrapper });
  const { pid = 0 } = command.process;
  // `setsid` becomes what it starts; `unshare` starts it.
  const isDirect = !wrapper.includes('unshare');
  const pids = () => [...(isDirect ? [pid] : []), ...descendantsOf(pid)];
  return { command, pids };
}

/** Asserts that a signal that was sent ends the command, and how. */
async function assertEnds({ ended }: Command, { args }: Scene, signal: Signal): Promise<void> {
  const ending = await Promise.race([ended, delay(MAX_END_MS, undefined, { ref: false })]);
  assert.ok(ending, `${signal} has not ended it`);
  // As a shell shows it.
  const status = ending.status ?? 128 + constants.signals[ending.signal ?? 'SIGKILL'];
  const isService = args[0]?.startsWith('-');
  assert.equal(status, isService ? 0 : 128 + constants.signals[signal], ending.stderr);
  assert.doesNotMatch(ending.stderr, /^notes-server: /m);
}

async function play(
  t: TestContext,
  scene: Scene,
  signal: Signal,
  wrapper: readonly string[],
  groupOf?: (pid: number) => number,
) {
  const { command, pids } = start(t, scene, wrapper);
  const { isReached, left } = scene;
  if (isReached) {
    let hasEnded = false;
    void command.ended.then(() => {
      hasEnded = true;
    });
    await until(() => hasEnded || (pids().length > 0 && isReached(pids(), command)));
    assert.ok(!hasEnded, 'it ended before the signal');
    sendSignal(groupOf ? groupOf(command.process.pid ?? 0) : pids()[0], signal);
  }
  await assertEnds(command, scene, signal);
  const found = left ? readdirSync(left.folder) : [];
  assert.deepEqual(
    found.filter((name) => !left?.names.includes(name)),
    [],
  );
}

const isOpen = (db: string) => (pids: readonly number[]) => pids.some((pid) => hasOpened(pid, db));
const isLoaded = (pids: readonly number[]) => pids.some(hasLoadedSqlite);

/** Whether a file that is not finished has content. */
function isBegun(folder: string): boolean {
  const name = readdirSync(folder).find((each) => each.includes('.unfinished-'));
  const found = name && statSync(join(folder, name), { throwIfNoEntry: false });
  return found ? found.size > 0 : false;
}

/** Makes a call, as setImmediate takes it, once the launcher handles signals. */
const atFirst = (call: string) =>
  preload(`
  import { writeSync } from 'node:fs';
  process.on('newListener', (name) => name === 'SIGINT' && setImmediate(${call}));`);

/** Lets the first process get a signal when the other has already ended of it. */
const heardLate = (signal: Signal) =>
  preload(`
  import cluster from 'node:cluster';
  if (cluster.isWorker) process.kill(process.pid, '${signal}');
  cluster.on('exit', () => process.kill(process.pid, '${signal}'));`);

const SERVICES = [
  ['--port', '0'],
  ['--port', '0', '--processes', '2'],
];

const COMMANDS = 'import|export|check|backup b.db|restore b.db|key|help'
  .split('|')
  .map((line) => line.split(' '));

async function locked(t: TestContext): Promise<string> {
  const db = await filledFile(t, 1);
  await holdLock(t, db, `${KEEP_LOCKS}; ${TAKE_WRITE_LOCK}; BEGIN IMMEDIATE`);
  return db;
}

/** A command that waits for a lock on its database. */
const lockedScene = (...args: string[]) =>
  async function makeScene(t: TestContext): Promise<Scene> {
    const db = await locked(t);
    return { args: [...args, '--db', db], isReached: isOpen(db) };
  };

/** A command that writes the file `target`. */
const writingScene = (kind: 'backup' | 'export' | 'restore') =>
  async function makeScene(t: TestContext): Promise<Scene> {
    const [from, target] = [await filledFile(t, NOTES), newFile(t)];
    const folder = dirname(target);
    const args = kind === 'restore' ? [kind, from, '--db', target] : [kind, target, '--db', from];
    return { args, isReached: () => isBegun(folder), left: { folder, names: [] } };
  };

/** A service; it leaves its database without a log. */
const serviceScene = (processes: string, isReached: NonNullable<Scene['isReached']>) =>
  async function makeScene(t: TestContext): Promise<Scene> {
    const folder = temporaryFolder(t);
    const args = ['--port', '0', '--processes', processes, '--db', join(folder, 'notes.db')];
    return { args, isReached, left: { folder, names: ['notes.db'] } };
  };

async function exportedFile(t: TestContext): Promise<string> {
  const file = newFile(t);
  await runInProcess(['export', file, '--db', await filledFile(t, NOTES)]);
  return file;
}

const SCENES: Record<string, MakeScene> = {
  'a service that opens its database': async (t) => {
    const db = await filledFile(t, 1);
    return { args: ['--port', '0', '--db', db], isReached: isOpen(db) };
  },
  'a service that waits for a lock': lockedScene('--port', '0'),
  'two processes that wait for a lock': lockedScene('--port', '0', '--processes', '2'),
  'a service whose cluster is silent': async (t) => {
    const node = createServer().listen(0, '127.0.0.1');
    t.after(() => node.close());
    await once(node, 'listening');
    let isAsked = false;
    node.once('connection', () => {
      isAsked = true;
    });
    const { port } = node.address() as AddressInfo;
    const args = ['--port', '0', '--db', `rqlite://127.0.0.1:${port}`];
    return { args, isReached: () => isAsked };
  },
  'a service that loads': serviceScene('1', isLoaded),
  'two processes that load': serviceScene('2', (pids) => pids.length > 1),
  'two processes, the first of which gets it last': async (_, signal) => ({
    args: ['--port', '0', '--processes', '2'],
    parts: { node: heardLate(signal) },
  }),
  'import that waits for all of its input': async (t) => {
    const args = ['import', '--db', newFile(t)];
    return { args, parts: { holdsInput: true }, isReached: isLoaded };
  },
  'import that waits for the rest of its input': async (t) => {
    const db = newFile(t);
    const input = readFileSync(await exportedFile(t), 'utf8').slice(0, 5_000);
    const args = ['import', '--db', db];
    return { args, parts: { holdsInput: true, input }, isReached: isOpen(db) };
  },
  'import of a file': async (t) => {
    const db = newFile(t);
    return { args: ['import', await exportedFile(t), '--db', db], isReached: isOpen(db) };
  },
  'import that waits for a lock': async (t) => {
    const db = await locked(t);
    return { args: ['import', await exportedFile(t), '--db', db], isReached: isOpen(db) };
  },
  'export whose output nobody reads': async (t) => {
    const db = await filledFile(t, NOTES);
    const isReached: Scene['isReached'] = (_, { process }) => process.stdout?.isPaused() ?? false;
    return { args: ['export', '--db', db], parts: { holdsOutput: true }, isReached };
  },
  'export that waits for a lock': lockedScene('export'),
  'backup that waits for a lock': lockedScene('backup', 'b.db'),
  'check that waits for a lock': lockedScene('check'),
  check: async (t) => {
    const db = await filledFile(t, NOTES);
    return { args: ['check', db], isReached: isOpen(db) };
  },
  'check --repair': async (t) => {
    const db = await filledFile(t, NOTES);
    return { args: ['check', '--repair', db], isReached: isOpen(db) };
  },
  'backup in the middle': writingScene('backup'),
  'export in the middle': writingScene('export'),
  'restore in the middle': writingScene('restore'),
};

for (const args of [...SERVICES, ...COMMANDS]) {
  SCENES[`${args.join(' ')} at its first moment`] = async (_, signal) => ({
    args,
    parts: { node: atFirst(`process.kill, process.pid, '${signal}'`) },
  });
}

/** Returns what starts a program as process 1 or not; skips the test where that is not allowed. */
function wrapperFor(t: TestContext, as: string): readonly string[] | undefined {
  const wrapper = as === 'process 1' ? asProcessOne() : [];
  if (!wrapper) skipLoudly(t, 'unshare may not make a namespace of processes here');
  return wrapper;
}

for (const as of ['process 1', 'any process']) {
  for (const [name, makeScene] of Object.entries(SCENES)) {
    test(`signals: ${name}, as ${as}`, async (t) => {
      const wrapper = wrapperFor(t, as);
      if (!wrapper) return;
      for (const signal of SIGNALS) await play(t, await makeScene(t, signal), signal, wrapper);
    });
  }

  test(`signals: a second one ends a service at once, as ${as}`, async (t) => {
    const wrapper = wrapperFor(t, as);
    if (!wrapper) return;
    for (const signal of SIGNALS) {
      const scene = await lockedScene('--port', '0')(t);
      const { command, pids } = start(t, scene, wrapper);
      await until(() => scene.isReached?.(pids(), command) === true);
      sendSignal(pids()[0], signal);
      await command.says('"stopping"');
      sendSignal(pids()[0], signal);
      await assertEnds(command, { args: ['a command'] }, signal);
    }
  });

  test(`signals: Ctrl-C, which all processes get, as ${as}`, async (t) => {
    const wrapper = wrapperFor(t, as);
    if (!wrapper) return;
    const states = ['two processes that load', 'import that waits for all of its input'];
    for (const state of [...states, 'backup in the middle']) {
      const scene = await SCENES[state]?.(t, 'SIGINT');
      assert.ok(scene);
      await play(t, scene, 'SIGINT', ['setsid', ...wrapper], (pid) => -pid);
    }
  });

  test(`signals: at any time of a start, as ${as}`, async (t) => {
    const wrapper = wrapperFor(t, as);
    if (!wrapper) return;
    for (const args of [...SERVICES, ['import']]) {
      for (let ms = 0; ms < 800; ms += 50) {
        const scene = { args, parts: { node: atFirst(`writeSync, 2, 'here'`), holdsInput: true } };
        const { command, pids } = start(t, scene, wrapper);
        await command.says('here');
        await delay(ms);
        const signal = ms % 100 > 0 ? 'SIGTERM' : 'SIGINT';
        sendSignal(pids()[0], signal);
        await assertEnds(command, scene, signal);
      }
    }
  });
}
