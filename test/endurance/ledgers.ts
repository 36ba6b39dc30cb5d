// Runs a ledger of writes on a file and on a cluster, while processes and nodes are killed.
import { type TestContext, test } from 'node:test';
import { newFile } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import type { RestartableService } from '../support/restartable-service.ts';
import { needsRqlited, replaceLeader, startNodes } from '../support/rqlite-nodes.ts';

/** Writes `size` entries to `db` while the kills are carried out, and checks what is there. */
type RunLedger = (
  t: TestContext,
  db: string,
  size: number,
  killsOf: (service: RestartableService) => (() => Promise<void>)[],
) => Promise<void>;

/** Defines the tests of a ledger, with its sizes. */
export function testLedger(name: string, run: RunLedger, inFile: number, inCluster: number): void {
  test(`${name}, in a file`, (t) =>
    run(t, newFile(t), inFile, ({ killOne, killAll }) => [killOne, killAll, killOne, killAll]));

  test(`${name}, in a cluster`, { skip: needsRqlited }, async (t) => {
    const cluster = await startNodes(3);
    t.after(() => cluster.stop());
    const killLeader = () => replaceLeader(cluster);
    const db = clusterAddress(cluster.nodes.map(({ url }) => url));
    await run(t, db, inCluster, ({ killOne, killAll }) => [
      ...[killLeader, killOne, killLeader, killAll, killLeader],
    ]);
  });
}
