// The database of the service tests: a file or, with NOTES_TEST_DB, a cluster (`stand-in`, or
// `rqlite` for real nodes). Only tests of the file itself require a file.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RealCluster } from './rqlite-nodes.ts';

const ENGINE = process.env.NOTES_TEST_DB || 'file';
assert.ok(['file', 'stand-in', 'rqlite'].includes(ENGINE), `NOTES_TEST_DB=${ENGINE}`);

/** Why tests about the file are skipped; false if they are not. */
export const needsFile = ENGINE === 'file' ? false : 'it needs a file, and this run uses a cluster';

/** The value of `--db`, and a function to call when it is no longer used. */
export interface TestDatabase {
  readonly db: string;
  release(): void;
}

/** Clusters of one node that no test uses now, for the other files of this process, too. */
const idle: RealCluster[] = [];

/** A test, or a whole file: functions given to `after` run at its end. */
export interface Ends {
  after(release: () => void): void;
}

/** Returns the path of a new temporary folder that is removed at the end of the test. */
export function temporaryFolder(test: Ends): string {
  const folder = mkdtempSync(join(tmpdir(), 'notes-server-test-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns an empty database. */
export async function emptyDatabase(test: Ends): Promise<TestDatabase> {
  if (ENGINE === 'file') return { db: join(temporaryFolder(test), 'notes.db'), release: () => {} };
  if (ENGINE === 'stand-in') {
    const { startStandIn } = await import('./rqlite-stand-in.ts');
    return { db: clusterAddress((await startStandIn(test)).nodes), release: () => {} };
  }
  const { startNodes, wipe } = await import('./rqlite-nodes.ts');
  const cluster = idle.pop() ?? (await startNodes(1));
  await wipe(cluster.nodes.map(({ url }) => url));
  return { db: cluster.db, release: () => void idle.push(cluster) };
}

/** Returns the address of a cluster as `--db` takes it. */
export function clusterAddress(nodes: readonly string[]): string {
  const scheme = nodes.every((node) => node.startsWith('https:')) ? 'rqlites' : 'rqlite';
  return `${scheme}://${nodes.map((node) => new URL(node).host).join(',')}`;
}
