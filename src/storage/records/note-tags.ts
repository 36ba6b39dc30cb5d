// The tags on notes, added and removed one by one.
import { namedRows, SET_TIMES } from '../batches/parameter.ts';
import type { RowSet, Write, WriteKind } from '../batches/writer.ts';
import type { Database, Row } from '../database.ts';
import { readStatement } from './writes.ts';

/** Whether a note and a tag exist, and whether the note has the tag, before a write. */
export interface NoteTagState {
  readonly hasNote: boolean;
  readonly hasTag: boolean;
  readonly isTagged: boolean;
}

type Ids = readonly [note: number, tag: number];

/** The tags on notes. Every call rejects with DatabaseUnavailable or QueueFull. */
export type NoteTags = ReturnType<typeof createNoteTags>;

const SENT = namedRows('sent', ['note_id', 'tag_id']);
const HAS_NOTE = 'EXISTS (SELECT 1 FROM notes WHERE id = sent.note_id)';
const HAS_TAG = 'EXISTS (SELECT 1 FROM tags WHERE id = sent.tag_id)';
const IS_TAGGED = `EXISTS (
  SELECT 1 FROM note_tags
  WHERE note_tags.note_id = sent.note_id AND note_tags.tag_id = sent.tag_id)`;

const STATE = readStatement(
  SENT,
  { position: '_position', has_note: HAS_NOTE, has_tag: HAS_TAG, is_tagged: IS_TAGGED },
  'FROM sent',
);

const tagging = kindOf(
  `INSERT INTO note_tags (note_id, tag_id)
   SELECT note_id, tag_id FROM sent WHERE ${HAS_NOTE} AND ${HAS_TAG} AND NOT ${IS_TAGGED}`,
  ({ hasNote, hasTag, isTagged }) => hasNote && hasTag && !isTagged,
);

const untagging = kindOf(
  'DELETE FROM note_tags WHERE (note_id, tag_id) IN (SELECT note_id, tag_id FROM sent)',
  ({ isTagged }) => isTagged,
);

function kindOf(
  write: string,
  hasChanged: (before: NoteTagState) => boolean,
): WriteKind<RowSet, NoteTagState> {
  return {
    statements: { before: STATE, write: { sql: `WITH ${SENT} ${write}` }, setTimes: SET_TIMES },
    changes: (_, before) => (hasChanged(before) ? [['note_tags']] : []),
    outcomes(writes, { before = [] }) {
      const byPosition = new Map(before.map((row) => [row.position, row]));
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
