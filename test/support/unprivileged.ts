// Runs commands as a user without privileges, to whom file modes apply.
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type CommandParts, LAUNCHER } from './command.ts';
import { temporaryFolder } from './engine.ts';

const NOBODY = 65_534;

let canRead: boolean | undefined;

/** Returns how to run a command as a user whom file modes bind; undefined if there is none. */
export function unprivileged(
  test: TestContext,
): (CommandParts & { readonly folder: string }) | undefined {
  const folder = temporaryFolder(test);
  if (process.getuid?.() !== 0) return { folder };
  chmodSync(folder, 0o755);
  const ids = { uid: NOBODY, gid: NOBODY };
  canRead ??= spawnSync(process.execPath, [LAUNCHER, '--version'], ids).status === 0;
  if (!canRead) return undefined;
  const launcher = join(folder, 'launcher.mjs');
  writeFileSync(
    launcher,
    `process.setgid(${NOBODY});
     process.setuid(${NOBODY});
     await import('${pathToFileURL(LAUNCHER)}');`,
  );
  return { folder, launcher };
}
