// Random changes of a note, by a clock of the test, as in a model: which texts are kept and shown
// does not depend on when the others are erased.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { RETENTION_TIMES } from '../../../src/history/retention.ts';
import { openPath, rows } from '../../support/databases.ts';
import { clusterAddress } from '../../support/engine.ts';
import { type Ended, isKept, keep, MAX } from '../../support/kept-versions.ts';
import { setLimits } from '../../support/overload.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { type Overrides, startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** No more than it is decided on at once. */
const CHANGES = 160;
const MINUTE_MS = 60_000;

interface Version extends Ended {
  readonly body: string;
}

/** The times between changes in ms: some at once, some within a second, some hours. */
const gaps = fc.oneof(
  fc.constant(0),
  fc.nat({ max: 999 }),
  fc.constant(1_000),
  fc.nat({ max: MINUTE_MS }),
  fc.nat({ max: 60 * MINUTE_MS }),
  // The clock may be set back.
  fc.integer({ min: -5_000, max: -1 }),
);

/** Changes a note; if it `isErasing`, each time until all is erased that is not shown. */
async function play(t: TestContext, isErasing: boolean, overrides: Overrides = {}): Promise<void> {
  let now = Date.now();
  t.mock.method(Date, 'now', () => now);
  setLimits(t, RETENTION_TIMES, { thinEveryMs: isErasing ? 1 : 3_600_000, pauseFactor: 0 });
  const { request, file } = await startService(t, overrides);
  const database = isErasing ? await openPath(overrides.db ?? file) : undefined;
  t.after(() => database?.close());
  const list = async (path: string) => (await request('GET', `/notes/1/versions${path}`)).json;
  await request('POST', '/notes', { json: { title: 'a', body: '0' } });
  const created = now;
  const shown: Version[] = [];
  let last: Version | undefined;

  async function assertShown(): Promise<void> {
    const { items, total } = await list('?limit=100&fields=body');
    const bodies = shown.map(({ body }) => ({ body })).toReversed();
    assert.deepEqual([items, total], [bodies, shown.length]);
  }

  for (const [change, gap] of fc.sample(gaps, { seed: 7, numRuns: CHANGES }).entries()) {
    const before = now;
    now = Math.max(created + 1, now + gap);
    await request('PATCH', '/notes/1', { json: { body: `${change + 1}` } });
    if (!isKept(shown, last, [before, now])) continue;
    last = { body: `${change}`, replacedAt: now };
    keep(shown, last);
    if (!database) continue;
    last = shown.at(-1);
    const count = 'SELECT count(*) AS count FROM note_versions';
    await until(async () => (await rows(database, count))[0]?.count === shown.length);
    if (change % 20 === 0) await assertShown();
  }
  assert.equal(shown.length, MAX);
  await assertShown();
}

test('versions: random changes, as in a model', (t) => play(t, false));

test('versions: random changes, as in a model, while others are erased', (t) => play(t, true));

test('versions: random changes, as in a model (in memory)', (t) =>
  play(t, false, { db: ':memory:' }));

test('versions: random changes, as in a model (the stand-in of a cluster)', async (t) => {
  const { nodes } = await startStandIn(t);
  await play(t, true, { db: clusterAddress(nodes) });
});
