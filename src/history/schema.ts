// The part of what changes and deletions of notes replace, which triggers keep, in the schema.
import { notes } from '../resources/notes.ts';
import type { KeptTable, SchemaPart } from '../resources/relation.ts';
import { text } from '../resources/resource.ts';

/** How many versions a note has at most. Those beyond are not shown, and will be erased. */
export const MAX_VERSIONS = 100;

/** Of how many versions beyond, at most, it is decided at once which ones go. */
const MAX_SURPLUS = 64;

/**
 * Returns the query of `result` for the versions of a note: `kept (place, id)`, the oldest first,
 * and `thinned`, whose `hidden` are the ids of those that go, in order. Each version beyond 100
 * drives out the one that stood shortest, whose time counts for the next one. The first one stays,
 * and so does the first one after the clock was set back: its time would make each next one go.
 * So what is hidden does not depend on when it is erased.
 */
export function thinning(note: string, result: string): string {
  const toTime = '(SELECT replaced_at FROM note_versions AS each WHERE each.id = kept.id)';
  return `
    WITH RECURSIVE
      kept (place, id) AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY id), id FROM note_versions AS each
        WHERE note_id = ${note} AND ${isVersionKept('each')}
        ORDER BY id LIMIT ${MAX_VERSIONS + MAX_SURPLUS}),
      thinned (place, times, hidden) AS (
        SELECT place, (
          SELECT json_group_object(id, ${toTime}) FROM kept
          WHERE place <= ${MAX_VERSIONS + 1}), NULL
        FROM kept WHERE place = ${MAX_VERSIONS + 1}
        UNION ALL
        SELECT place, times, (
          SELECT id FROM (
            SELECT CAST(key AS INTEGER) AS id, value - lag(value) OVER by_id AS stood,
              row_number() OVER by_id AS rank
            FROM json_each(times) WINDOW by_id AS (ORDER BY CAST(key AS INTEGER)))
          WHERE rank > 1 ORDER BY stood < 0, stood, id LIMIT 1)
        FROM thinned WHERE hidden IS NULL
        UNION ALL
        SELECT kept.place, json_set(json_remove(times, '$.' || hidden), '$.' || id, ${toTime}), NULL
        FROM thinned JOIN kept ON kept.place = thinned.place + 1 WHERE hidden IS NOT NULL)
    ${result}`;
}

/** The ids of versions that are shown, in a result of {@link thinning}. */
export const SHOWN = 'SELECT id FROM kept EXCEPT SELECT hidden FROM thinned';

const SHOWN_IN_JSON = `SELECT json_group_array(id) FROM (${SHOWN})`;

/** Returns the SQL condition that a note may have more versions than are shown. */
export const isCrowded = (note: string) => `
  EXISTS (SELECT 1 FROM note_versions AS each WHERE each.note_id = ${note}
          LIMIT 1 OFFSET ${MAX_VERSIONS})`;

/** Returns the SQL condition that a version is not erased. */
export const isVersionKept = (version: string) => `NOT EXISTS (
  SELECT 1 FROM erased_versions
  WHERE erased_versions.note_id = ${version}.note_id AND last_id >= ${version}.id)`;

/** The earlier texts of notes, also of those in the trash. */
export const noteVersions: KeptTable = {
  label: 'Note version',
  table: 'note_versions',
  owner: { resource: notes, column: 'note_id' },
  isShown: (rows) => `${isVersionKept('note_versions')}
    AND (NOT ${isCrowded('note_versions.note_id')} OR note_versions.id IN (
      SELECT value FROM (SELECT DISTINCT note_id FROM note_versions WHERE ${rows}) AS few
        CROSS JOIN json_each((${thinning('few.note_id', SHOWN_IN_JSON)}))
      WHERE ${isCrowded('few.note_id')}))`,
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
  isShown: () => `position >= ${FIRST_POSITION}`,
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
  -- Answers show 100 of a note. The service erases the others soon, so that no change has to look
  -- for them.
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

CREATE TRIGGER note_text_kept AFTER UPDATE OF title, body ON notes
    WHEN (new.title <> old.title OR new.body <> old.body)
    AND (SELECT days FROM notes_server_history) > 0
    AND (new.updated_at >= old.updated_at + 1000 OR (
      SELECT new.updated_at >= replaced_at AND new.updated_at < replaced_at + 1000 AND EXISTS (
        SELECT 1 FROM note_versions AS each WHERE note_id = new.id
          AND id > (SELECT ifnull(max(last_id), 0) FROM erased_versions WHERE note_id = new.id)
        LIMIT 1 OFFSET iif(new.updated_at > new.created_at, 99, 149))
      FROM note_versions WHERE note_id = new.id ORDER BY id DESC LIMIT 1) IS NOT TRUE) BEGIN
  -- Keeps the text that a change replaces. Only of a note that has 100, one a second is enough. The
  -- time of a note that was created in the future does not tell when it is changed: it gets some
  -- more until the service erases them.
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
