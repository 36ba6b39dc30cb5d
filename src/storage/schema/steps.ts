// The steps of the schema. A released step never changes, nor does the result of the functions that
// make it for a released resource.
import { comments } from '../../resources/comments.ts';
import { noteTags } from '../../resources/note-tags.ts';
import { notes } from '../../resources/notes.ts';
import {
  columnsOf,
  countedBy,
  type Relation,
  type Resource,
  typeOf,
} from '../../resources/resource.ts';
import { RESOURCES } from '../../resources/resources.ts';
import { tags } from '../../resources/tags.ts';
import { CHANGES, KEPT_CHANGES, LAST_NUMBER } from '../changes/numbers.ts';

/**
 * A block is a range of 2^BLOCK_BITS ids. The counter table of a resource holds the number of
 * records in each block, so that a page at any offset is found without reading what precedes it. A
 * change needs a migration of all counters.
 */
export const BLOCK_BITS = 10;

/** Returns the statements that create the counter table of a relation and its two triggers. */
export function blockCounter(relation: Relation): string[] {
  const { table, blocks } = relation;
  const type = typeOf(relation);
  const { id, owner: reference } = countedBy(relation);
  const owner = reference?.column;
  const column = owner ? `${owner}, ` : '';
  const newOwner = owner ? `new.${owner}, ` : '';
  const isOfOwner = owner ? `${owner} = old.${owner} AND ` : '';
  const block = `block = old.${id} >> ${BLOCK_BITS}`;
  return [
    owner
      ? `CREATE TABLE ${blocks} (
     ${owner} INTEGER NOT NULL,
     block INTEGER NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (${owner}, block)
   ) STRICT, WITHOUT ROWID`
      : `CREATE TABLE ${blocks} (block INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT`,
    `CREATE TRIGGER ${type}_added AFTER INSERT ON ${table} BEGIN
     INSERT INTO ${blocks} (${column}block, count) VALUES (${newOwner}new.${id} >> ${BLOCK_BITS}, 1)
       ON CONFLICT (${column}block) DO UPDATE SET count = count + 1;
   END`,
    `CREATE TRIGGER ${type}_removed AFTER DELETE ON ${table} BEGIN
     UPDATE ${blocks} SET count = count - 1 WHERE ${isOfOwner}${block};
     DELETE FROM ${blocks} WHERE ${isOfOwner}${block} AND count = 0;
   END`,
  ];
}

/** The SQL of the next number inside a trigger, whose statement may have just assigned others. */
const NEXT_NUMBER = `(SELECT max(
       coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${CHANGES}'), 0),
       coalesce((SELECT max(number) FROM ${CHANGES}), 0)) + 1)`;

/**
 * Returns the statements that log the changes of a resource, and number those of programs that know
 * no numbers. The table must have the columns `number INTEGER NOT NULL DEFAULT 0`, `created_at
 * INTEGER` and `updated_at INTEGER`.
 */
export function changeLog(resource: Resource): string[] {
  const { table, owner } = resource;
  const type = typeOf(resource);
  const other = (row: string) => (owner ? `${row}.${owner.column}` : 'NULL');
  const log = (event: string) => logChange('new.number', event, 'new.id', other('new'));
  const assign = `UPDATE ${table} SET number = ${NEXT_NUMBER} WHERE id = new.id;`;
  return [
    `CREATE TRIGGER ${type}_created AFTER INSERT ON ${table} WHEN new.number <> 0 BEGIN
     ${log(`'${type}.created'`)}
   END`,
    `CREATE TRIGGER ${type}_unnumbered AFTER INSERT ON ${table} WHEN new.number = 0 BEGIN
     ${assign}
   END`,
    `CREATE TRIGGER ${type}_updated AFTER UPDATE OF number ON ${table} BEGIN
     ${log(`iif(old.number = 0, '${type}.created', '${type}.updated')`)}
   END`,
    `CREATE TRIGGER ${type}_changed AFTER UPDATE OF ${columnsOf(resource).join(', ')} ON ${table}
   WHEN new.number = old.number BEGIN
     ${assign}
   END`,
    `CREATE TRIGGER ${type}_deleted AFTER DELETE ON ${table} BEGIN
     ${logChange('NULL', `'${type}.deleted'`, 'old.id', other('old'))}
   END`,
  ];
}

/**
 * Returns the body of a trigger that logs a change; the number NULL means the next one. The log is
 * trimmed only at every 64th number, because finding old changes takes time.
 */
function logChange(number: string, type: string, id: string, otherId: string): string {
  return `INSERT OR REPLACE INTO ${CHANGES} (number, type, id, other_id)
       VALUES (${number}, ${type}, ${id}, ${otherId});
     DELETE FROM ${CHANGES} WHERE coalesce(${number}, 0) % 64 = 0 AND number <=
       (SELECT seq FROM sqlite_sequence WHERE name = '${CHANGES}') - ${KEPT_CHANGES};`;
}

