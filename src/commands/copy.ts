// The command `copy`: copies the content of one database into an empty one, page by page. It skips
// equal pages, so that an interrupted copy can continue; a second pass compares both databases.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { columnsOf, type Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { type Database, DatabaseUnusable } from '../storage/database.ts';
import { openSource, openTarget, type StorageOptions } from '../storage/open.ts';
import { markBegun, markFinished, type Source, unfinishedIn } from '../storage/unfinished.ts';
import { createProgress, type Screen } from './progress.ts';
import {
  type Counts,
  countsOf,
  END,
  formatCounts,
  IS_ON_PAGE,
  insertSql,
  lastIdsOf,
  nextPage,
  setLastIds,
  storedResources,
  totalOf,
} from './walk.ts';

/** Called with 0 and after each page: `done` of `total` records have been copied or compared. */
export type OnCopyProgress = (phase: 'copy' | 'check', done: number, total: number) => void;

/**
 * Copies the content of `from` to `to`; resolves with a message that counts the records. Rejects
 * with {@link DatabaseUnusable} but keeps the copied pages, so that the next run continues there.
 */
export async function copy(
  from: StorageOptions,
  to: StorageOptions,
  screen: Screen,
): Promise<string> {
  await using source = await openSource(from);
  await using target = await openTarget(to, 'copy');
  try {
    const progress = {
      copy: createProgress(screen, 'copied'),
      check: createProgress(screen, 'compared'),
    };
    const resources = await storedResources(source);
    const others = RESOURCES.filter((each) => !resources.includes(each));
    if (totalOf(await countsOf(target, others)) > 0) throw holdsOthers();
    const counts = await copyDatabase(source, target, resources, (phase, done, total) =>
      progress[phase](done, total),
    );
    return `${from.db.name} and ${to.db.name} have the same content: ${formatCounts(counts)}`;
  } catch (error) {
    throw new DatabaseUnusable(`cannot copy to ${to.db.name}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * Copies the records of the resources in their order, and the last ids. Compares both databases and
 * resolves with the initial counts of the source. Rejects with {@link DatabaseUnusable} if the
 * target already holds other records, which it keeps, or if the databases differ after the copy.
 */
export async function copyDatabase(
  source: Source,
  target: Database,
  resources: readonly Resource[],
  onProgress: OnCopyProgress,
): Promise<Counts> {
  const counts = await countsOf(source, resources);
  const total = totalOf(counts);
  const copyPages = () =>
    comparePages(source, target, resources, true, (done) => onProgress('copy', done, total));
  const differ = () =>
    comparePages(source, target, resources, false, (done) => onProgress('check', done, total));
  if ((await unfinishedIn(target)) !== 'copy') {
    const targetIds = await lastIdsOf(target);
    if (Object.keys(targetIds).length > 0) {
      // Repeating a finished copy only compares.
      const isOther = !isDeepStrictEqual(await lastIdsOf(source), targetIds) || (await differ());
      if (isOther) throw holdsOthers();
      return counts;
    }
    await target.transact(randomUUID(), [markBegun('copy')]);
  }
  await copyPages();
  const lastIds = await lastIdsOf(source);
  if (await differ())
    throw new DatabaseUnusable('one of the two databases changed meanwhile: run it again');
  await target.transact(randomUUID(), [...setLastIds(lastIds), markFinished('copy')]);
  return counts;
}

function holdsOthers(): DatabaseUnusable {
  return new DatabaseUnusable('it already holds other records');
}

/**
 * Resolves with true at the first page that differs, or, with `repairs`, replaces each page that
 * differs and resolves with false.
 */
async function comparePages(
  source: Source,
  target: Database,
  resources: readonly Resource[],
  repairs: boolean,
  onDone: (done: number) => void,
): Promise<boolean> {
  let done = 0;
  onDone(done);
  for (const resource of resources) {
    let after = 0;
    while (after < END) {
      const { last, count } = await nextPage(source, resource, after);
      const page = JSON.stringify([after, last]);
      const [wanted = '[]', found] = await Promise.all(
        [source, target].map((each) => recordsOn(each, resource, page)),
      );
      if (wanted !== found) {
        if (!repairs) return true;
        const remove = `DELETE FROM ${resource.table} WHERE ${IS_ON_PAGE}`;
        await target.transact(randomUUID(), [
          ...(found === '[]' ? [] : [{ sql: remove, parameter: page }]),
          { sql: insertSql(resource), parameter: wanted },
        ]);
      }
      done += count;
      onDone(done);
      after = last;
    }
  }
  return false;
}

/** Resolves with the records of a page as a JSON array of [id, ...columns]. */
async function recordsOn({ read }: Source, resource: Resource, page: string): Promise<string> {
  const columns = ['id', ...columnsOf(resource)].join(', ');
  const [row] = await read({
    sql: `
      SELECT json_group_array(json_array(${columns}) ORDER BY id) AS records
      FROM ${resource.table} WHERE ${IS_ON_PAGE}`,
    parameter: page,
  });
  return String(row?.records);
}
