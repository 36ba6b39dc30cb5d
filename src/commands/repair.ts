// The command `check --repair`: rebuilds from the records what derives from them, which are the
// search indexes and the block counters. It changes nothing else.
import { BLOCK_BITS, countedBy, type Relation, type Searchable } from '../resources/resource.ts';
import { RELATIONS, SEARCHABLE } from '../resources/resources.ts';
import { indexedText } from '../search/words.ts';
import { statementsOf } from '../storage/batches/writer.ts';
import { LAST_NUMBER } from '../storage/changes/numbers.ts';
import { DatabaseUnusable, type Statement } from '../storage/database.ts';
import { createIndexKinds, stateOf, workOf, workSql } from '../storage/index/steps.ts';
import { namesMissingIn, SCHEMA_VERSION, storedSchema } from '../storage/schema/migrations.ts';
import { refuseUnfinished } from '../storage/schema/unfinished.ts';
import type { Connection } from '../storage/sqlite/connection.ts';
import { openAlone } from '../storage/sqlite/existing.ts';
import { WRITER_PRAGMAS } from '../storage/sqlite/pragmas.ts';
import { reasonOf } from '../storage/sqlite/unusable.ts';
import { findFaults } from './check.ts';

/**
 * Rebuilds the search indexes and then the counters of the database file at `path`, each in one
 * transaction; resolves with a line for each. Nobody else can use the file meanwhile. Rejects with
 * {@link DatabaseUnusable}, and changes nothing, if the file cannot be locked, is damaged, has
 * another version, or holds an unfinished import or copy.
 */
export async function repairFile(path: string): Promise<string[]> {
  await using connection = await openAlone(path);
  try {
    await refuseUnsuited(connection);
    await connection.execute(WRITER_PRAGMAS);
    await inTransaction(connection, () => rebuildIndexes(connection));
    await inTransaction(connection, () => runAll(connection, RELATIONS.flatMap(rebuildCounters)));
    return ['rebuilt the search index', 'rebuilt the counts'];
  } catch (error) {
    throw new DatabaseUnusable(`cannot repair ${path}: ${reasonOf(path, error)}`, { cause: error });
  }
}

/** Rejects if some records or tables are missing. */
async function refuseUnsuited(connection: Connection): Promise<void> {
  const read = (statement: Statement) => connection.run(statement);
  await refuseUnfinished({ read });
  const schema = await storedSchema(read);
  if (schema.version < SCHEMA_VERSION)
    throw new Error(`it has version ${schema.version}; start the service on it to migrate it`);
  const [missing] = namesMissingIn(schema);
  if (missing !== undefined)
    throw new Error(`the schema has no ${missing}; export the records and import them elsewhere`);
}

async function inTransaction(connection: Connection, work: () => Promise<void>): Promise<void> {
  await connection.execute('BEGIN IMMEDIATE');
  try {
    await work();
    await connection.execute('COMMIT');
  } catch (error) {
    // This fails if SQLite has already rolled back.
    await connection.execute('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function runAll(connection: Connection, statements: readonly Statement[]): Promise<void> {
  for (const statement of statements) await connection.run(statement);
}

async function rebuildIndexes(connection: Connection): Promise<void> {
  for (const { search } of SEARCHABLE) await runAll(connection, emptyIndex(search));
  // Not earlier, because this check also finds a malformed index, which is no longer there.
  const [fault] = await findFaults(connection, 'PRAGMA integrity_check(1)');
  if (fault !== undefined) throw new Error(`it is damaged (${fault}); restore a backup`);
  for (const each of SEARCHABLE) await fillIndex(connection, each);
}

/** Returns the statements that empty an index, and mark that all records must be indexed. */
function emptyIndex({ table, position }: Searchable['search']): Statement[] {
  return [
    `INSERT INTO ${table} (${table}) VALUES ('delete-all')`,
    `DELETE FROM ${position}`,
    `INSERT INTO ${position} (number, id) VALUES (${LAST_NUMBER}, 0)`,
  ].map((sql) => ({ sql }));
}

async function fillIndex(connection: Connection, resource: Searchable): Promise<void> {
  const { step: kind } = createIndexKinds(resource);
  const sql = workSql(resource);
  for (;;) {
    const [row] = await connection.run({ sql });
    const from = row && stateOf(row);
    if (!from || from.id === null) return;
    const { records, next } = workOf(row);
    const rows = [...records].map(([id, texts]) => [
      id,
      ...texts.map((text) => text && indexedText(text)),
    ]);
    await runAll(connection, statementsOf(kind, [{ rows, from, to: next }], 0));
  }
}

function rebuildCounters(relation: Relation): Statement[] {
  const { table, blocks } = relation;
  const { id, owner } = countedBy(relation);
  const ofOwner = owner ? `${owner.column}, ` : '';
  return [
    `DELETE FROM ${blocks}`,
    `INSERT INTO ${blocks} (${ofOwner}block, count)
     SELECT ${ofOwner}${id} >> ${BLOCK_BITS} AS block, count(*) FROM ${table}
     GROUP BY ${ofOwner}block`,
  ].map((sql) => ({ sql }));
}
