// A backup takes the place of a database file. At no moment is there half a file, none where one was, or a file beside the log
// of another; and what was there before is kept.
import { existsSync, realpathSync } from 'node:fs';
import { link, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type OnWritten, openFilled, writeSnapshot } from './backup.ts';
import { checkFile } from './check.ts';
import { DatabaseUnusable } from './database.ts';
import { openToInspect, seize } from './sqlite.ts';
import { companionsOf, ownNamesOf } from './sqlite-place.ts';
import { isPresent, makeWhole } from './whole-file.ts';

/**
 * Puts what the database file `backup` holds in the place of the one at `path`. What was there, with its log, is kept under a
 * name with which the promise resolves (undefined if nothing was). Rejects with {@link DatabaseUnusable}, and then all is as
 * it was: when the backup cannot be read or is damaged, when somebody uses the file at `path` or makes one meanwhile, when
 * there is one without `force`, or something else than a file, or the log of a file that is not there.
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
  const place = existsSync(path) ? realpathSync(path) : resolve(path);
  if (realpathSync(backup) === place) throw new DatabaseUnusable(`${backup} is what it would be put in the place of`);
  const write = async (_file: unknown, unfinished: string) => {
    const atRest = !existsSync(companionsOf(backup)[0]);
    const source = await openFilled(backup, (each) => openToInspect(each, atRest));
    await writeSnapshot(source, unfinished, onWritten).finally(source.close);
  };
  if (!(await isPresent(place))) {
    await refuseLogs(place);
    await makeWhole(place, { source: backup, like: backup }, write, (unfinished) => placeNew(unfinished, place));
    return undefined;
  }
  if (!force) {
    throw new DatabaseUnusable(`${path} is there already: --force puts the backup in its place and keeps it`);
  }
  const found = await stat(place).catch(() => undefined);
  if (!found?.isFile()) throw new DatabaseUnusable(`${path} is no file`);
  const release = await seize(place);
  try {
    const kept = await freeName(place);
    await makeWhole(place, { source: backup, like: place }, write, (unfinished) => replace(unfinished, place, kept));
    return kept;
  } finally {
    await release();
  }
}

async function placeNew(unfinished: string, place: string): Promise<void> {
  await refuseLogs(place);
  // Not to be renamed: that would take the place of what somebody has made meanwhile.
  await link(unfinished, place).catch((cause) => {
    if (cause.code !== 'EEXIST') throw cause;
    throw new DatabaseUnusable('somebody has made one meanwhile', { cause });
  });
  await rm(unfinished);
}

async function replace(unfinished: string, place: string, kept: string): Promise<void> {
  // A log first: beside the new file it would be taken for its own.
  for (const name of await logsOf(place)) await rename(name, `${kept}${name.slice(place.length)}`);
  await link(place, kept);
  await rename(unfinished, place);
}

/** Rejects where there are logs at a place without a file: whose they are nobody can tell, so they are not touched. */
async function refuseLogs(place: string): Promise<void> {
  const [found] = await logsOf(place);
  if (found !== undefined) throw new DatabaseUnusable(`${found} is there without its database: move it away first`);
}

/** The names beside `place` in which SQLite would look for what belongs to that file, as far as they are there. */
async function logsOf(place: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of ownNamesOf(place)) if (await isPresent(name)) found.push(name);
  return found;
}

async function freeName(path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const name = `${path}.replaced-${number}`;
    if (!(await isPresent(name))) return name;
  }
}
