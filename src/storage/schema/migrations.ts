// Migrations: each start brings an older database up to date, with one transaction for each step.
import { type Database, DatabaseUnusable, type Statement } from '../database.ts';
import { newGeneration } from '../numbers.ts';
import { STEPS } from './steps.ts';

/** The SQL that creates the table of versions if it is missing. */
export const VERSIONS_TABLE = `CREATE TABLE IF NOT EXISTS notes_server_schema (
  -- The versions of the schema that this database has had.
  version INTEGER PRIMARY KEY
) STRICT`;

/** The SQL of the version of the schema; 0 if no step has been taken. */
export const VERSION = '(SELECT coalesce(max(version), 0) FROM notes_server_schema)';

export const SCHEMA_VERSION = STEPS.length;

/** Brings the schema up to date; others may do so at once. Calls `onUpgrade` before it begins. */
export async function migrate(
  database: Database,
  steps: readonly string[] = STEPS,
  onUpgrade?: (from: number, to: number) => void,
): Promise<void> {
  for (let from: number | undefined; ; ) {
    const { version } = await storedSchema(database.read, steps.length);
    const step = steps[version];
    if (step === undefined) return;
    if (from === undefined && version > 0) onUpgrade?.(version, steps.length);
    from ??= version;
    try {
      await database.transact(transactionOf(step, version + 1));
    } catch (error) {
      // If another process has taken the same step, this one failed on the key of the versions.
      const now = await storedSchema(database.read, steps.length);
      if (now.version === version) throw error;
    }
  }
}

/** Rejects for a newer schema, another program, and a development version. */
export async function storedSchema(read: Database['read'], known = SCHEMA_VERSION) {
  const found = await read({
    sql: `SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
  });
  const names = new Set(found.map(({ name }) => String(name)));
  if (names.size === 0) return { version: 0, isUnfinished: false };
  if (!names.has('notes_server_schema') || OLD.some((each) => names.has(each))) {
    const isOurs = [...names].some((name) => name.startsWith('notes_server_'));
    const advice = 'export it with that version, and import the export here';
    throw new DatabaseUnusable(
      isOurs ? `a development version made it: ${advice}` : 'it belongs to another program',
    );
  }
  const [row] = await read({ sql: `SELECT ${VERSION} AS version` });
  const version = Number(row?.version);
  if (version > known)
    throw new DatabaseUnusable(
      `it has version ${version}, made by a newer notes-server; this one knows ${known}. ` +
        'Start the newer one, or restore a backup from before it',
    );
  // If `isUnfinished`, it holds a part of an import.
  return { version, isUnfinished: names.has(IMPORT_MARK) };
}

/** What only databases of development versions have. */
const OLD = ['deleted_comments', 'note_updated', 'note_version_kept'];

function transactionOf(step: string, version: number): Statement[] {
  const insert = `INSERT INTO notes_server_schema (version) VALUES (${version})`;
  const generation = JSON.stringify(newGeneration());
  return [VERSIONS_TABLE, insert, ...statementsOf(step)].map((sql) =>
    sql.includes('?1') ? { sql, parameter: generation } : { sql },
  );
}

/** Returns the statements of a step; throws if it has two without an empty line in between. */
export function statementsOf(step: string): string[] {
  const statements = step.trim().split('\n\n');
  for (const each of statements)
    if (!ONE_STATEMENT.test(each.replace(/^ *--.*/gm, '')))
      throw new Error(`an empty line must separate statements, and nothing else: ${each}`);
  return statements;
}

/** SQLite would carry out only the first of several in one text. A trigger has some of its own. */
const ONE_STATEMENT = /^\s*(?:CREATE TRIGGER (?:(?!;\s*END\s*;)[\s\S])*;\s*END|[^;]*);?$/i;

/** The table that marks a database while an import fills it: no service starts on a part. */
export const IMPORT_MARK = 'notes_server_import';
