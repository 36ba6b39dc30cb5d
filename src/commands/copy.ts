// The command `copy`: everything that one database holds goes into an empty one, page by page. A
// page that is there already stays, so a copy that broke off can continue, and a second pass that
// finds nothing to write proves that both hold the same.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { columnsOf, type Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { type Database, DatabaseUnusable, type Statement } from '../storage/database.ts';
import { openSource, openTarget, type StorageOptions } from '../storage/open.ts';
import { markBegun, markFinished, type Source, unfinishedIn } from '../storage/unfinished.ts';
import { inWords } from './counts.ts';
import { createProgress, type Screen } from './progress.ts';
import {
  type Counts,
  countsOf,
  END,
  giveLastIds,
  IS_ON_PAGE,
  lastIdsOf,
  nextPage,
  totalOf,
} from './walk.ts';

/** Called after each page with how many records of how many have been copied, or compared. */
export type OnProgress = (phase: 'copy' | 'check', done: number, total: number) => void;

/**
 * Copies what `from` names to what `to` names; resolves with a line that says what both hold.
 * Rejects with {@link DatabaseUnusable}; what has been copied stays, and the next call continues
 * from there.
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
    const onProgress: OnProgress = (phase, done, total) => progress[phase](done, total);
    const counts = await copyDatabase(source, target, RESOURCES, onProgress);
    return `${from.db.name} and ${to.db.name} hold the same: ${inWords(counts)}`;
  } catch (error) {
    throw new DatabaseUnusable(`cannot copy to ${to.db.name}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * Copies the records of the resources, owners before what they own, and the last ids. Resolves with
 * the counts when both databases have been compared. Rejects with {@link DatabaseUnusable} if the
 * target held other records, which stay as they are, or if somebody wrote to one of the two
 * meanwhile.
 */
export async function copyDatabase(
  source: Source,
  target: Database,
  resources: readonly Resource[],
  onProgress: OnProgress,
): Promise<Counts> {
  const counts = await countsOf(source, resources);
  const walk = (phase: 'copy' | 'check') => {
    const total = totalOf(counts);
    return differs(source, target, resources, phase === 'copy', (done) =>
      onProgress(phase, done, total),
    );
  };
  if ((await unfinishedIn(target)) !== 'copy') {
    const given = await lastIdsOf(target);
    if (Object.keys(given).length > 0) {
      // A finished copy may be run again.
      const isOther = !isDeepStrictEqual(await lastIdsOf(source), given) || (await walk('check'));
      if (isOther) throw new DatabaseUnusable('it holds other records already');
      return counts;
    }
    await target.transact(randomUUID(), [markBegun('copy')]);
  }
  await walk('copy');
  const lastIds = await lastIdsOf(source);
  if (await walk('check'))
    throw new DatabaseUnusable('somebody wrote to one of the two meanwhile: run it again');
  await target.transact(randomUUID(), [...giveLastIds(lastIds), markFinished('copy')]);
  return counts;
}

/**
 * Compares both databases page by page. Writes pages that differ if `writes`, else resolves with
 * whether one does.
 */
async function differs(
  source: Source,
  target: Database,
  resources: readonly Resource[],
  writes: boolean,
  onDone: (done: number) => void,
): Promise<boolean> {
  let done = 0;
  onDone(done);
  for (const resource of resources) {
    let after = 0;
    while (after < END) {
      const { last, count } = await nextPage(source, resource, after);
      const page = JSON.stringify([after, last]);
      const [wanted, found] = await Promise.all(
        [source, target].map((each) => recordsOn(each, resource, page)),
      );
      if (wanted !== found && !writes) return true;
      if (wanted !== found) {
        await target.transact(
          randomUUID(),
          replacePage(resource, page, wanted ?? '[]', found === '[]'),
        );
      }
      done += count;
      onDone(done);
      after = last;
    }
  }
  return false;
}

/** Resolves with the records of a page as a JSON array of arrays. */
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

/** Returns the statements that put `records` in the place of what the page holds. */
function replacePage(
  resource: Resource,
  page: string,
  records: string,
  isEmpty: boolean,
): Statement[] {
  const { table } = resource;
  const columns = ['id', ...columnsOf(resource)];
  const insert = {
    sql: `
      INSERT INTO ${table} (${columns.join(', ')})
      SELECT ${columns.map((_, index) => `value ->> ${index}`).join(', ')} FROM json_each(?1)`,
    parameter: records,
  };
  return isEmpty
    ? [insert]
    : [{ sql: `DELETE FROM ${table} WHERE ${IS_ON_PAGE}`, parameter: page }, insert];
}
