// The command `copy`: copies the content of one database into an empty one, page by page. It skips
// equal pages, so that an interrupted copy can continue; a second pass compares both databases.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { keysOf, type Relation } from '../resources/resource.ts';
import { RELATIONS } from '../resources/resources.ts';
import { CHANGES, renewGeneration } from '../storage/changes/numbers.ts';
import {
  type Database,
  DatabaseUnusable,
  type Source,
  type Statement,
} from '../storage/database.ts';
import { openSource, openTarget, type StorageOptions } from '../storage/open.ts';
import { markUnfinished, removeMark, unfinishedIn } from '../storage/schema/unfinished.ts';
import { createProgress, type Screen } from './progress.ts';
import {
  allColumnsOf,
  type Counts,
  countsOf,
  formatCounts,
  insertSql,
  isOnPage,
  lastIdsOf,
  MAX_ID,
  nextPage,
  setLastIds,
  storedContent,
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
    const { relations } = await storedContent(source);
    const others = RELATIONS.filter((each) => !relations.includes(each));
    if (totalOf(await countsOf(target, others)) > 0) throw holdsOthers();
    const counts = await copyDatabase(source, target, relations, (phase, done, total) =>
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
 * Copies the rows of the relations in their order, and the last ids; begins a new generation in the
 * target. Compares both databases and resolves with the initial counts of the source. Rejects with
 * {@link DatabaseUnusable} if the target already holds other records, which it keeps, or if the
 * databases differ after the copy.
 */
export async function copyDatabase(
  source: Source,
  target: Database,
  relations: readonly Relation[],
  onProgress: OnCopyProgress,
): Promise<Counts> {
  const counts = await countsOf(source, relations);
  const total = totalOf(counts);
  const { hasChanges } = await storedContent(source);
  const columns = new Map(relations.map((each) => [each, allColumnsOf(each, hasChanges)]));
  const differences = (phase: 'copy' | 'check') =>
    findDifferences(source, target, columns, (done) => onProgress(phase, done, total));
  const differ = async () => !(await differences('check').next()).done;
  if ((await unfinishedIn(target)) !== 'copy') {
    const targetIds = await lastIdsOf(target);
    const { [CHANGES]: _, ...idsOnly } = targetIds;
    if (Object.keys(idsOnly).length > 0) {
      // Repeating a finished copy only compares.
      const wanted = hasChanges ? targetIds : idsOnly;
      const isOther = !isDeepStrictEqual(await lastIdsOf(source), wanted) || (await differ());
      if (isOther) throw holdsOthers();
      return counts;
    }
    await target.transact(randomUUID(), [markUnfinished('copy')]);
  }
  for await (const difference of differences('copy'))
    await target.transact(randomUUID(), replacePage(difference));
  const lastIds = await lastIdsOf(source);
  if (await differ())
    throw new DatabaseUnusable('one of the two databases changed meanwhile: run the copy again');
  // A source of version 1 has no number of the last change.
  const { [CHANGES]: last = 0 } = await lastIdsOf(target);
  const statements = [...setLastIds({ [CHANGES]: last, ...lastIds }), removeMark('copy')];
  await target.transact(randomUUID(), [...statements, ...renewGeneration()]);
  return counts;
}

function holdsOthers(): DatabaseUnusable {
  return new DatabaseUnusable('it already holds other records');
}

/** A page whose records in the target (`found`) are not those in the source (`wanted`). */
interface Difference {
  readonly relation: Relation;
  readonly columns: readonly string[];
  readonly page: string;
  readonly wanted: string;
  readonly found: string;
}

/** Yields the pages that differ in these columns; reports how many records it has compared. */
async function* findDifferences(
  source: Source,
  target: Source,
  columnsByRelation: ReadonlyMap<Relation, readonly string[]>,
  onDone: (done: number) => void,
): AsyncGenerator<Difference> {
  let done = 0;
  onDone(done);
  for (const [relation, columns] of columnsByRelation) {
    let after = 0;
    while (after < MAX_ID) {
      const { last, count } = await nextPage(source, relation, after);
      const page = JSON.stringify([after, last]);
      const [wanted, found] = await Promise.all([
        recordsOn(source, relation, columns, page),
        recordsOn(target, relation, columns, page),
      ]);
      if (wanted !== found) yield { relation, columns, page, wanted, found };
      done += count;
      onDone(done);
      after = last;
    }
  }
}

/** Resolves with the rows of a page as a JSON array of arrays of the values of these columns. */
async function recordsOn(
  { read }: Source,
  relation: Relation,
  columns: readonly string[],
  page: string,
): Promise<string> {
  const [row] = await read({
    sql: `
      SELECT json_group_array(json_array(${columns}) ORDER BY ${keysOf(relation)}) AS records
      FROM ${relation.table} WHERE ${isOnPage(relation)}`,
    parameter: page,
  });
  return String(row?.records);
}

/** Returns the statements that make a page of the target equal to that of the source. */
function replacePage({ relation, columns, page, wanted, found }: Difference): Statement[] {
  const { table } = relation;
  const removePage = { sql: `DELETE FROM ${table} WHERE ${isOnPage(relation)}`, parameter: page };
  const insert = { sql: insertSql(relation, columns), parameter: wanted };
  // The log would contain the deletions, which `check` reports as faults.
  const emptyLog = { sql: `DELETE FROM ${CHANGES}` };
  return [...(found === '[]' ? [] : [removePage]), insert, emptyLog];
}
