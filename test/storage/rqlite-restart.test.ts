// A real node that is killed and started again: it carries out its log anew, and answers when it has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notes } from '../../src/collections/notes.ts';
import { migrate } from '../../src/storage/migrations.ts';
import { openRqlite } from '../../src/storage/rqlite.ts';
import { createTable } from '../../src/storage/table.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { needsRqlited as skip, startNodes } from '../support/rqlite-nodes.ts';

test('a node that has just been started again tells all that was acknowledged', { skip }, async (t) => {
  const cluster = await startNodes(1);
  t.after(() => cluster.stop());
  const [node] = cluster.nodes;
  assert.ok(node);
  const database = await openRqlite({ nodes: [node.url], user: undefined, password: undefined }, 'linearizable');
  t.after(() => database.close());
  await migrate(database);
  const table = createTable(notes.shape, database, createWriter(database));
  for (let round = 1; round <= 3; round += 1) {
    // One after the other: each is an entry of the log that the node must carry out again.
    for (let count = 0; count < 200; count += 1) await table.create(['a', 'b']);
    await node.signal('SIGKILL');
    await node.restart();
    const [id, page] = await Promise.all([table.create(['a', 'b']), table.page(1, 0)]);
    assert.deepEqual([id, (page?.total ?? 0) >= 201 * round - 1], [201 * round, true]);
  }
});
