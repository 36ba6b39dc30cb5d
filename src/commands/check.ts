// The command `check`: runs the checks of SQLite and those of what this program relies on. Others
// may use the file meanwhile.
import { type Resource, typeOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { DatabaseUnavailable, DatabaseUnusable } from '../storage/database.ts';
import { BLOCK_BITS } from '../storage/migrations.ts';
import type { Connection } from '../storage/sqlite/connection.ts';
import { isAtRest, openToInspect } from '../storage/sqlite/existing.ts';
import { storedResources } from './walk.ts';

/** How many faults each check reports. */
const MAX_FAULTS = 25;

/** Returns queries whose rows each describe a fault; a sound database returns none. */
export function soundnessQueries(resources: readonly Resource[] = RESOURCES): string[] {
  return [
    `SELECT format('%s: record %d has no parent in %s', "table", rowid, parent)
     FROM pragma_foreign_key_check`,
    ...resources.flatMap(soundnessOf),
  ].map((sql) => `${sql} LIMIT ${MAX_FAULTS}`);
}

/** Compares the block counters and the last id with the records. */
function soundnessOf({ table, blocks, owner }: Resource): string[] {
  const ownerId = owner?.column ?? '0';
  const ofOwner = owner ? ` of ${typeOf(owner.resource)} ` : '';
  return [
    `SELECT format('${blocks}: block %d%s says %d records, there are %d',
       block, iif(owner, '${ofOwner}' || owner, ''), sum(kept), sum(found))
     FROM (SELECT ${ownerId} AS owner, block, count AS kept, 0 AS found FROM ${blocks}
           UNION ALL SELECT ${ownerId}, id >> ${BLOCK_BITS}, 0, 1 FROM ${table})
     GROUP BY owner, block HAVING sum(kept) <> sum(found)`,
    `SELECT format('${table}: record %d is beyond the last id that was given', max(id))
     FROM ${table}
     HAVING max(id) > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '${table}')`,
  ];
}

/**
 * Resolves with a line for each of the first faults that each check finds in the database file at
 * `path`; none if it is sound. Rejects with {@link DatabaseUnusable} if the file is unreadable, of
 * another program or of a newer version.
 */
export async function checkFile(path: string): Promise<string[]> {
  const atRest = isAtRest(path);
  const faults = await inspect(path, atRest);
  // A service that started meanwhile may have changed the file, which was read without locks.
  return atRest && !isAtRest(path) ? inspect(path, false) : faults;
}

async function inspect(path: string, atRest: boolean): Promise<string[]> {
  await using connection = await openToInspect(path, atRest);
  try {
    const resources = await storedResources({ read: (statement) => connection.run(statement) });
    const faults = await faultsFound(connection, 'PRAGMA integrity_check(1)');
    // With a higher limit, SQLite may fail on unreadable data without reporting any fault.
    const further = faults.length > 0 ? [`PRAGMA integrity_check(${MAX_FAULTS})`] : [];
    for (const sql of [...further, ...soundnessQueries(resources)])
      faults.push(...(await faultsFound(connection, sql)));
    return [...new Set(faults)];
  } catch (error) {
    throw new DatabaseUnusable(`cannot read the database ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function faultsFound(connection: Connection, sql: string): Promise<string[]> {
  try {
    const rows = await connection.run({ sql });
    const lines = rows.flatMap((row) => Object.values(row).join().split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    return [(error as Error).message];
  }
}
