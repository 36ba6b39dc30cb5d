// The command `sync` as a user whom file modes bind.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertRefused, runCommand } from '../support/command.ts';
import { skipLoudly } from '../support/skip.ts';
import { startSynced } from '../support/synced-folder.ts';
import { unprivileged } from '../support/unprivileged.ts';

test('sync: a file that cannot be read is left, a folder that cannot ends the run', async (t) => {
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
  assert.match(stderr, /^left a\.md: EACCES/);
  chmodSync(join(folder, 'deep'), 0);
  assertRefused(await run(), 2, /EACCES/);
  chmodSync(join(folder, 'deep'), 0o777);
  assert.deepEqual(Object.keys(await notes()), ['d.md', 'deep/c.md']);
});
