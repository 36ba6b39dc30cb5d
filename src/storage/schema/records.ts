// The core's part of the schema: the resources, the log of their changes, and what is erased.

import type { SchemaPart } from '../../resources/relation.ts';
import { RESOURCES } from '../../resources/resources.ts';

export const records: SchemaPart = {
  relations: RESOURCES,
  sql: `
CREATE TABLE notes_server_generation (
  -- The first part of every entity tag; restore and import renew it.
  generation TEXT NOT NULL,
  -- The number of the last change before this generation.
  first INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO notes_server_generation (generation) VALUES (?1 ->> '$');

CREATE TABLE changes (
  -- The latest 1,000,000 changes, which triggers log. The key is the sequence of all numbers.
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  type TEXT NOT NULL,
  id INTEGER NOT NULL,
  -- The note of a comment, the tag that a note got or lost.
  other_id INTEGER,
  -- When, in ms since 1970. A trigger knows it only from a record that exists; else the service
  -- sets it at the end of its transaction, because all nodes of a cluster must log the same.
  at INTEGER
) STRICT;

CREATE INDEX changes_without_time ON changes (number) WHERE at IS NULL;

INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', 0);

CREATE TRIGGER changes_trimmed AFTER INSERT ON changes WHEN new.number % 64 = 0 BEGIN
  -- Forgets old changes; not at every change, because finding them takes time.
  DELETE FROM changes WHERE number <= new.number - 1000000;
END;

CREATE TABLE erased_records (
  -- The records that are gone for good. What belonged to them is found by no request. It stays here
  -- until the service erases it in the background. Until then, no record can get the same id.
  type TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (type, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
  -- The notes.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- The number of the last change; its time and that of the creation, in ms since 1970.
  number INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER,
  updated_at INTEGER,
  title TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

-- With the times, so that filters by time need not read the notes.
CREATE INDEX notes_by_number ON notes (number, created_at, updated_at);

CREATE TABLE note_blocks (
  -- How many notes have an id in each block (id >> 10), to find a page at any offset; and bounds
  -- of their times, to find those of a time. A bound is NULL if a time is unknown.
  block INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  created_from INTEGER,
  created_to INTEGER,
  updated_from INTEGER,
  updated_to INTEGER
) STRICT;

CREATE TABLE note_number_blocks (
  -- The same for the numbers of the notes.
  block INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  created_from INTEGER,
  created_to INTEGER,
  updated_from INTEGER,
  updated_to INTEGER
) STRICT;

CREATE TRIGGER note_created AFTER INSERT ON notes BEGIN
  -- Counts and logs a new note. If a program has given it no number, the log assigns one.
  INSERT INTO note_blocks
    VALUES (new.id >> 10, 1, new.created_at, new.created_at, new.updated_at, new.updated_at)
    ON CONFLICT (block) DO UPDATE SET count = count + 1,
    created_from = min(created_from, new.created_at), created_to = max(created_to, new.created_at),
    updated_from = min(updated_from, new.updated_at), updated_to = max(updated_to, new.updated_at);
  INSERT INTO note_number_blocks
    VALUES (new.number >> 10, 1, new.created_at, new.created_at, new.updated_at, new.updated_at)
    ON CONFLICT (block) DO UPDATE SET count = count + 1,
    created_from = min(created_from, new.created_at), created_to = max(created_to, new.created_at),
    updated_from = min(updated_from, new.updated_at), updated_to = max(updated_to, new.updated_at);
  INSERT OR REPLACE INTO changes (number, type, id, at)
    VALUES (nullif(new.number, 0), 'note.created', new.id, new.updated_at);
  UPDATE notes SET number = (SELECT max(number) FROM changes) WHERE id = new.id AND new.number = 0;
END;

CREATE TRIGGER note_changed AFTER UPDATE ON notes
    WHEN (new.number, new.title, new.body, new.created_at, new.updated_at)
      IS NOT (old.number, old.title, old.body, old.created_at, old.updated_at) BEGIN
  -- Logs a change, but not what leaves a note as it is. If a program has given it no new number,
  -- the log assigns one.
  INSERT OR REPLACE INTO changes (number, type, id, at)
    VALUES (iif(new.number = old.number, NULL, new.number),
            iif(old.number = 0, 'note.created', 'note.updated'), new.id, new.updated_at);
  UPDATE notes SET number = (SELECT max(number) FROM changes)
    WHERE id = new.id AND new.number = old.number;
END;

CREATE TRIGGER note_renumbered AFTER UPDATE ON notes
    WHEN (new.number, new.created_at, new.updated_at)
      IS NOT (old.number, old.created_at, old.updated_at) BEGIN
  -- Counts a note by its new number, and widens the bounds of its times.
  UPDATE note_blocks SET
    created_from = min(created_from, new.created_at), created_to = max(created_to, new.created_at),
    updated_from = min(updated_from, new.updated_at), updated_to = max(updated_to, new.updated_at)
    WHERE block = new.id >> 10;
  UPDATE note_number_blocks SET count = count - 1 WHERE block = old.number >> 10;
  DELETE FROM note_number_blocks WHERE block = old.number >> 10 AND count = 0;
  INSERT INTO note_number_blocks
    VALUES (new.number >> 10, 1, new.created_at, new.created_at, new.updated_at, new.updated_at)
    ON CONFLICT (block) DO UPDATE SET count = count + 1,
    created_from = min(created_from, new.created_at), created_to = max(created_to, new.created_at),
    updated_from = min(updated_from, new.updated_at), updated_to = max(updated_to, new.updated_at);
END;

CREATE TRIGGER note_deleted AFTER DELETE ON notes BEGIN
  -- Uncounts a deleted note and logs the deletion.
  UPDATE note_blocks SET count = count - 1 WHERE block = old.id >> 10;
  DELETE FROM note_blocks WHERE block = old.id >> 10 AND count = 0;
  UPDATE note_number_blocks SET count = count - 1 WHERE block = old.number >> 10;
  DELETE FROM note_number_blocks WHERE block = old.number >> 10 AND count = 0;
  INSERT INTO changes (type, id) VALUES ('note.deleted', old.id);
END;

CREATE TABLE tags (
  -- The tags.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  number INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER,
  updated_at INTEGER,
  name TEXT NOT NULL
) STRICT;

CREATE INDEX tags_by_number ON tags (number);

CREATE INDEX tags_by_name ON tags (name);

CREATE TABLE tag_blocks (
  -- How many tags have an id in each block.
  block INTEGER PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT;

CREATE TRIGGER tag_created AFTER INSERT ON tags BEGIN
  -- As note_created; but an erased tag may still be on notes.
  SELECT RAISE(ABORT, 'the id is that of an erased tag') FROM erased_records
    WHERE type = 'tag' AND id = new.id;
  INSERT INTO tag_blocks (block, count) VALUES (new.id >> 10, 1)
    ON CONFLICT (block) DO UPDATE SET count = count + 1;
  INSERT OR REPLACE INTO changes (number, type, id, at)
    VALUES (nullif(new.number, 0), 'tag.created', new.id, new.updated_at);
  UPDATE tags SET number = (SELECT max(number) FROM changes) WHERE id = new.id AND new.number = 0;
END;

CREATE TRIGGER tag_changed AFTER UPDATE ON tags
    WHEN (new.number, new.name, new.created_at, new.updated_at)
      IS NOT (old.number, old.name, old.created_at, old.updated_at) BEGIN
  -- As note_changed.
  INSERT OR REPLACE INTO changes (number, type, id, at)
    VALUES (iif(new.number = old.number, NULL, new.number),
            iif(old.number = 0, 'tag.created', 'tag.updated'), new.id, new.updated_at);
  UPDATE tags SET number = (SELECT max(number) FROM changes)
    WHERE id = new.id AND new.number = old.number;
END;

CREATE TRIGGER tag_deleted AFTER DELETE ON tags BEGIN
  -- As note_deleted. Nothing keeps a tag, so it is erased.
  UPDATE tag_blocks SET count = count - 1 WHERE block = old.id >> 10;
  DELETE FROM tag_blocks WHERE block = old.id >> 10 AND count = 0;
  INSERT INTO changes (type, id) VALUES ('tag.deleted', old.id);
  INSERT INTO erased_records (type, id) VALUES ('tag', old.id);
END;

CREATE TABLE comments (
  -- The comments on notes. Those of a note that is in the trash or erased stay here.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  note_id INTEGER NOT NULL,
  number INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER,
  updated_at INTEGER,
  body TEXT NOT NULL
) STRICT;

CREATE INDEX comments_of_note ON comments (note_id);

CREATE INDEX comments_by_number ON comments (note_id, number);

CREATE TABLE comment_blocks (
  -- How many comments of each note have an id in each block.
  note_id INTEGER NOT NULL,
  block INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (note_id, block)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER comment_created AFTER INSERT ON comments BEGIN -- As note_created.
  INSERT INTO comment_blocks (note_id, block, count) VALUES (new.note_id, new.id >> 10, 1)
    ON CONFLICT (note_id, block) DO UPDATE SET count = count + 1;
  INSERT OR REPLACE INTO changes (number, type, id, other_id, at)
    VALUES (nullif(new.number, 0), 'comment.created', new.id, new.note_id, new.updated_at);
  UPDATE comments SET number = (SELECT max(number) FROM changes)
    WHERE id = new.id AND new.number = 0;
END;

CREATE TRIGGER comment_changed AFTER UPDATE ON comments
    WHEN (new.number, new.note_id, new.body, new.created_at, new.updated_at)
      IS NOT (old.number, old.note_id, old.body, old.created_at, old.updated_at) BEGIN
  -- As note_changed.
  INSERT OR REPLACE INTO changes (number, type, id, other_id, at)
    VALUES (iif(new.number = old.number, NULL, new.number),
            iif(old.number = 0, 'comment.created', 'comment.updated'), new.id, new.note_id,
            new.updated_at);
  UPDATE comments SET number = (SELECT max(number) FROM changes)
    WHERE id = new.id AND new.number = old.number;
END;

CREATE TRIGGER comment_deleted AFTER DELETE ON comments BEGIN
  -- As note_deleted; that of a note that is not there was logged with its note.
  UPDATE comment_blocks SET count = count - 1
    WHERE note_id = old.note_id AND block = old.id >> 10;
  DELETE FROM comment_blocks
    WHERE note_id = old.note_id AND block = old.id >> 10 AND count = 0;
  INSERT INTO changes (type, id, other_id)
    SELECT 'comment.deleted', old.id, id FROM notes WHERE id = old.note_id;
END;

CREATE TRIGGER comments_deleted BEFORE DELETE ON notes BEGIN
  -- Logs that the comments on a note are deleted with it.
  INSERT INTO changes (type, id, other_id)
    SELECT 'comment.deleted', id, note_id FROM comments WHERE note_id = old.id ORDER BY id;
END;
`,
};
