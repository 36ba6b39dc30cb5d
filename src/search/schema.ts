// The part of the search in the schema.
import type { SchemaPart } from '../resources/relation.ts';

export const searchIndex: SchemaPart = {
  sql: `
-- The search index. The service splits the texts into words.
CREATE VIRTUAL TABLE note_words USING fts5(
  title, body, content='', contentless_delete=1, tokenize='ascii'
);

-- Merging more parts at a time makes indexing long texts cheaper.
INSERT INTO note_words (note_words, rank) VALUES ('automerge', 8);

CREATE TABLE note_words_position (
  -- The number of the last change that the index contains.
  number INTEGER NOT NULL,
  -- While all notes are being indexed: the last one that the index contains.
  id INTEGER
) STRICT;

INSERT INTO note_words_position (number) VALUES (0);
`,
};
