// The part of what changes and deletions of notes replace, which triggers keep, in the schema.
import { notes } from '../resources/notes.ts';
import type { KeptTable, SchemaPart } from '../resources/relation.ts';
import { text } from '../resources/resource.ts';

/** How many versions a note has at most; earlier ones are not shown, and will be erased. */
export const MAX_VERSIONS = 100;

/** The SQL condition that a version is not erased. */
export const IS_VERSION_KEPT = `NOT EXISTS (
  SELECT 1 FROM erased_versions
  WHERE erased_versions.note_id = note_versions.note_id AND last_id >= note_versions.id)`;

/** The earlier texts of notes, also of those in the trash. */
export const noteVersions: KeptTable = {
  label: 'Note version',
  table: 'note_versions',
  owner: { resource: notes, column: 'note_id' },
  isShown: `${IS_VERSION_KEPT} AND ${MAX_VERSIONS} > (SELECT count(*) FROM (
      SELECT 1 FROM note_versions AS later
      WHERE later.note_id = note_versions.note_id AND later.id > note_versions.id
      LIMIT ${MAX_VERSIONS}))`,
  columns: { note_id: 'id', version: 'id', updated_at: 'time', replaced_at: 'time' },
  fields: { title: text, body: text },
  of: notes,
};

const CHANGE = { number: 'id', created_at: 'time', updated_at: 'time' } as const;

/** The SQL of the first position in the trash that is not erased. It begins a block. */
export const FIRST_POSITION = '(SELECT first_position FROM notes_server_history)';

export const deletedNotes: KeptTable = {
  label: 'Deleted note',
  table: 'deleted_notes',
  blocks: 'deleted_note_blocks',
  isShown: `position >= ${FIRST_POSITION}`,
  columns: { position: 'position', deleted_at: 'time', name: 'name', tag_ids: 'ids', ...CHANGE },
  fields: notes.fields,
  of: notes,
};

/** The tables of the trash and of versions. */
export const keptOfNotes: SchemaPart = {
  relations: [noteVersions, deletedNotes],
  sql: `
CREATE TABLE notes_server_history (
  -- For how many days it is kept; with 0, nothing is.
  days INTEGER NOT NULL,
  -- Notes in the trash at lower positions are erased.
  first_position INTEGER NOT NULL DEFAULT 0,
  -- The note that is being restored.
  restored INTEGER
) STRICT;

INSERT INTO notes_server_history (days) VALUES (30);

CREATE TABLE note_versions (
  -- Earlier texts of notes, also of those in the trash. Ids rise in time, and none is used again.
  -- Answers show the latest 100 of a note. The service erases the others now and then, so that no
  -- change has to look for them.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  note_id INTEGER NOT NULL,
  -- The number of the change that made the text.
  version INTEGER NOT NULL,
  updated_at INTEGER,
  replaced_at INTEGER,
  title TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

-- With a number or a time in it, it would slow down each change of a note.
CREATE INDEX versions_of_note ON note_versions (note_id);

CREATE TABLE erased_versions (
  -- The notes whose versions up to an id are erased; as erased_records.
  note_id INTEGER PRIMARY KEY,
  last_id INTEGER NOT NULL
) STRICT;

CREATE TRIGGER note_version_kept AFTER UPDATE OF title, body ON notes
    WHEN (new.title <> old.title OR new.body <> old.body)
    AND (SELECT new.updated_at BETWEEN replaced_at AND replaced_at + 600000
           AND new.updated_at > new.created_at
         FROM note_versions WHERE note_id = new.id
           AND id > (SELECT ifnull(max(last_id), 0) FROM erased_versions WHERE note_id = new.id)
         ORDER BY id DESC LIMIT 1) IS NOT TRUE
    AND (SELECT days FROM notes_server_history) > 0 BEGIN
  -- Keeps the text before a series of changes. The time of a note that was created in the future
  -- does not tell when it is changed: each text is kept.
  INSERT INTO note_versions
    VALUES (NULL, new.id, old.number, old.updated_at, new.updated_at, old.title, old.body);
END;

CREATE TABLE deleted_notes (
  -- The trash. Positions rise in time, and none is used again.
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  deleted_at INTEGER,
  name TEXT,
  tag_ids TEXT NOT NULL
    CHECK (json_type(tag_ids) = 'array' AND tag_ids NOT GLOB '*[^][0-9,-]*'),
  -- As notes, with the columns in the same order.
  id INTEGER NOT NULL UNIQUE,
  number INTEGER NOT NULL,
  created_at INTEGER,
  updated_at INTEGER,
  title TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE deleted_note_blocks (
  -- How many notes in the trash have a position in each block.
  block INTEGER PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT;

CREATE TRIGGER note_kept BEFORE DELETE ON notes
    WHEN (SELECT days FROM notes_server_history) > 0 BEGIN
  -- Copies a note to the trash before its name and its tags are deleted.
  INSERT INTO deleted_notes
    SELECT NULL, NULL, (SELECT name FROM note_names WHERE note_id = old.id),
      (SELECT json_group_array(tag_id) FROM note_tags WHERE note_id = old.id), notes.*
    FROM notes WHERE id = old.id;
END;

CREATE TRIGGER note_not_kept AFTER DELETE ON notes
    WHEN (SELECT days FROM notes_server_history) = 0 BEGIN
  -- Erases a note when nothing is kept.
  INSERT INTO erased_records (type, id) VALUES ('note', old.id);
END;

CREATE TRIGGER note_id_kept BEFORE INSERT ON notes BEGIN
  -- Refuses an id of which comments or versions may still be here, unless the note is restored.
  SELECT RAISE(ABORT, 'the id is that of a note in the trash') FROM deleted_notes
    WHERE id = new.id AND id IS NOT (SELECT restored FROM notes_server_history);
  SELECT RAISE(ABORT, 'the id is that of an erased note') FROM erased_records
    WHERE type = 'note' AND id = new.id;
END;

CREATE TRIGGER deleted_note_here AFTER INSERT ON deleted_notes BEGIN
  -- Counts a note in the trash.
  INSERT INTO deleted_note_blocks (block, count) VALUES (new.position >> 10, 1)
    ON CONFLICT (block) DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER deleted_note_gone AFTER DELETE ON deleted_notes BEGIN
  -- Uncounts a note in the trash, and erases it unless it was restored.
  UPDATE deleted_note_blocks SET count = count - 1 WHERE block = old.position >> 10;
  DELETE FROM deleted_note_blocks WHERE block = old.position >> 10 AND count = 0;
  INSERT INTO erased_records (type, id)
    SELECT 'note', old.id WHERE NOT EXISTS (SELECT 1 FROM notes WHERE id = old.id);
END;

CREATE TRIGGER deleted_note_timed AFTER UPDATE OF at ON changes
    WHEN new.type = 'note.deleted' BEGIN
  -- Takes over the time of the deletion when the service sets it.
  UPDATE deleted_notes SET deleted_at = new.at WHERE id = new.id AND deleted_at IS NULL;
END;
`,
};