const FIRST = [
  'CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, ' +
    'title TEXT NOT NULL, body TEXT NOT NULL) STRICT',
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

/**
 * Adds the columns of the changes to the table of a resource. Numbers the records by rising id,
 * after those of the tables before it.
 */
function addChangeColumns(resource: Resource): string[] {
  const { table } = resource;
  const last = `SELECT seq FROM sqlite_sequence WHERE name = '${CHANGES}'`;
  return [
    `ALTER TABLE ${table} ADD COLUMN number INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE ${table} ADD COLUMN created_at INTEGER`,
    `ALTER TABLE ${table} ADD COLUMN updated_at INTEGER`,
    `UPDATE ${table} SET number = (${last}) + position
     FROM (SELECT id AS record, row_number() OVER (ORDER BY id) AS position FROM ${table})
     WHERE id = record`,
    `UPDATE sqlite_sequence SET seq = seq + (SELECT count(*) FROM ${table})
     WHERE name = '${CHANGES}'`,
    ...changeLog(resource),
  ];
}

const HAS_BOTH = `EXISTS (SELECT 1 FROM notes WHERE id = old.note_id)
     AND EXISTS (SELECT 1 FROM tags WHERE id = old.tag_id)`;

const TAGS_ON_NOTES = [
  `CREATE TABLE note_tags (
     note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
     tag_id INTEGER NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
     PRIMARY KEY (note_id, tag_id)
   ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX notes_of_tag ON note_tags (tag_id, note_id)',
  ...blockCounter(noteTags),
  `CREATE TRIGGER note_tagged AFTER INSERT ON note_tags BEGIN
     ${logChange('NULL', "'note.tagged'", 'new.note_id', 'new.tag_id')}
   END`,
  // Not for a link that is deleted with its note or its tag.
  `CREATE TRIGGER note_untagged AFTER DELETE ON note_tags WHEN ${HAS_BOTH} BEGIN
     ${logChange('NULL', "'note.untagged'", 'old.note_id', 'old.tag_id')}
   END`,
];

/** The index lacks the notes whose numbers exceed the position. */
const SEARCH = [
  `CREATE VIRTUAL TABLE note_words USING fts5(
     title, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2')`,
  'CREATE TABLE note_words_position (number INTEGER NOT NULL) STRICT',
  'INSERT INTO note_words_position (number) VALUES (0)',
];

const SECOND = [
  'CREATE TABLE notes_server_generation (generation TEXT NOT NULL) STRICT',
  `INSERT INTO notes_server_generation (generation) VALUES (?1 ->> '$')`,
  `CREATE TABLE ${CHANGES} (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     type TEXT NOT NULL,
     id INTEGER NOT NULL,
     other_id INTEGER
   ) STRICT`,
  `INSERT INTO sqlite_sequence (name, seq) VALUES ('${CHANGES}', 0)`,
  ...addChangeColumns(notes),
  ...addChangeColumns(tags),
  ...addChangeColumns(comments),
  'CREATE INDEX tags_by_name ON tags (name)',
  ...TAGS_ON_NOTES,
  ...SEARCH,
  `CREATE TABLE notes_server_answers (
     position INTEGER PRIMARY KEY,
     key TEXT NOT NULL UNIQUE,
     fingerprint TEXT NOT NULL,
     id INTEGER NOT NULL,
     tag TEXT NOT NULL,
     answered_at INTEGER NOT NULL
   ) STRICT`,
  'CREATE INDEX answers_by_time ON notes_server_answers (answered_at)',
];

/** Returns the statement for the index that lists in the order of the last changes use. */
function indexByNumber({ table, owner }: Resource): string {
  const columns = owner ? `${owner.column}, number` : 'number';
  return `CREATE INDEX ${table}_by_number ON ${table} (${columns})`;
}

const THIRD = [
  ...[notes, tags, comments].map(indexByNumber),
  // The service splits the texts itself, because unicode61 splits Thai words at their vowels.
  'DROP TABLE note_words',
  `CREATE VIRTUAL TABLE note_words USING fts5(
     title, body, content='', contentless_delete=1, tokenize='ascii')`,
  // While all notes are being added to the index: the last one that it contains.
  'ALTER TABLE note_words_position ADD COLUMN id INTEGER',
  // The log has no earlier changes of the generation.
  'ALTER TABLE notes_server_generation ADD COLUMN first INTEGER NOT NULL DEFAULT 0',
  `UPDATE notes_server_generation SET first = ${LAST_NUMBER}`,
];

/**
 * The steps in order; step N brings a database from version N - 1 to version N. The parameter of a
 * statement with `?1` is a new generation, as JSON.
 */
export const STEPS: readonly (readonly string[])[] = [FIRST, SECOND, THIRD];

/**
 * Comments for readers of the schema, by the auxiliary table. They are added to a statement when it
 * is executed, so that a released step never changes.
 */
export const TABLE_COMMENTS: ReadonlyMap<string | undefined, string> = new Map([
  ['notes_server_versions', 'the versions of the schema that this database has had'],
  ['notes_server_generation', 'the first part of every entity tag; restore and import renew it'],
  ['notes_server_answers', 'how requests with an Idempotency-Key were answered'],
  [CHANGES, `the latest ${KEPT_CHANGES} changes by their number; triggers log them`],
  ['note_tags', 'the tags of each note'],
  ['note_tag_blocks', `how many notes of each tag have an id in each block (id >> ${BLOCK_BITS})`],
  ['note_words_position', 'the last change that the index note_words contains'],
  ...RESOURCES.map(({ table, blocks, owner }): [string, string] => [
    blocks,
    `how many ${table} ${owner ? `of each ${typeOf(owner.resource)} ` : ''}have an id in each ` +
      `block (id >> ${BLOCK_BITS}); triggers keep these counts`,
  ]),
]);
