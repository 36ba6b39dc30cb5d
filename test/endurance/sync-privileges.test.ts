// The command `sync` as a user whom file modes bind.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { skipLoudly } from '../support/skip.ts';
import { startSynced } from '../support/synced-folder.ts';
import { unprivileged } from '../support/unprivileged.ts';

test('sync: files and folders that cannot be read are left, and delete nothing', async (t) => {
  const parts = unprivileged(t);
  if (!parts) return skipLoudly(t, 'no user is without privileges');
  const { service, notes } = await startSynced(t);
  const folder = join(parts.folder, 'notes');
  mkdirSync(join(folder, 'deep'), { recursive: true });
  chmodSync(folder, 0o777);
  for (const path of ['a.md', 'deep/c.md', 'd.md']) writeFileSync(join(folder, path), path);
  chmodSync(join(folder, 'a.md'), 0);
  const run = () => runCommand(t, ['sync', folder, service.url], parts);
  const { status, stderr } = await run();
  assert.equal(status, 1);
  assert.equal(stderr, 'left a.md: it cannot be read: EACCES\n');
  chmodSync(join(folder, 'deep'), 0);
  writeFileSync(join(folder, 'e.md'), 'e');
  const { status: second, stderr: warnings } = await run();
  assert.equal(second, 1);
  assert.match(warnings, /^left deep: it cannot be read: EACCES$/m);
  chmodSync(join(folder, 'deep'), 0o777);
  assert.deepEqual(Object.keys(await notes()), ['d.md', 'deep/c.md', 'e.md']);
});
