// The command `restore`: replaces a database file with a backup. The replacement is atomic, never
// pairs a database with the log of another, and keeps the old file.
import { existsSync, realpathSync } from 'node:fs';
import { link, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DatabaseUnusable } from '../storage/database.ts';
import { auxiliaryPaths, freePath, isPresent } from '../storage/sqlite/paths.ts';
import { writeSnapshot } from './backup.ts';
import { checkFile } from './check.ts';
import { lockToReplace, openAlone, openToInspect } from './existing.ts';
import { renewGeneration } from './import.ts';
import { createProgress, type OnProgress, type ShowText } from './progress.ts';
import { type WholeFile, writeWhole } from './whole-file.ts';

/** Restores `db` from a backup and resolves with a line for the user; `force` replaces a file. */
export async function restore(
  from: string,
  db: string,
  force: boolean,
  show: ShowText,
): Promise<string> {
  await refuseDamaged(from);
  const target = existsSync(db) ? realpathSync(db) : resolve(db);
  if (realpathSync(from) === target)
    throw new DatabaseUnusable(`backup and database are the same file: ${from}`);
  const progress = createProgress(show, 'restored', ' KiB');
  const copy: WholeFile = { source: from, write: (path) => writeCopy(from, path, progress) };
  const restored = `restored ${db} from ${from}`;
  if (!isPresent(target)) {
    await createFrom(copy, target);
    return restored;
  }
  if (!force)
    throw new DatabaseUnusable(`${db} already exists: --force replaces it and keeps the old file`);
  const kept = await replaceWith(copy, target);
  return `${restored}; the old file is ${kept}`;
}

async function refuseDamaged(backup: string): Promise<void> {
  const [fault] = await checkFile(backup, { withWords: false });
  if (fault !== undefined) throw new DatabaseUnusable(`cannot restore ${backup}: ${fault}`);
}

async function createFrom(copy: WholeFile, target: string): Promise<void> {
  const publish = async (unfinished: string) => {
    // It may hold data.
    const [log] = logsOf(target);
    if (log !== undefined)
      throw new DatabaseUnusable(`${log} exists without its database: move it away first`);
    // A rename would replace a file that another process has created meanwhile.
    await link(unfinished, target);
    await rm(unfinished);
  };
  await writeWhole(target, { ...copy, publish });
}

async function replaceWith(copy: WholeFile, target: string): Promise<string> {
  const found = await stat(target).catch(() => undefined);
  if (!found?.isFile()) throw new DatabaseUnusable(`${target} is not a file`);
  await using _lock = await lockToReplace(target);
  const kept = freePath(target);
  const publish = async (unfinished: string) => {
    const logs = logsOf(target);
    // First, because a kill must not separate the old file from its logs.
    for (const log of logs) await link(log, `${kept}${log.slice(target.length)}`);
    await link(target, kept);
    // SQLite would apply them to the new file.
    for (const log of logs) await rm(log);
    await rename(unfinished, target);
  };
  await writeWhole(target, { ...copy, publish });
  return kept;
}

async function writeCopy(backup: string, path: string, onProgress: OnProgress): Promise<void> {
  await using source = await openToInspect(backup);
  await writeSnapshot(source, path, onProgress);
  await using copy = await openAlone(path);
  // States that come after the backup may have the same numbers as states that it loses.
  // The log stays: it tells which changes the index lacks.
  await copy.read(renewGeneration());
}

function logsOf(path: string): string[] {
  return auxiliaryPaths(path).filter((name) => existsSync(name));
}
