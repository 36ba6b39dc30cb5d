// The tags on notes, added and removed one by one.
import type { RowSet, Write, WriteKind } from '../batches/writer.ts';
import type { Database, Row } from '../database.ts';
import { SET_TIMES } from './answered-keys.ts';
import { member, POSITION, ROWS, readStatement } from './writes.ts';

/** Whether a note and a tag exist, and whether the note has the tag, before a write. */
export interface NoteTagState {
  readonly hasNote: boolean;
  readonly hasTag: boolean;
  readonly isTagged: boolean;
}

type Ids = readonly [note: number, tag: number];

/** The tags on notes. Every call rejects with DatabaseUnavailable or QueueFull. */
export type NoteTags = ReturnType<typeof createNoteTags>;

const [NOTE_ID, TAG_ID] = [member(0), member(1)];
const HAS_NOTE = `EXISTS (SELECT 1 FROM notes WHERE id = ${NOTE_ID})`;
const HAS_TAG = `EXISTS (SELECT 1 FROM tags WHERE id = ${TAG_ID})`;
const IS_TAGGED = `
  EXISTS (SELECT 1 FROM note_tags WHERE note_id = ${NOTE_ID} AND tag_id = ${TAG_ID})`;

const STATE = readStatement(
  { position: POSITION, has_note: HAS_NOTE, has_tag: HAS_TAG, is_tagged: IS_TAGGED },
  `FROM ${ROWS}`,
);

const tagging = kindOf(
  `INSERT INTO note_tags (note_id, tag_id)
   SELECT ${NOTE_ID}, ${TAG_ID} FROM ${ROWS} WHERE ${HAS_NOTE} AND ${HAS_TAG} AND NOT ${IS_TAGGED}`,
  ({ hasNote, hasTag, isTagged }) => hasNote && hasTag && !isTagged,
);

const untagging = kindOf(
  `DELETE FROM note_tags WHERE (note_id, tag_id) IN (SELECT ${NOTE_ID}, ${TAG_ID} FROM ${ROWS})`,
  ({ isTagged }) => isTagged,
);

function kindOf(
  sql: string,
  hasChanged: (before: NoteTagState) => boolean,
): WriteKind<RowSet, NoteTagState> {
  return {
    statements: [STATE, { sql }, SET_TIMES],
    changes: (_, before) => (hasChanged(before) ? [['note_tags']] : []),
    outcomes(writes, rows) {
      const byPosition = new Map(rows.map((row) => [row.position, row]));
      return writes.map((_, index) => stateOf(byPosition.get(index)));
    },
  };
}

/** Returns the {@link NoteTags} of a database. */
export function createNoteTags(database: Database, write: Write) {
  return {
    /** Tags the note, if both exist; resolves with the state before. */
    add: (ids: Ids) => write(tagging, ids.join('/'), { rows: [ids] }),

    /** Removes the tag from the note; resolves with the state before. */
    remove: (ids: Ids) => write(untagging, ids.join('/'), { rows: [ids] }),

    async read(ids: Ids): Promise<NoteTagState> {
      const [row] = await database.read({ sql: STATE.sql, parameter: JSON.stringify([0, [ids]]) });
      return stateOf(row);
    },
  };
}

function stateOf(row: Row | undefined): NoteTagState {
  if (!row) throw new Error('the engine returned too few rows');
  return { hasNote: row.has_note === 1, hasTag: row.has_tag === 1, isTagged: row.is_tagged === 1 };
}
