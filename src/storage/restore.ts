// A backup takes the place of a database file. At no moment is there half a file, none where one was, or a file beside the log
// of another; and what was there before is kept.
import { existsSync, realpathSync } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import { type OnWritten, openFilled, writeSnapshot } from './backup.ts';
import { checkFile } from './check.ts';
import { DatabaseUnusable } from './database.ts';
import { openToInspect, seize } from './sqlite.ts';
import { companionsOf } from './sqlite-place.ts';
import { isPresent, makeWhole } from './whole-file.ts';

/**
 * Puts what the database file `backup` holds in the place of the one at `path`. What was there, with its log, is kept under a
 * name with which the promise resolves (undefined if nothing was). Rejects with {@link DatabaseUnusable}, and then all is as
 * it was: when the backup cannot be read or is damaged, when somebody uses the file at `path`, and if there is one without
 * `force`.
 */
export async function restoreFile(
  backup: string,
  path: string,
  force: boolean,
  onWritten: OnWritten,
): Promise<string | undefined> {
  const [fault, ...others] = await checkFile(backup);
  if (fault !== undefined) {
    const more = others.length > 0 ? `, and ${others.length} more faults` : '';
    throw new DatabaseUnusable(`${backup} is damaged: ${fault}${more}`);
  }
  const place = existsSync(path) ? realpathSync(path) : path;
  if (realpathSync(backup) === place) throw new DatabaseUnusable(`${backup} is what it would be put in the place of`);
  const isThere = await isPresent(place);
  const found = isThere ? path : (await namesFound(place))[0];
  if (found !== undefined && !force) {
    throw new DatabaseUnusable(`${found} is there already: --force puts the backup in its place and keeps it`);
  }
  const release = isThere ? await seize(place) : async () => {};
  try {
    return await replace(place, isThere, backup, onWritten);
  } finally {
    await release();
  }
}

async function replace(
  path: string,
  isThere: boolean,
  backup: string,
  onWritten: OnWritten,
): Promise<string | undefined> {
  let kept: string | undefined;
  const write = async (_file: unknown, unfinished: string) => {
    const atRest = !existsSync(companionsOf(backup)[0]);
    const source = await openFilled(backup, (each) => openToInspect(each, atRest));
    await writeSnapshot(source, unfinished, onWritten).finally(source.close);
  };
  await makeWhole(path, isThere ? path : backup, write, async (unfinished) => {
    const names = await namesFound(path);
    if (isThere || names.length > 0) kept = await freeName(path);
    // A log first: beside the new file it would be taken for its own.
    for (const name of names) await rename(name, `${kept}${name.slice(path.length)}`);
    if (isThere) {
      await link(path, String(kept));
      await rename(unfinished, path);
    } else {
      // Fails where somebody has made one meanwhile.
      await link(unfinished, path);
      await rm(unfinished);
    }
  });
  return kept;
}

/** The names beside `path` in which SQLite would look for what belongs to that file, as far as they are there. */
async function namesFound(path: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of [...companionsOf(path), `${path}-journal`]) if (await isPresent(name)) found.push(name);
  return found;
}

async function freeName(path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const name = `${path}.replaced-${number}`;
    if (!(await isPresent(name))) return name;
  }
}
