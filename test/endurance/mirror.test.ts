// A mirror follows the changes of a service whose streams a proxy cuts, while the service and the
// leader of the cluster are killed. It ends up with the same records, and has applied every change
// once, in order.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EMPTY_LOG, renewGeneration } from '../../src/commands/import.ts';
import { typeOf } from '../../src/resources/relation.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { newFile, openPath } from '../support/databases.ts';
import { startRelay } from '../support/ports.ts';
import { between, oneIn } from '../support/random.ts';
import {
  type RestartableService,
  startRestartable,
  withKills,
} from '../support/restartable-service.ts';
import { needsRqlited, replaceLeader, startCluster } from '../support/rqlite-nodes.ts';
import { skipLoudly } from '../support/skip.ts';
import { assertSound } from '../support/stored-data.ts';
import { until } from '../support/until.ts';
import { ChangeWriters } from './change-writers.ts';
import { Mirror } from './mirror.ts';

const WRITERS = 8;

const TYPES = [
  ...RESOURCES.flatMap((resource) =>
    ['created', 'updated', 'deleted'].map((event) => `${typeOf(resource)}.${event}`),
  ),
  'note.tagged',
  'note.untagged',
];

const MISSED = 2_000;

/** A stream is cut after 2 to the power of 6 to 20 bytes. */
const EXPONENTS = [6, 19] as const;

interface Parties {
  readonly service: RestartableService;
  readonly writers: ChangeWriters;
  readonly mirror: Mirror;
}

/** Returns what is killed, or happens otherwise, one after the other. */
type Faults = (parties: Parties) => readonly (() => Promise<unknown>)[];

interface Run {
  readonly db: string;
  readonly processes: number;
  readonly changes: number;
  readonly faultsOf: Faults;
}

/** Makes `changes` while the mirror follows and faults happen. Resolves when it is exact. */
async function follow(t: TestContext, { db, processes, changes, faultsOf }: Run): Promise<Mirror> {
  const service = await startRestartable(t, db, processes);
  const writers = new ChangeWriters(service);
  let cuts = 0;
  const proxy = await startRelay(t, service.url, async (server, client) => {
    let left = Math.floor(2 ** (Math.random() + between(...EXPONENTS)));
    for await (const part of server) {
      client.write(part.subarray(0, left));
      left -= part.length;
      if (left > 0) continue;
      cuts += 1;
      if (oneIn(2)) client.resetAndDestroy();
      return;
    }
  });
  const mirror = new Mirror(service, proxy);
  let hasFailed = false;
  const faults = faultsOf({ service, writers, mirror }).map((fault) => async () => {
    if (!hasFailed) await fault();
  });
  const progress = { done: () => writers.done, total: changes };
  // Some records are there when the mirror begins, and others come while it reads them.
  const playing = withKills(writers.write(WRITERS, changes), progress, faults);
  try {
    await Promise.race([playing, mirror.ended]);
    await Promise.race([mirror.untilCaughtUp(), mirror.ended]);
  } finally {
    hasFailed = true;
    writers.stop();
    // Whatever it starts must be there before the end of the test.
    await Promise.allSettled([playing]);
    await mirror.stop();
  }
  const logged = await mirror.assertExact(db);
  assert.ok(cuts > 0);
  await service.stop();
  await assertSound(db);
  const { stream, page } = mirror.counts;
  t.diagnostic(`${logged} changes since it began: ${stream} as events, ${page} in pages`);
  t.diagnostic(`${cuts} streams cut, ${service.failures()} requests repeated`);
  return mirror;
}

/** Asserts that the mirror has got changes of all kinds in both ways, and began only once. */
function assertCompleteRun({ types, counts }: Mirror): void {
  assert.deepEqual([...types].sort(), [...TYPES].sort());
  assert.ok(counts.stream > 0 && counts.page > 0);
  assert.equal(counts.starts, 1);
}

test('mirror: 20,000 changes of two processes, which are killed', async (t) => {
  const faultsOf: Faults = ({ service: { killOne, killAll }, mirror, writers }) => {
    const miss = () => mirror.pause(() => writers.more(MISSED));
    return [killOne, miss, killAll, () => Promise.all([killAll(), miss()]), killOne];
  };
  assertCompleteRun(await follow(t, { db: newFile(t), processes: 2, changes: 20_000, faultsOf }));
});

test('mirror: 3,000 changes of a cluster, its leader is killed', async (t) => {
  if (needsRqlited) return skipLoudly(t, needsRqlited);
  const cluster = await startCluster(t, 3);
  const { db } = cluster;
  const killLeader = () => replaceLeader(cluster);
  const faultsOf: Faults = ({ service: { killAll } }) => [killLeader, killAll, killLeader];
  assertCompleteRun(await follow(t, { db, processes: 1, changes: 3_000, faultsOf }));
});

test('mirror: begins again when its cursor has expired', async (t) => {
  const db = newFile(t);
  const faultsOf: Faults = ({ mirror: { counts } }) => {
    const expire = async (times: number) => {
      await until(() => counts.starts === times);
      const other = await openPath(db);
      await other.transact([EMPTY_LOG, renewGeneration()]);
      await other.close();
      await until(() => counts.starts === times + 1);
    };
    return [() => expire(1), () => expire(2)];
  };
  const mirror = await follow(t, { db, processes: 1, changes: 10_000, faultsOf });
  assert.equal(mirror.counts.starts, 3);
});
