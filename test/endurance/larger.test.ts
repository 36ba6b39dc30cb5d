// Tests of `npm test` with larger values: more kills and stops, longer games, every code point.
// NOTES_TEST_SEED=N repeats the random ones of seed N.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { checkRoundTrips } from '../commands/round-trip.ts';
import { foretellTaggings, foretellWrites } from '../records/foretold-rows.ts';
import { COLLECTIONS, maxLengthOf } from '../support/collections.ts';
import { ENGINES, MEMORY } from '../support/engines.ts';
import { playLedger } from '../support/freshness-ledger.ts';
import * as json from '../support/json-properties.ts';
import { killRepeatedly } from '../support/kills.ts';
import { playListGames } from '../support/list-games.ts';
import { checkFinds } from '../support/search-checks.ts';
import { startService } from '../support/service.ts';
import { stopUnderLoad } from '../support/stops.ts';
import { assertKept, codePoints } from '../support/texts.ts';
import { testTaggingGames } from '../tags/note-tags-suite.ts';

const seed = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
const texts = { seed, numRuns: 10_000 };

/** Tags differ from notes in their names alone. */
const LISTS = COLLECTIONS.filter(({ label }) => label !== 'Tag');

async function playLongLedger(t: TestContext): Promise<void> {
  const { commits, reads, fromMemory, stale } = await playLedger(t, 10_000);
  assert.deepEqual(stale, []);
  t.diagnostic(`${commits} commits, ${reads} reads, ${fromMemory} of them from memory`);
}

async function requestAtOnce(t: TestContext): Promise<void> {
  const { request } = await startService(t);
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => request('GET', '/notes')));
  assert.ok(answers.every(({ status }) => status === 200));
}

const TESTS: Readonly<Record<string, (t: TestContext) => unknown>> = {
  'durability: acknowledged writes survive ten kills': (t) => killRepeatedly(t, 10, [60, 240]),
  'records: sixty random databases exported and imported': (t) => checkRoundTrips(t, 60),
  'never stale: 10,000 commits of three writers': playLongLedger,
  'overload: 1,000 simultaneous clients are all answered': requestAtOnce,
  'foretold rows: 300 random batches of all kinds of writes': (t) => foretellWrites(t, 300),
  'foretold rows: 100 random batches of writes with tags on notes': (t) => foretellTaggings(t, 100),
  'search: 25,000 queries find what a plain scan finds': () => checkFinds({ numRuns: 500 }),
  'lists: 500 times random parameters': async (t) => playListGames(await startService(t), 500),
  'JSON: 10,000 generated texts': () => json.checkTexts(texts),
  'JSON: 10,000 mutated texts': () => json.checkMutatedTexts(texts),
};

console.log(`NOTES_TEST_SEED=${seed}`);
for (const [name, run] of Object.entries(TESTS)) test(name, async (t) => void (await run(t)));

for (const processes of [1, 2])
  test(`stop: five times under load, processes: ${processes}`, (t) =>
    stopUnderLoad(t, { stops: 5, clients: 64, answers: 1_000, processes }));

for (const list of LISTS) {
  test(`text: ${list.label.toLowerCase()}: every code point comes back`, (t) =>
    assertKept(t, list, codePoints(maxLengthOf(list, 'body'), 1)));
}

for (const engine of [...ENGINES, MEMORY])
  describe(engine.name, () => testTaggingGames(engine, 25));
