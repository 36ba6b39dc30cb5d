// Commands of a user whom file modes bind.
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type CommandParts, LAUNCHER } from './command.ts';
import { temporaryFolder } from './engine.ts';

/**
 * How to run a command as a user whom file modes bind, and a folder that this user may enter: root, whom they do not
 * bind, becomes somebody else. Undefined where that one cannot read this tree.
 */
export function unprivileged(test: TestContext): (CommandParts & { readonly folder: string }) | undefined {
  const folder = temporaryFolder(test);
  if (process.getuid?.() !== 0) return { folder };
  const id = 65_534;
  chmodSync(folder, 0o755);
  if (spawnSync(process.execPath, [LAUNCHER, '--version'], { uid: id, gid: id }).status !== 0) return undefined;
  const launcher = join(folder, 'launcher.mjs');
  writeFileSync(launcher, `process.setgid(${id}); process.setuid(${id}); await import('${pathToFileURL(LAUNCHER)}');`);
  // It could not write its coverage either, and would say so.
  return { folder, launcher, env: { NODE_V8_COVERAGE: '' } };
}
