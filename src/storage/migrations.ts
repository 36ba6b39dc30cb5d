// The shape of the stored data, as numbered steps that are never edited once released: a file made by any older
// version is brought up to date at the start, in one transaction a step.
import { type Database, DatabaseUnusable } from './database.ts';

/**
 * Bits of an id that count inside its block: the `*_blocks` tables hold the number of records in each run of
 * 2^BLOCK_BITS ids, kept by triggers, so that a page is found at any depth without walking there. The steps below say
 * 10 themselves, for they never change: another width needs another step.
 */
export const BLOCK_BITS = 10;

const FIRST = [
  'CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL) STRICT',
  'CREATE TABLE note_blocks (block INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT',
  `CREATE TRIGGER note_added AFTER INSERT ON notes BEGIN
     INSERT INTO note_blocks (block, count) VALUES (new.id >> 10, 1)
       ON CONFLICT (block) DO UPDATE SET count = count + 1;
   END`,
  `CREATE TRIGGER note_removed AFTER DELETE ON notes BEGIN
     UPDATE note_blocks SET count = count - 1 WHERE block = old.id >> 10;
     DELETE FROM note_blocks WHERE block = old.id >> 10 AND count = 0;
   END`,

  'CREATE TABLE tags (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT',
  'CREATE TABLE tag_blocks (block INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT',
  `CREATE TRIGGER tag_added AFTER INSERT ON tags BEGIN
     INSERT INTO tag_blocks (block, count) VALUES (new.id >> 10, 1)
       ON CONFLICT (block) DO UPDATE SET count = count + 1;
   END`,
  `CREATE TRIGGER tag_removed AFTER DELETE ON tags BEGIN
     UPDATE tag_blocks SET count = count - 1 WHERE block = old.id >> 10;
     DELETE FROM tag_blocks WHERE block = old.id >> 10 AND count = 0;
   END`,

  `CREATE TABLE comments (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
     body TEXT NOT NULL
   ) STRICT`,
  'CREATE INDEX comments_of_note ON comments (note_id)',
  `CREATE TABLE comment_blocks (
     note_id INTEGER NOT NULL,
     block INTEGER NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (note_id, block)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER comment_added AFTER INSERT ON comments BEGIN
     INSERT INTO comment_blocks (note_id, block, count) VALUES (new.note_id, new.id >> 10, 1)
       ON CONFLICT (note_id, block) DO UPDATE SET count = count + 1;
   END`,
  `CREATE TRIGGER comment_removed AFTER DELETE ON comments BEGIN
     UPDATE comment_blocks SET count = count - 1 WHERE note_id = old.note_id AND block = old.id >> 10;
     DELETE FROM comment_blocks WHERE note_id = old.note_id AND block = old.id >> 10 AND count = 0;
   END`,
];

/** Makes the table of versions where there is none. */
export const VERSIONS_TABLE = 'CREATE TABLE IF NOT EXISTS notes_server_versions (version INTEGER PRIMARY KEY) STRICT';

/** The steps in order; step N brings a file from version N - 1 to version N. */
const STEPS: readonly (readonly string[])[] = [FIRST];

/** The version of the tables that this program knows. */
export const SCHEMA_VERSION = STEPS.length;

/**
 * Brings the database to this program's version. Safe to run from several processes at once: the step that comes
 * second fails on the version's primary key, and finds the work done. Rejects as {@link storedVersion} does.
 */
export async function migrate(database: Database, steps: readonly (readonly string[])[] = STEPS): Promise<void> {
  for (;;) {
    const version = await storedVersion(database.read, steps.length);
    const step = steps[version];
    if (!step) return;
    try {
      await database.transact(`migration-${version + 1}`, statements(step, version + 1));
    } catch (error) {
      if ((await storedVersion(database.read, steps.length)) === version) throw error;
    }
  }
}

/**
 * Resolves with the version of the stored data, 0 where there is none yet; changes nothing. Rejects with
 * {@link DatabaseUnusable} for a version beyond `known`, or the database of another program.
 */
export async function storedVersion(read: Database['read'], known = SCHEMA_VERSION): Promise<number> {
  const tables = await read({
    sql: `SELECT count(*) AS count, coalesce(max(name = 'notes_server_versions'), 0) AS ours
          FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
  });
  if (tables[0]?.count === 0) return 0;
  if (tables[0]?.ours !== 1) {
    throw new DatabaseUnusable('it belongs to another program');
  }
  const versions = await read({ sql: 'SELECT coalesce(max(version), 0) AS version FROM notes_server_versions' });
  const version = Number(versions[0]?.version);
  if (version > known) {
    throw new DatabaseUnusable(`it has version ${version}, made by a newer notes-server; this one knows ${known}`);
  }
  return version;
}

function statements(step: readonly string[], version: number) {
  return [VERSIONS_TABLE, `INSERT INTO notes_server_versions (version) VALUES (${version})`, ...step].map((sql) => ({
    sql,
  }));
}
