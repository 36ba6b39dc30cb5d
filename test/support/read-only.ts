// A database that its user may only read.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { assertRefused, runCommand } from './command.ts';
import { temporaryFolder } from './engine.ts';
import { filledFile } from './filled.ts';
import { exported } from './in-process-command.ts';
import { skipLoudly } from './skip.ts';
import { unprivileged } from './unprivileged.ts';

/** Asserts that a user to whom a file and its folder have these modes can export and copy it. */
export async function assertReadable(
  t: TestContext,
  fileMode: number,
  folderMode: number,
): Promise<void> {
  const parts = unprivileged(t);
  if (!parts) return skipLoudly(t, 'another user cannot read this tree');
  const db = await filledFile(t, 1);
  const text = await exported(db);
  chmodSync(db, fileMode);
  chmodSync(dirname(db), folderMode);
  const { status, stdout, stderr } = await runCommand(t, ['export', '--db', db], parts);
  assert.deepEqual([status, stdout], [0, text], stderr);
  const open = temporaryFolder(t);
  chmodSync(open, 0o777);
  const target = join(open, 'backup.db');
  assert.equal((await runCommand(t, ['backup', target, '--db', db], parts)).status, 0);
  assert.equal(await exported(target), text);
  const copied = await runCommand(t, ['copy', '--from', db, '--to', `${target}.copy`], parts);
  assert.equal(copied.status, 0, copied.stderr);
  assert.equal(await exported(`${target}.copy`), text);
  const none = join(dirname(db), 'none.db');
  const missing = await runCommand(t, ['copy', '--from', none, '--to', 'a.db'], parts);
  assertRefused(missing, 1, /none\.db: there is no such file$/m);
  // Companions of another user would keep the owner out.
  assert.deepEqual(readdirSync(dirname(db)), [basename(db)]);
  chmodSync(dirname(db), 0o777);
}
