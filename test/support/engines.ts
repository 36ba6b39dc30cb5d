// Every engine that the storage runs on, for tests that hold for all of them: SQLite in a file, the stand-in for rqlite, and
// rqlite itself with one node and with three, where NOTES_TEST_RQLITED says where it is.
import { after, type TestContext } from 'node:test';
import type { Database } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrations.ts';
import { openRqlite } from '../../src/storage/rqlite.ts';
import { openDatabase } from './databases.ts';
import { type RealCluster, RQLITED, startNodes, wipe } from './rqlite-nodes.ts';
import { startStandIn } from './rqlite-stand-in.ts';

/** An engine, and how a test gets a fresh database on it, with the tables of the service. */
export interface Engine {
  readonly name: string;
  /** Whether it tells the plan of a statement that writes. */
  readonly explainsWrites: boolean;
  open(test: Pick<TestContext, 'after'>): Promise<Database>;
}

async function openCluster(test: Pick<TestContext, 'after'>, nodes: readonly string[]): Promise<Database> {
  const database = await openRqlite({ nodes, user: undefined, password: undefined }, 'linearizable');
  test.after(() => database.close());
  await migrate(database);
  return database;
}

/** One cluster for all tests of a file, which find it empty. */
function realEngine(count: number): Engine {
  let started: Promise<RealCluster> | undefined;
  after(async () => (await started)?.stop());
  return {
    name: `rqlite, ${count} node${count === 1 ? '' : 's'}`,
    explainsWrites: false,
    async open(test) {
      started ??= startNodes(count);
      const { nodes } = await started;
      const urls = nodes.map(({ url }) => url);
      await wipe(urls);
      return openCluster(test, urls);
    },
  };
}

const real = RQLITED ? [1, 3].map(realEngine) : [];
if (!RQLITED) console.log('NOTES_TEST_RQLITED names no rqlited: NOT TESTED on real nodes, only on the stand-in.');

/** The engines there are. */
export const ENGINES: readonly Engine[] = [
  { name: 'SQLite', explainsWrites: true, open: (test) => openDatabase(test) },
  {
    name: 'stand-in for rqlite',
    explainsWrites: true,
    async open(test) {
      const { nodes } = await startStandIn(test, 2);
      return openCluster(test, nodes);
    },
  },
  ...real,
];
