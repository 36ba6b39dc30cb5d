// What the tests of the service keep their data in: a file, or, with NOTES_TEST_DB, a cluster (`stand-in`, or `rqlite` for
// real nodes). They are the same tests but for those that are about the file.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type RealCluster, startNodes, wipe } from './rqlite-nodes.ts';
import { startStandIn } from './rqlite-stand-in.ts';

const ENGINE = process.env.NOTES_TEST_DB || 'file';
assert.ok(['file', 'stand-in', 'rqlite'].includes(ENGINE), `NOTES_TEST_DB=${ENGINE}`);

/** Why a test that is about the file is skipped; false where there is one. */
export const needsFile = ENGINE === 'file' ? false : 'it is about the file, and this run is on a cluster';

/** A database for one test: what `--db` is to be, and what to do when nobody uses it any more. */
export interface TestDatabase {
  readonly db: string;
  release(): void;
}

/** Nodes that no test uses at the moment; each is a cluster of its own, for what a cluster of several does has its own tests. */
const idle: RealCluster[] = [];
const started: RealCluster[] = [];
after(() => Promise.all(started.map((each) => each.stop())));

/** A test, or all of a file: what is handed to `after` runs at its end. */
export interface Ends {
  after(release: () => void): void;
}

/** Returns the path of a fresh temporary folder that goes with the test. */
export function temporaryFolder(test: Ends): string {
  const folder = mkdtempSync(join(tmpdir(), 'notes-server-test-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns an empty database. */
export async function emptyDatabase(test: Ends): Promise<TestDatabase> {
  if (ENGINE === 'file') return { db: join(temporaryFolder(test), 'notes.db'), release: () => {} };
  if (ENGINE === 'stand-in') return { db: clusterAddress((await startStandIn(test)).nodes), release: () => {} };
  const cluster = idle.pop() ?? (await startCluster());
  const nodes = cluster.nodes.map(({ url }) => url);
  await wipe(nodes);
  return { db: clusterAddress(nodes), release: () => void idle.push(cluster) };
}

/** The address of a cluster as `--db` takes it. */
export function clusterAddress(nodes: readonly string[]): string {
  const scheme = nodes.every((node) => node.startsWith('https:')) ? 'rqlites' : 'rqlite';
  return `${scheme}://${nodes.map((node) => new URL(node).host).join(',')}`;
}

async function startCluster(): Promise<RealCluster> {
  const cluster = await startNodes(1);
  started.push(cluster);
  return cluster;
}
