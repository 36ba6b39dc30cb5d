// The engines that run in every test run: SQLite in a file, and the stand-in for rqlite. Real nodes
// are in rqlite-nodes.test.ts of the endurance tests.
import type { ReadLevel } from '../../src/rqlite/address.ts';
import { openRqlite } from '../../src/rqlite/engine.ts';
import type { Database } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/schema/migrations.ts';
import { openDatabase, openEmpty } from './databases.ts';
import type { Ends } from './engine.ts';
import { startStandIn } from './rqlite-stand-in.ts';

/** An engine, and how a test gets a fresh database on it, with the tables of the service. */
export interface Engine {
  readonly name: string;
  /** Whether it explains the plan of a statement that writes. */
  readonly explainsWrites: boolean;
  open(test: Ends): Promise<Database>;
  openEmpty(test: Ends): Promise<Database>;
}

/** Opens a database on the cluster of these nodes. */
export async function openEmptyCluster(
  test: Ends,
  nodes: readonly string[],
  level: ReadLevel = 'linearizable',
): Promise<Database> {
  const database = await openRqlite({ nodes, user: undefined, password: undefined }, level);
  test.after(() => database.close());
  return database;
}

/** Opens a database on the cluster of these nodes, with the tables of the service. */
export async function openCluster(
  test: Ends,
  nodes: readonly string[],
  level?: ReadLevel,
): Promise<Database> {
  const database = await openEmptyCluster(test, nodes, level);
  await migrate(database);
  return database;
}

/** SQLite in memory, which has a single connection. */
export const MEMORY: Engine = {
  name: 'SQLite in memory',
  explainsWrites: true,
  open: (test) => openDatabase(test, ':memory:'),
  openEmpty: (test) => openEmpty(test, ':memory:'),
};

export const ENGINES: readonly Engine[] = [
  {
    name: 'SQLite',
    explainsWrites: true,
    open: (test) => openDatabase(test),
    openEmpty: (test) => openEmpty(test),
  },
  {
    name: 'stand-in for rqlite',
    explainsWrites: true,
    open: async (test) => openCluster(test, (await startStandIn(test)).nodes),
    openEmpty: async (test) => openEmptyCluster(test, (await startStandIn(test)).nodes),
  },
];
