// A database that its user may only read.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { runCommand } from './command.ts';
import { temporaryFolder } from './engine.ts';
import { filledFile } from './filled.ts';
import { exported } from './perform.ts';
import { skipLoudly } from './skip.ts';
import { unprivileged } from './unprivileged.ts';

/** Asserts that a user to whom a file and its folder have these modes can export and back it up. */
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
  // Companions of another user would keep the owner out.
  assert.deepEqual(readdirSync(dirname(db)), [basename(db)]);
  chmodSync(dirname(db), 0o777);
}
