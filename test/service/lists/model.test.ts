// All parameters of lists together, in random combinations; more are in the endurance tests.
import { test } from 'node:test';
import { clusterAddress } from '../../support/engine.ts';
import { playListGames } from '../../support/list-games.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { startService } from '../../support/service.ts';

test('lists: random parameters, as in a model (the database of the tests)', async (t) => {
  await playListGames(await startService(t), 30);
});

test('lists: random parameters, as in a model (the stand-in of a cluster)', async (t) => {
  const { nodes } = await startStandIn(t);
  await playListGames(await startService(t, { db: clusterAddress(nodes) }), 12);
});
