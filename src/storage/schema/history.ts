// What changes and deletions of notes replace: triggers keep it.

/** The SQL that follows that of the records, in the same form. */
export const HISTORY = `
CREATE TABLE notes_server_history (
  -- For how many days it is kept; with 0, nothing is.
  days INTEGER NOT NULL
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

CREATE TRIGGER note_version_kept AFTER UPDATE OF title, body ON notes
    WHEN (new.title <> old.title OR new.body <> old.body)
    AND (SELECT new.updated_at BETWEEN replaced_at AND replaced_at + 600000
           AND new.updated_at > new.created_at
         FROM note_versions WHERE note_id = new.id
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

CREATE TABLE deleted_comments (
  -- As comments, with the columns in the same order.
  id INTEGER NOT NULL,
  note_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  created_at INTEGER,
  updated_at INTEGER,
  body TEXT NOT NULL,
  PRIMARY KEY (id, note_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX comments_of_deleted_note ON deleted_comments (note_id);

CREATE TRIGGER note_kept BEFORE DELETE ON notes
    WHEN (SELECT days FROM notes_server_history) > 0 BEGIN
  -- Copies a note to the trash before all that belongs to it is deleted. If another program has
  -- used an id in the trash again, the text there becomes a version.
  INSERT INTO note_versions SELECT NULL, id, number, updated_at, deleted_at, title, body
    FROM deleted_notes WHERE id = old.id;
  INSERT OR REPLACE INTO deleted_notes
    SELECT NULL, NULL, (SELECT name FROM note_names WHERE note_id = old.id),
      (SELECT json_group_array(tag_id) FROM note_tags WHERE note_id = old.id), notes.*
    FROM notes WHERE id = old.id;
  INSERT OR REPLACE INTO deleted_comments SELECT * FROM comments WHERE note_id = old.id;
END;

CREATE TRIGGER note_not_kept BEFORE DELETE ON notes
    WHEN (SELECT days FROM notes_server_history) = 0 BEGIN
  -- Erases the earlier texts of a note, which were kept before the number of days was set to 0.
  DELETE FROM note_versions WHERE note_id = old.id;
END;

CREATE TRIGGER deleted_note_gone AFTER DELETE ON deleted_notes BEGIN
  -- Erases what belongs to a note in the trash; but a restored note keeps its versions.
  DELETE FROM deleted_comments WHERE note_id = old.id;
  DELETE FROM note_versions
    WHERE note_id = old.id AND NOT EXISTS (SELECT 1 FROM notes WHERE id = old.id);
END;

CREATE TRIGGER deleted_note_timed AFTER UPDATE OF at ON changes
    WHEN new.type = 'note.deleted' BEGIN
  -- Takes over the time of the deletion when the service sets it.
  UPDATE deleted_notes SET deleted_at = new.at WHERE id = new.id AND deleted_at IS NULL;
END;
`;
