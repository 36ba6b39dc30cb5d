// The command `sync`, broken off before each of its effects and requests, or with changes exactly
// there: no text is lost, and the next runs bring both sides in step.
import assert from 'node:assert/strict';
import { readdirSync, renameSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import { type SyncedFolder, shareService, syncUntil, syncWith } from '../support/synced-folder.ts';

/** Runs that bring both sides in step. */
const QUIET_RUNS = 3;

/** No run here has so many effects or requests. */
const MAX_INSTANTS = 40;

const start = await shareService({ after });

interface Scenario {
  /** Whether there is a run after `a.md` and `b.md` were written, and before `prepare`. */
  readonly isKnown: boolean;
  readonly prepare: (place: SyncedFolder) => Promise<void> | void;
  /** The texts that are live in the end, unless somebody replaces them. */
  readonly owed: readonly string[];
  /** Where somebody writes. */
  readonly paths: readonly string[];
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'first run': {
    isKnown: false,
    async prepare(place) {
      await place.put('a.md', 'there');
      await place.put('c.md', 'c');
    },
    owed: ['a', 'b', 'c', 'there'],
    paths: ['a.md'],
  },
  create: {
    isKnown: true,
    prepare: (place) => place.write('c.md', 'c'),
    owed: ['a', 'b', 'c'],
    paths: ['c.md'],
  },
  send: {
    isKnown: true,
    prepare: (place) => place.write('a.md', 'here'),
    owed: ['here', 'b'],
    paths: ['a.md'],
  },
  get: {
    isKnown: true,
    prepare: (place) => place.put('a.md', 'there'),
    owed: ['there', 'b'],
    paths: ['a.md'],
  },
  conflict: {
    isKnown: true,
    async prepare(place) {
      place.write('a.md', 'here');
      await place.put('a.md', 'there');
    },
    owed: ['here', 'there', 'b'],
    paths: ['a.md'],
  },
  'delete here': {
    isKnown: true,
    prepare: (place) => place.erase('a.md'),
    owed: ['b'],
    paths: ['a.md'],
  },
  'delete there': {
    isKnown: true,
    prepare: (place) => place.remove('a.md'),
    owed: ['b'],
    paths: ['a.md'],
  },
  'move here': {
    isKnown: true,
    prepare: (place) => place.rename('a.md', 'm.md'),
    owed: ['a', 'b'],
    paths: ['a.md', 'm.md'],
  },
  'move there': {
    isKnown: true,
    prepare: (place) => renameSync(place.at('a.md'), place.at('m.md')),
    owed: ['a', 'b'],
    paths: ['a.md', 'm.md'],
  },
  'clear what was replaced': {
    isKnown: true,
    async prepare(place) {
      await place.put('a.md', 'there');
      await place.sync();
    },
    owed: ['there', 'b'],
    paths: ['a.md'],
  },
  'bring back what was to be replaced': {
    isKnown: true,
    async prepare(place) {
      await place.put('a.md', 'there');
      assert.ok(await syncUntil(place, (effect) => effect === 'place'));
    },
    owed: ['there', 'b'],
    paths: ['a.md'],
  },
  'bring back what was to be moved': {
    isKnown: true,
    async prepare(place) {
      await place.rename('a.md', 'm.md');
      assert.ok(await syncUntil(place, (effect) => effect === 'place'));
    },
    owed: ['a', 'b'],
    paths: ['a.md', 'm.md'],
  },
};

/** What happens at an instant; `owed` are the texts that must be live in the end. */
type Happen = (place: SyncedFolder, path: string, owed: Set<string>) => void;

function writeHere(place: SyncedFolder, path: string, owed: Set<string>): void {
  owed.delete(place.files()[path] ?? '');
  owed.add('mine');
  place.write(path, 'mine');
}

function saveHere(place: SyncedFolder, path: string, owed: Set<string>): void {
  owed.delete(place.files()[path] ?? '');
  owed.add('mine');
  place.write('.swap', 'mine');
  renameSync(place.at('.swap'), place.at(path));
}

function removeHere(place: SyncedFolder, path: string, owed: Set<string>): void {
  const text = place.files()[path];
  if (text === undefined) return;
  owed.delete(text);
  place.remove(path);
}

const HAPPENINGS: Readonly<Record<string, Happen>> = { writeHere, saveHere, removeHere };

/** Runs with `happen` before the effect number `at`, and none from `end` on; whether it came. */
async function runWith(place: SyncedFolder, at: number, end: number, happen: () => void) {
  let count = 0;
  await syncWith(place, () => {
    count += 1;
    if (count === at) happen();
    if (count >= end) throw new Error('killed');
  });
  return count >= at;
}

/** Runs with `happen` around the request number `at`, of which the answer may be lost. */
async function runWithRequests(
  t: TestContext,
  place: SyncedFolder,
  at: number,
  happen: (forward: () => Promise<Response>) => Promise<Response>,
): Promise<boolean> {
  const { fetch } = globalThis;
  let count = 0;
  const mocked = t.mock.method(globalThis, 'fetch', (...args: Parameters<typeof fetch>) => {
    count += 1;
    return count === at ? happen(() => fetch(...args)) : fetch(...args);
  });
  await place.sync();
  mocked.mock.restore();
  return count >= at;
}

async function assertRest(
  place: SyncedFolder,
  owed: ReadonlySet<string>,
  label: string,
): Promise<void> {
  for (let run = 0; run < QUIET_RUNS; run += 1) await place.sync();
  const notes = await place.notes();
  assert.deepEqual(place.files(), notes, label);
  const texts = Object.values(notes);
  assert.deepEqual(
    [...owed].filter((text) => !texts.includes(text)),
    [],
    label,
  );
  assert.deepEqual((await place.sync()).lines, [], label);
  for (const name of ['aside', 'tmp'])
    assert.deepEqual(readdirSync(place.at(`.notes-sync/${name}`)), [], `${label}: ${name}`);
}

async function prepare(place: SyncedFolder, scenario: Scenario): Promise<SyncedFolder> {
  for (const name of ['a', 'b']) place.write(`${name}.md`, name);
  if (scenario.isKnown) await place.sync();
  await scenario.prepare(place);
  return place;
}

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  test(`sync: ${name}, broken off before each effect`, async (t) => {
    for (let at = 1, isThere = true; isThere; at += 1) {
      assert.ok(at < MAX_INSTANTS);
      const place = await prepare(start(t), scenario);
      isThere = await runWith(place, at, at, () => {});
      // Nobody else has changed anything, so there is no further text.
      const owed = new Set(scenario.owed);
      await assertRest(place, owed, `before effect ${at}`);
      assert.deepEqual(Object.values(place.files()).sort(), [...owed].sort(), `effect ${at}`);
    }
  });

  test(`sync: ${name}, with a change here before each effect`, async (t) => {
    for (const path of scenario.paths)
      for (const [what, happen] of Object.entries(HAPPENINGS))
        for (const further of what === 'writeHere' ? [1, MAX_INSTANTS] : [MAX_INSTANTS])
          for (let at = 1, isThere = true; isThere; at += 1) {
            const place = await prepare(start(t), scenario);
            const owed = new Set(scenario.owed);
            isThere = await runWith(place, at, at + further, () => happen(place, path, owed));
            const label = `${what} ${path} before effect ${at}, none after ${at + further}`;
            await assertRest(place, owed, label);
          }
  });

  test(`sync: ${name}, with a change there before each request, and lost answers`, async (t) => {
    for (const path of [...scenario.paths, undefined])
      for (let at = 1, isThere = true; isThere; at += 1) {
        const place = await prepare(start(t), scenario);
        const owed = new Set(scenario.owed);
        isThere = await runWithRequests(t, place, at, async (forward) => {
          if (path === undefined) {
            await forward();
            throw new Error('lost');
          }
          owed.delete((await place.notes())[path] ?? '');
          owed.add('theirs');
          await place.put(path, 'theirs');
          return forward();
        });
        await assertRest(place, owed, `${path ?? 'lost'} at request ${at}`);
      }
  });
}
