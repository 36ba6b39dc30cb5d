// The part of idempotency keys in the schema.
import type { SchemaPart } from '../resources/relation.ts';

/** The table of answers. */
export const answers: SchemaPart = {
  sql: `
CREATE TABLE notes_server_answers (
  -- How requests with an Idempotency-Key were answered: with the record that has this id and tag.
  position INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  fingerprint TEXT NOT NULL,
  id INTEGER NOT NULL,
  tag TEXT NOT NULL,
  answered_at INTEGER NOT NULL
) STRICT;

CREATE INDEX answers_by_time ON notes_server_answers (answered_at);
`,
};
