// Clusters of one and of three real rqlite nodes; an empty list without NOTES_TEST_RQLITED.
import { after } from 'node:test';
import { type Engine, openCluster, openEmptyCluster } from '../support/engines.ts';
import { type RealCluster, RQLITED, startNodes, wipe } from '../support/rqlite-nodes.ts';

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

if (!RQLITED) console.log('NOTES_TEST_RQLITED names no rqlited: NOT TESTED on real nodes.');

/** The engines made of real nodes. */
export const REAL_ENGINES: readonly Engine[] = RQLITED ? [1, 3].map(realEngine) : [];
