// The schema of the stored data, as numbered steps that never change once released. Each start
// brings a database of an older version up to date, one transaction per step.
import { comments } from '../resources/comments.ts';
import { notes } from '../resources/notes.ts';
import { type Resource, typeOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { tags } from '../resources/tags.ts';
import { type Database, DatabaseUnusable, type Statement } from './database.ts';

/**
 * A block is a range of 2^BLOCK_BITS ids. The counter table of a resource holds the number of
 * records in each block, so that a page at any offset is found without reading what precedes it. A
 * change needs a migration of all counters.
 */
export const BLOCK_BITS = 10;

/**
 * Returns the statements that create the counter table of a resource and the two triggers that
 * maintain it. Migrations use it, so its result for a released resource must never change.
 */
export function blockCounter(resource: Resource): string[] {
  const { table, blocks, owner } = resource;
  const type = typeOf(resource);
  const column = owner ? `${owner.column}, ` : '';
  const newOwner = owner ? `new.${owner.column}, ` : '';
  const isOfOwner = owner ? `${owner.column} = old.${owner.column} AND ` : '';
  const block = `block = old.id >> ${BLOCK_BITS}`;
  return [
    owner
      ? `CREATE TABLE ${blocks} (
     ${owner.column} INTEGER NOT NULL,
     block INTEGER NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (${owner.column}, block)
   ) STRICT, WITHOUT ROWID`
      : `CREATE TABLE ${blocks} (block INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT`,
    `CREATE TRIGGER ${type}_added AFTER INSERT ON ${table} BEGIN
     INSERT INTO ${blocks} (${column}block, count) VALUES (${newOwner}new.id >> ${BLOCK_BITS}, 1)
       ON CONFLICT (${column}block) DO UPDATE SET count = count + 1;
   END`,
    `CREATE TRIGGER ${type}_removed AFTER DELETE ON ${table} BEGIN
     UPDATE ${blocks} SET count = count - 1 WHERE ${isOfOwner}${block};
     DELETE FROM ${blocks} WHERE ${isOfOwner}${block} AND count = 0;
   END`,
  ];
}

const FIRST = [
  'CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL) STRICT',
  ...blockCounter(notes),

  'CREATE TABLE tags (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT',
  ...blockCounter(tags),

  `CREATE TABLE comments (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
     body TEXT NOT NULL
   ) STRICT`,
  'CREATE INDEX comments_of_note ON comments (note_id)',
  ...blockCounter(comments),
];

/** The SQL that creates the table of versions if it is missing. */
export const VERSIONS_TABLE =
  'CREATE TABLE IF NOT EXISTS notes_server_versions (version INTEGER PRIMARY KEY) STRICT';

/** The steps in order; step N brings a database from version N - 1 to version N. */
const STEPS: readonly (readonly string[])[] = [FIRST];

/**
 * Comments for readers of the schema, by name of the auxiliary table. They are added to a statement
 * when it is executed, so that a released step never changes.
 */
const COMMENTS: ReadonlyMap<string | undefined, string> = new Map([
  ['notes_server_versions', 'the versions of the schema that this database has had'],
  ...RESOURCES.map(({ table, blocks, owner }): [string, string] => [
    blocks,
    `how many ${table} ${owner ? `of each ${typeOf(owner.resource)} ` : ''}have an id in each ` +
      `block (id >> ${BLOCK_BITS}); triggers keep these counts`,
  ]),
]);

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

function statementsOf(step: readonly string[], version: number): Statement[] {
  const insert = `INSERT INTO notes_server_versions (version) VALUES (${version})`;
  return [VERSIONS_TABLE, insert, ...step].map((sql) => ({ sql: withComment(sql) }));
}

/** Adds the comment of a new table inside its parentheses, where SQLite keeps it. */
function withComment(sql: string): string {
  const [start, table] = /^CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(/.exec(sql) ?? [''];
  const comment = COMMENTS.get(table);
  return comment ? `${start}/* ${comment} */ ${sql.slice(start.length).trimStart()}` : sql;
}
