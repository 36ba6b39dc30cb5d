// The command `check --repair`: rebuilds the search indexes and block counters from the records.
import { BLOCK_BITS } from '../list-extension.ts';
import { pagesOf, relationsIn, rowsOn } from '../pages.ts';
import type { Relation } from '../resources/relation.ts';
import { differencesIn } from '../schema/differences.ts';
import { DatabaseUnusable, type Source } from '../storage/database.ts';
import { reasonOf } from '../storage/sqlite/unusable.ts';
import { blockCountsOf, findFaults } from './check.ts';
import { openAlone } from './existing.ts';
import { INDEXES } from './indexes.ts';

/** Repairs a file; rejects, and changes nothing, if it is not usable. */
export async function repairFile(path: string): Promise<void> {
  await using file = await openAlone(path);
  try {
    // A trigger of somebody else could change records meanwhile.
    const fault = (await differencesIn(file)).find(({ isFault }) => isFault);
    if (fault) throw new Error(`${fault.text}; export the records and import them elsewhere`);
    const relations = await relationsIn(file);
    // If anything fails, the end of the connection rolls back.
    await file.read({ sql: 'BEGIN IMMEDIATE' });
    await rebuildIndexes(file, relations);
    await runAll(file, relations.flatMap(rebuildCounters));
    await file.read({ sql: 'COMMIT' });
  } catch (error) {
    throw new DatabaseUnusable(`cannot repair ${path}: ${reasonOf(path, error)}`, { cause: error });
  }
}

async function runAll({ read }: Source, statements: readonly string[]): Promise<void> {
  for (const sql of statements) await read({ sql });
}

async function rebuildIndexes(file: Source, relations: readonly Relation[]): Promise<void> {
  for (const { empty, finish } of INDEXES) await runAll(file, [empty, ...finish]);
  // Not earlier, because this check also finds a malformed index, which is no longer there.
  const [fault] = await findFaults(file, 'PRAGMA integrity_check(1)');
  if (fault !== undefined) throw new Error(`it is damaged (${fault}); restore a backup`);
  for (const { resource, insertion } of INDEXES)
    for (const relation of relations.filter(({ table }) => table === resource.table))
      for await (const page of pagesOf(file, relation))
        await file.read(insertion(await rowsOn(file, relation, page), relation));
}

function rebuildCounters(relation: Relation): string[] {
  return blockCountsOf(relation).flatMap(({ table, key, owner, hasBounds }) => {
    const ofOwner = owner ? `${owner.column}, ` : '';
    const bounds = hasBounds ? ['created', 'updated'].map(boundsSql).join('') : '';
    return [
      `DELETE FROM ${table}`,
      `INSERT INTO ${table}
       SELECT ${ofOwner}${key} >> ${BLOCK_BITS} AS block, count(*)${bounds} FROM ${relation.table}
       GROUP BY ${ofOwner}block`,
    ];
  });
}

function boundsSql(name: string): string {
  const at = `${name}_at`;
  const ifAllHaveOne = (sql: string) => `, iif(count(${at}) = count(*), ${sql}(${at}), NULL)`;
  return `${ifAllHaveOne('min')}${ifAllHaveOne('max')}`;
}
