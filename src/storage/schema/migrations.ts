// Migrations: each start brings an older database up to date, with one transaction for each step.
import { newGeneration } from '../changes/numbers.ts';
import { type Database, DatabaseUnusable, type Statement } from '../database.ts';
import { STEPS, TABLE_COMMENTS } from './steps.ts';

/** The SQL that creates the table of versions if it is missing. */
export const VERSIONS_TABLE =
  'CREATE TABLE IF NOT EXISTS notes_server_versions (version INTEGER PRIMARY KEY) STRICT';

/** The version of the schema that this program knows. */
export const SCHEMA_VERSION = STEPS.length;

/**
 * Migrates the database; several processes may do so at once. Resolves with the names in its
 * schema. Rejects as {@link storedSchema} does.
 */
export async function migrate(
  database: Database,
  steps: readonly (readonly string[])[] = STEPS,
): Promise<StoredSchema['names']> {
  for (;;) {
    const { version, names } = await storedSchema(database.read, steps.length);
    const step = steps[version];
    if (!step) return names;
    try {
      await database.transact(`migration-${version + 1}`, statementsOf(step, version + 1));
    } catch (error) {
      // If another process has taken the same step, this one failed on the key of the versions.
      const now = await storedSchema(database.read, steps.length);
      if (now.version === version) throw error;
    }
  }
}

/** The schema of a database. */
export interface StoredSchema {
  /** 0 if the database is empty. */
  readonly version: number;
  /** The names of its tables, indexes and triggers. */
  readonly names: ReadonlySet<string>;
}

/**
 * Resolves with the schema of a database; changes nothing. Rejects with {@link DatabaseUnusable}
 * for a version above `known` and for the database of another program.
 */
export async function storedSchema(
  read: Database['read'],
  known = SCHEMA_VERSION,
): Promise<StoredSchema> {
  const found = await read({
    sql: `SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
  });
  const names = new Set(found.map(({ name }) => String(name)));
  if (names.size === 0) return { version: 0, names };
  if (!names.has('notes_server_versions'))
    throw new DatabaseUnusable('it belongs to another program');
  const versions = await read({
    sql: 'SELECT coalesce(max(version), 0) AS version FROM notes_server_versions',
  });
  const version = Number(versions[0]?.version);
  if (version > known) {
    throw new DatabaseUnusable(
      `it has version ${version}, made by a newer notes-server; this one knows ${known}`,
    );
  }
  return { version, names };
}

/** Returns the names that the schema lacks although its version has them. */
export function namesMissingIn({ version, names }: StoredSchema): string[] {
  const creation = /^CREATE (?:VIRTUAL TABLE|TABLE|INDEX|TRIGGER) (\w+)/;
  const created = STEPS.slice(0, version)
    .flat()
    .map((sql) => creation.exec(sql)?.[1] ?? '');
  return created.filter((name) => name !== '' && !names.has(name));
}

function statementsOf(step: readonly string[], version: number): Statement[] {
  const insert = `INSERT INTO notes_server_versions (version) VALUES (${version})`;
  return [VERSIONS_TABLE, insert, ...step].map((sql) => ({
    sql: withComment(sql),
    ...(sql.includes('?1') ? { parameter: JSON.stringify(newGeneration()) } : {}),
  }));
}

/** Adds the comment of a new table inside its parentheses, where SQLite keeps it. */
function withComment(sql: string): string {
  const [start, table] = /^CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(/.exec(sql) ?? [''];
  const comment = TABLE_COMMENTS.get(table);
  return comment ? `${start}/* ${comment} */ ${sql.slice(start.length).trimStart()}` : sql;
}
