// The command `restore`: a backup takes the place of a database file. The swap is atomic, never
// pairs a database with a foreign log, and keeps the old file.
import { existsSync, realpathSync } from 'node:fs';
import { link, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DatabaseUnusable } from '../storage/database.ts';
import { openToInspect, seize } from '../storage/sqlite/existing.ts';
import { companionsOf, reservedNames } from '../storage/sqlite/files.ts';
import { checkFile } from './check.ts';
import { createProgress, type Screen } from './progress.ts';
import { type OnWritten, openComplete, writeSnapshot } from './snapshot.ts';
import { isPresent, makeWhole } from './whole-file.ts';

/**
 * Puts the backup `from` in the place of the database file `db`; an existing file only with
 * `force`. Resolves with a line that says where the old file is. Rejects with {@link
 * DatabaseUnusable}, and changes nothing, if the backup is unreadable or damaged, if somebody uses
 * `db` or creates it meanwhile, if
 * `db` is not a file, or if there is a log without its database.
 */
export async function restore(
  from: string,
  db: string,
  force: boolean,
  screen: Screen,
): Promise<string> {
  await refuseDamaged(from);
  const target = existsSync(db) ? realpathSync(db) : resolve(db);
  if (realpathSync(from) === target)
    throw new DatabaseUnusable(`backup and database are the same file: ${from}`);
  const progress = createProgress(screen, 'restored', { unit: ' KiB' });
  const isNew = !(await isPresent(target));
  if (!isNew && !force) {
    throw new DatabaseUnusable(
      `${db} is there already: --force puts the backup in its place and keeps it`,
    );
  }
  const kept = isNew
    ? await createFrom(from, target, progress)
    : await replaceWith(from, target, progress);
  return `${db} holds what ${from} held${kept === undefined ? '' : `; what was there is ${kept}`}`;
}

async function refuseDamaged(backup: string): Promise<void> {
  const [fault, ...others] = await checkFile(backup);
  if (fault === undefined) return;
  const more = others.length > 0 ? `, and ${others.length} more faults` : '';
  throw new DatabaseUnusable(`${backup} is damaged: ${fault}${more}`);
}

/** Restores to a path without a file. */
async function createFrom(
  backup: string,
  target: string,
  onWritten: OnWritten,
): Promise<undefined> {
  await refuseLogs(target);
  const write = (_file: unknown, path: string) => writeCopy(backup, path, onWritten);
  await makeWhole(target, { source: backup, like: backup }, write, async (unfinished) => {
    await refuseLogs(target);
    // A rename would replace a file that somebody has created meanwhile.
    await link(unfinished, target).catch((cause) => {
      if (cause.code !== 'EEXIST') throw cause;
      throw new DatabaseUnusable('somebody has created one meanwhile', { cause });
    });
    await rm(unfinished);
  });
}

/** Replaces an existing file; resolves with the name under which it is kept. */
async function replaceWith(backup: string, target: string, onWritten: OnWritten): Promise<string> {
  const found = await stat(target).catch(() => undefined);
  if (!found?.isFile()) throw new DatabaseUnusable(`${target} is not a file`);
  const release = await seize(target);
  try {
    const kept = await freeName(target);
    const write = (_file: unknown, path: string) => writeCopy(backup, path, onWritten);
    await makeWhole(target, { source: backup, like: target }, write, async (unfinished) => {
      // The logs first: the new file would be taken for theirs.
      for (const log of await logsOf(target))
        await rename(log, `${kept}${log.slice(target.length)}`);
      await link(target, kept);
      await rename(unfinished, target);
    });
    return kept;
  } finally {
    await release();
  }
}

async function writeCopy(backup: string, path: string, onWritten: OnWritten): Promise<void> {
  const atRest = !existsSync(companionsOf(backup)[0]);
  await using source = await openComplete(backup, (each) => openToInspect(each, atRest));
  await writeSnapshot(source, path, onWritten);
}

/** Rejects if there are logs without their database: they may hold somebody's data. */
async function refuseLogs(path: string): Promise<void> {
  const [found] = await logsOf(path);
  if (found !== undefined)
    throw new DatabaseUnusable(`${found} is there without its database: move it away first`);
}

/** Returns the existing files beside `path` that SQLite would take for its own. */
async function logsOf(path: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of reservedNames(path)) if (await isPresent(name)) found.push(name);
  return found;
}

async function freeName(path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const name = `${path}.replaced-${number}`;
    if (!(await isPresent(name))) return name;
  }
}
