// The command `copy`: copies the content of one database into an empty one, page by page. It skips
// equal pages, so that an interrupted copy can continue; a second pass compares both databases.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { columnsOf, type Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { type Database, DatabaseUnusable, type Source } from '../storage/database.ts';
import { openSource, openTarget, type StorageOptions } from '../storage/open.ts';
import { markUnfinished, removeMark, unfinishedIn } from '../storage/unfinished.ts';
import { createProgress, type Screen } from './progress.ts';
import {
  type Counts,
  countsOf,
  formatCounts,
  IS_ON_PAGE,
  insertSql,
  lastIdsOf,
  MAX_ID,
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
  const differences = (phase: 'copy' | 'check') =>
    findDifferences(source, target, resources, (done) => onProgress(phase, done, total));
  const differ = async () => !(await differences('check').next()).done;
  if ((await unfinishedIn(target)) !== 'copy') {
    const targetIds = await lastIdsOf(target);
    if (Object.keys(targetIds).length > 0) {
      // Repeating a finished copy only compares.
      const isOther = !isDeepStrictEqual(await lastIdsOf(source), targetIds) || (await differ());
      if (isOther) throw holdsOthers();
      return counts;
    }
    await target.transact(randomUUID(), [markUnfinished('copy')]);
  }
  for await (const { resource, page, wanted, found } of differences('copy')) {
    const remove = `DELETE FROM ${resource.table} WHERE ${IS_ON_PAGE}`;
    await target.transact(randomUUID(), [
      ...(found === '[]' ? [] : [{ sql: remove, parameter: page }]),
      { sql: insertSql(resource), parameter: wanted },
    ]);
  }
  const lastIds = await lastIdsOf(source);
  if (await differ())
    throw new DatabaseUnusable('one of the two databases changed meanwhile: run the copy again');
  await target.transact(randomUUID(), [...setLastIds(lastIds), removeMark('copy')]);
  return counts;
}

function holdsOthers(): DatabaseUnusable {
  return new DatabaseUnusable('it already holds other records');
}

/** A page whose records in the target (`found`) are not those in the source (`wanted`). */
interface Difference {
  readonly resource: Resource;
  readonly page: string;
  readonly wanted: string;
  readonly found: string;
}

/** Yields the pages that differ; reports how many records it has compared. */
async function* findDifferences(
  source: Source,
  target: Source,
  resources: readonly Resource[],
  onDone: (done: number) => void,
): AsyncGenerator<Difference> {
  let done = 0;
  onDone(done);
  for (const resource of resources) {
    let after = 0;
    while (after < MAX_ID) {
      const { last, count } = await nextPage(source, resource, after);
      const page = JSON.stringify([after, last]);
      const [wanted, found] = await Promise.all([
        recordsOn(source, resource, page),
        recordsOn(target, resource, page),
      ]);
      if (wanted !== found) yield { resource, page, wanted, found };
      done += count;
      onDone(done);
      after = last;
    }
  }
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
