// Random deletions, restores, erasures and changes, as in a model: short games, the same in each
// run. Long ones of a random seed are among the endurance tests.
import { type TestContext, test } from 'node:test';
import { clusterAddress } from '../../support/engine.ts';
import { playHistory } from '../../support/history-games.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { type Overrides, startService } from '../../support/service.ts';

async function play(t: TestContext, seed: number, overrides: Overrides = {}): Promise<void> {
  const { request } = await startService(t, overrides);
  t.diagnostic(await playHistory({ request }, { seed, moves: 150 }));
}

test('history: random moves, as in a model (the database of the tests)', (t) => play(t, 9));

test('history: random moves, as in a model (in memory)', (t) => play(t, 2, { db: ':memory:' }));

test('history: random moves, as in a model (the stand-in of a cluster)', async (t) => {
  const { nodes } = await startStandIn(t);
  await play(t, 5, { db: clusterAddress(nodes) });
});
