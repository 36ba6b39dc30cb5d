// Real rqlite nodes: the suites of storage and imports on clusters of one and of three, and a node
// that restarts.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { notes } from '../../src/resources/notes.ts';
import { testChangeLog } from '../changes/change-log-suite.ts';
import { testChanges } from '../changes/changes-suite.ts';
import { testImports } from '../commands/import-suite.ts';
import { testRewrites } from '../edits/rewrite-suite.ts';
import { testTables } from '../records/table-suite.ts';
import { testVersions } from '../records/version-suite.ts';
import { testCreations } from '../retries/creation-suite.ts';
import { testSearchIndex } from '../search/search-index-suite.ts';
import { type Engine, openCluster, openEmptyCluster } from '../support/engines.ts';
import {
  type RealCluster,
  needsRqlited as skip,
  startCluster,
  startNodes,
  wipe,
} from '../support/rqlite-nodes.ts';
import { plainTable } from '../support/tables.ts';
import { testNoteTags } from '../tags/note-tags-suite.ts';

/** Starts one cluster for all tests of a file and empties it before each. */
function realEngine(count: number): Engine {
  let started: Promise<RealCluster> | undefined;
  after(async () => (await started)?.stop());
  const emptyNodes = async () => {
    started ??= startNodes(count);
    const urls = (await started).nodes.map(({ url }) => url);
    await wipe(urls);
    return urls;
  };
  return {
    name: `rqlite, ${count} node${count === 1 ? '' : 's'}`,
    explainsWrites: false,
    open: async (test) => openCluster(test, await emptyNodes()),
    openEmpty: async (test) => openEmptyCluster(test, await emptyNodes()),
  };
}

if (skip) console.log(`${skip}: NOT TESTED on real nodes.`);

for (const count of skip ? [] : [1, 3]) {
  const engine = realEngine(count);
  describe(engine.name, () => {
    testTables(engine);
    testVersions(engine);
    testCreations(engine);
    testChangeLog(engine);
    testChanges(engine);
    testNoteTags(engine, 100);
    testSearchIndex(engine);
    testImports(engine);
    testRewrites(engine);
  });
}

test('cluster: a restarted node has every acknowledged write', { skip }, async (t) => {
  const [node] = (await startCluster(t, 1)).nodes;
  assert.ok(node);
  const table = plainTable(notes, await openCluster(t, [node.url]));
  for (let round = 1; round <= 3; round += 1) {
    // One after the other: the node must replay an entry of its log for each.
    for (let count = 0; count < 200; count += 1) await table.create(['a', 'b']);
    await node.signal('SIGKILL');
    await node.restart();
    const [id, page] = await Promise.all([table.create(['a', 'b']), table.page(1, 0)]);
    assert.deepEqual([id, (page?.total ?? 0) >= 201 * round - 1], [201 * round, true]);
  }
});
