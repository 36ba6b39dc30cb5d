// The command `check`: runs SQLite's integrity checks and verifies the counters and last ids that
// this program relies on. Other processes may use the file meanwhile.
import { type Resource, typeOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { DatabaseUnavailable, DatabaseUnusable } from '../storage/database.ts';
import type { Connection } from '../storage/sqlite/connection.ts';
import { isAtRest, openToInspect } from '../storage/sqlite/existing.ts';
import { BLOCK_BITS } from '../storage/steps.ts';
import { storedResources } from './walk.ts';

/** The most faults that one check reports. */
const MAX_FAULTS = 25;

/** Returns queries that return one row per fault, and none for a sound database. */
export function soundnessQueries(resources: readonly Resource[] = RESOURCES): string[] {
  return [
    `SELECT format('%s: record %d has no parent in %s', "table", rowid, parent)
     FROM pragma_foreign_key_check`,
    ...resources.flatMap(queriesFor),
  ].map((sql) => `${sql} LIMIT ${MAX_FAULTS}`);
}

/** Returns the queries that compare the block counters and the last id with the records. */
function queriesFor({ table, blocks, owner }: Resource): string[] {
  const ownerId = owner?.column ?? '0';
  const ofOwner = owner ? ` of ${typeOf(owner.resource)} ` : '';
  return [
    `SELECT format('${blocks}: block %d%s counts %d records, but there are %d',
       block, iif(owner, '${ofOwner}' || owner, ''), sum(kept), sum(found))
     FROM (SELECT ${ownerId} AS owner, block, count AS kept, 0 AS found FROM ${blocks}
           UNION ALL SELECT ${ownerId}, id >> ${BLOCK_BITS}, 0, 1 FROM ${table})
     GROUP BY owner, block HAVING sum(kept) <> sum(found)`,
    `SELECT format('${table}: record %d exceeds the last assigned id', max(id))
     FROM ${table}
     HAVING max(id) > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '${table}')`,
  ];
}

/**
 * Checks the database file at `path`; resolves with a line for each fault, at most
 * {@link MAX_FAULTS} from each check. Rejects with {@link DatabaseUnusable} if the file cannot be
 * read, belongs to another program or was written by a newer version.
 */
export async function checkFile(path: string): Promise<string[]> {
  const atRest = isAtRest(path);
  const faults = await inspect(path, atRest);
  // A file at rest is read without locks: check it again if a service has started meanwhile.
  return atRest && !isAtRest(path) ? inspect(path, false) : faults;
}

async function inspect(path: string, atRest: boolean): Promise<string[]> {
  await using connection = await openToInspect(path, atRest);
  try {
    const resources = await storedResources({ read: (statement) => connection.run(statement) });
    const faults = await findFaults(connection, 'PRAGMA integrity_check(1)');
    // Start with a limit of 1: above it, SQLite may fail on unreadable data and report no fault.
    const further = faults.length > 0 ? [`PRAGMA integrity_check(${MAX_FAULTS})`] : [];
    for (const sql of [...further, ...soundnessQueries(resources)])
      faults.push(...(await findFaults(connection, sql)));
    return [...new Set(faults)];
  } catch (error) {
    throw new DatabaseUnusable(`cannot read the database ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function findFaults(connection: Connection, sql: string): Promise<string[]> {
  try {
    const rows = await connection.run({ sql });
    const lines = rows.flatMap((row) => Object.values(row).join().split('\n'));
    // `ok` and `*** in database main ***` are no faults.
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    return [(error as Error).message];
  }
}
