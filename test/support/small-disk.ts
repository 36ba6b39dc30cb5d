// A small file system, which a test can fill.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Why a test that needs a small disk is skipped. */
export const NO_MOUNT = 'a file system may not be mounted here';

/** Mounts a file system of `mib` MiB in memory; undefined where that is not allowed. */
export function smallDisk(test: Pick<TestContext, 'after'>, mib = 2): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'notes-server-disk-'));
  const mount = ['-t', 'tmpfs', '-o', `size=${mib}m`, 'notes-server-test', folder];
  const mounted = spawnSync('mount', mount).status === 0;
  test.after(() => {
    // Lazily: this hook runs before the one that stops the service.
    if (mounted) spawnSync('umount', ['--lazy', folder]);
    rmdirSync(folder);
  });
  return mounted ? folder : undefined;
}

/** Fills the disk with a file until `left` bytes are left; returns its path. */
export function fill(disk: string, left = 0): string {
  const [file, spare] = [join(disk, 'fill'), join(disk, 'spare')];
  writeFileSync(spare, Buffer.alloc(left));
  try {
    for (;;) appendFileSync(file, Buffer.alloc(4_096));
  } catch {
    rmSync(spare);
    return file;
  }
}

/** Makes the disk read-only, for the superuser too, or writable again. */
export function remount(disk: string, mode: 'ro' | 'rw'): void {
  spawnSync('mount', ['-o', `remount,${mode}`, disk]);
}
