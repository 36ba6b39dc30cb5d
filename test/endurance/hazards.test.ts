// Six ways in which a request or a slip of an operator once hurt others, on the built service. Each
// test prints its figures beside those of the version in which they were found (a2e034f).
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { CANNOT_LOOK } from '../support/threads.ts';
import { KINDS_OF_NOTES, measureIndexing } from './hazards/indexing.ts';
import { measureLargePages } from './hazards/large-pages.ts';
import { replaceFiles } from './hazards/replaced-file.ts';
import { measureSearches } from './hazards/searches.ts';
import { measureSnippets } from './hazards/snippets.ts';
import { runUnfinishedImport } from './hazards/unfinished-import.ts';

type Figures = Readonly<Record<string, number>>;

/** Runs a measurement on a fresh service, which must stop without a fault. */
async function onService<Result>(
  t: TestContext,
  measure: (url: string, pid: number | undefined) => Promise<Result>,
): Promise<Result> {
  const args = ['--port', '0', '--db', 'notes.db', '--log-level', 'error', '--trust-proxy'];
  const command = startCommand(t, args);
  const figures = await measure(await command.ready(), command.process.pid);
  assert.equal((await stop(command)).status, 0);
  return figures;
}

/** Prints each figure, and what it was before, where that is known. */
function print(t: TestContext, now: Figures, before: Figures = {}): void {
  for (const [name, value] of Object.entries(now)) {
    const rounded = Number(value.toFixed(1));
    t.diagnostic(`${name}: ${rounded}${name in before ? ` (before: ${before[name]})` : ''}`);
  }
}

test('hazards: a backup that takes the place of a live file stays whole', async (t) => {
  const figures = await replaceFiles(t);
  print(t, { ...figures }, { intact: 0, lostWrites: 2 });
  assert.equal(figures.intact, figures.backups);
  assert.equal(figures.lostWrites, 0);
});

test('hazards: an ordinary search does not wait for hostile ones', async (t) => {
  const figures = await onService(t, measureSearches);
  print(t, figures, { slowestHostileMs: 40_700, behindMs: 40_700 });
  assert.deepEqual([figures.behindStatus, figures.nextStatus], [200, 200]);
});

test('hazards: a page of snippets of long texts does not delay others', async (t) => {
  const figures = await onService(t, measureSnippets);
  print(t, figures, {
    pageMs: 7_749,
    threePagesMs: 23_100,
    othersMaxMs: 523,
    abandonedMainThreadMs: 2_110,
  });
  assert.equal(figures.pageStatus, 200);
});

test('hazards: pages of 60 MB take a bounded amount of memory', {
  skip: CANNOT_LOOK,
}, async (t) => {
  const figures = await onService(t, measureLargePages);
  const before = { sequencePeakMb: 1_117, sequenceRestMb: 768, atOncePeakMb: 1_055 };
  print(t, figures, { ...before, atOnceRestMb: 318, othersMaxMs: 742 });
  const { sequencePeakMb = 0, atOncePeakMb = 0, sequenceRestMb = 0, served = 0 } = figures;
  assert.ok(sequencePeakMb < 400, `${sequencePeakMb} MB for one client`);
  assert.ok(atOncePeakMb < 512, `${atOncePeakMb} MB for 60 clients`);
  assert.ok(sequenceRestMb < sequencePeakMb);
  assert.ok(served > 0);
});

for (const kind of KINDS_OF_NOTES)
  test(`hazards: the index catches up with 200 long notes: ${kind}`, async (t) => {
    const figures = await onService(t, (url) => measureIndexing(url, kind));
    print(t, figures);
    assert.equal(figures.isUpToDate, 1);
  });

test('hazards: the index catches up with 200 long notes: japanese, nobody writes', async (t) => {
  const quiet = { othersWrite: false };
  const figures = await onService(t, (url) => measureIndexing(url, 'japanese', quiet));
  print(t, figures);
  assert.equal(figures.isUpToDate, 1);
});

test('hazards: check finds an unfinished import, and repairs nothing', async (t) => {
  const figures = await runUnfinishedImport(t);
  print(t, figures, { checkStatus: 0, checkLines: 0 });
  assert.deepEqual(figures, {
    importStatus: 1,
    serviceStatus: 1,
    checkStatus: 1,
    checkLines: 1,
    repairStatus: 1,
    secondImportStatus: 0,
    secondCheckStatus: 0,
    secondServiceStatus: 0,
  });
});
