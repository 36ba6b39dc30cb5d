// The part of tags on notes in the schema.
import { notes } from '../resources/notes.ts';
import type { SchemaPart } from '../resources/relation.ts';
import { tags } from '../resources/tags.ts';

/** The tags on notes. A row is deleted with the note or the tag. */
export const tagsOnNotes: SchemaPart = {
  relations: [
    {
      label: 'Note tag',
      table: 'note_tags',
      blocks: 'note_tag_blocks',
      fields: {},
      references: [
        { resource: notes, column: 'note_id' },
        { resource: tags, column: 'tag_id' },
      ],
    },
  ],
  sql: `
CREATE TABLE note_tags (
  -- The tags on notes. Rows of an erased tag stay until the service erases them.
  note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
  tag_id INTEGER NOT NULL,
  PRIMARY KEY (note_id, tag_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX notes_of_tag ON note_tags (tag_id, note_id);

CREATE TABLE note_tag_blocks (
  -- How many notes of each tag have an id in each block.
  tag_id INTEGER NOT NULL,
  block INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (tag_id, block)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER note_tagged AFTER INSERT ON note_tags BEGIN
  -- Counts and logs a new tag on a note.
  INSERT INTO note_tag_blocks (tag_id, block, count) VALUES (new.tag_id, new.note_id >> 10, 1)
    ON CONFLICT (tag_id, block) DO UPDATE SET count = count + 1;
  INSERT INTO changes (type, id, other_id) VALUES ('note.tagged', new.note_id, new.tag_id);
END;

CREATE TRIGGER note_untagged AFTER DELETE ON note_tags BEGIN
  -- Uncounts a tag on a note. Logs it unless the note or the tag was deleted.
  UPDATE note_tag_blocks SET count = count - 1
    WHERE tag_id = old.tag_id AND block = old.note_id >> 10;
  DELETE FROM note_tag_blocks
    WHERE tag_id = old.tag_id AND block = old.note_id >> 10 AND count = 0;
  INSERT INTO changes (type, id, other_id)
    SELECT 'note.untagged', notes.id, tags.id FROM notes CROSS JOIN tags
    WHERE notes.id = old.note_id AND tags.id = old.tag_id;
END;
`,
};
