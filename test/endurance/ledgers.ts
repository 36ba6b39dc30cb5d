// Runs a ledger of writes on a file and on a cluster, while processes and nodes are killed.
import { type TestContext, test } from 'node:test';
import { newFile } from '../support/databases.ts';
import {
  type RestartableService,
  startRestartable,
  withKills,
} from '../support/restartable-service.ts';
import { needsRqlited, replaceLeader, startCluster } from '../support/rqlite-nodes.ts';
import { assertSound } from '../support/stored-data.ts';

const CLIENTS = 64;

/** How clients write to a service, and what must be there afterwards. */
export interface Ledger {
  /** Makes the entry with that number, which may get no answer. */
  enter(number: number): Promise<unknown>;
  /** Asserts what the service has; resolves with figures. */
  check(): Promise<string>;
  /** Stops a process for a while. */
  hang?(): Promise<void>;
}

type Begin = (service: RestartableService, t: TestContext) => Promise<Ledger>;

/** Defines the tests of a ledger, with its numbers of entries. */
export function testLedger(name: string, begin: Begin, inFile: number, inCluster: number): void {
  test(`${name}, in a file`, (t) => play(t, newFile(t), inFile));

  test(`${name}, in a cluster`, { skip: needsRqlited }, async (t) => {
    const cluster = await startCluster(t, 3);
    await play(t, cluster.db, inCluster, () => replaceLeader(cluster));
  });

  async function play(t: TestContext, db: string, total: number, killLeader?: () => Promise<void>) {
    const service = await startRestartable(t, db);
    const { enter, check, hang } = await begin(service, t);
    let [next, done] = [0, 0];
    async function keepEntering(): Promise<void> {
      while (next < total) {
        next += 1;
        await enter(next - 1);
        done += 1;
      }
    }
    const clients = Promise.all(Array.from({ length: CLIENTS }, keepEntering));
    const half = [service.killOne, killLeader, service.killAll, hang, killLeader];
    const kills = [...half, ...half].filter((kill) => kill !== undefined);
    await withKills(clients, { done: () => done, total }, kills);
    t.diagnostic(`${await check()}; ${service.failures()} requests without an answer`);
    await service.stop();
    await assertSound(db);
  }
}
