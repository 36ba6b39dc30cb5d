// The tags on notes, added and removed one by one.
import type { Database } from '../storage/database.ts';
import { namedRows, parameterOf, SET_TIMES } from '../storage/parameter.ts';
import { sqlOf } from '../storage/step.ts';
import type { RowSet, Write, WriteKind } from '../storage/writer.ts';

/** What a write finds: which record is missing, or whether the note has the tag. */
export type NoteTagState = 'no note' | 'no tag' | 'untagged' | 'tagged';

type NoteTagIds = readonly [note: number, tag: number];

const FOUND = `${namedRows('sent', ['note_id', 'tag_id'])},
  found AS (
    SELECT *, CASE
      WHEN NOT EXISTS (SELECT 1 FROM notes WHERE id = sent.note_id) THEN 'no note'
      WHEN NOT EXISTS (SELECT 1 FROM tags WHERE id = sent.tag_id) THEN 'no tag'
      WHEN NOT EXISTS (
        SELECT 1 FROM note_tags
        WHERE note_tags.note_id = sent.note_id AND note_tags.tag_id = sent.tag_id) THEN 'untagged'
      ELSE 'tagged' END AS state
    FROM sent)`;

const STATES = {
  named: FOUND,
  returns: { position: '_position', state: 'state' },
  from: 'FROM found',
};

const tagging = kindOf(
  'untagged',
  `INSERT INTO note_tags (note_id, tag_id)
   SELECT note_id, tag_id FROM found WHERE state = 'untagged'`,
);

const untagging = kindOf(
  'tagged',
  'DELETE FROM note_tags WHERE (note_id, tag_id) IN (SELECT note_id, tag_id FROM sent)',
);

/** Returns a kind of writes that change a note in one state only. */
function kindOf(changed: NoteTagState, write: string): WriteKind<RowSet, NoteTagState> {
  const steps = { before: STATES, write: { named: FOUND, write }, setTimes: SET_TIMES };
  return {
    steps: () => steps,
    changes: (_, before) => (before === changed ? [['note_tags']] : []),
    outcomes(writes, { before = [] }) {
      const states = new Map(before.map(({ position, state }) => [position, state]));
      return writes.map((_, index) => states.get(index) as NoteTagState);
    },
  };
}

/** Returns the tags on notes. Every call rejects with DatabaseUnavailable or QueueFull. */
export function createNoteTags(database: Database, write: Write) {
  return {
    /** Tags the note, if both exist; resolves with the state before. */
    add: (ids: NoteTagIds) => write(tagging, { rows: [ids], claims: [[ids.join('/')]] }),

    /** Removes the tag from the note; resolves with the state before. */
    remove: (ids: NoteTagIds) => write(untagging, { rows: [ids], claims: [[ids.join('/')]] }),

    async read(ids: NoteTagIds): Promise<NoteTagState> {
      const parameter = parameterOf(0, { sent: [ids] });
      const [row] = await database.read({ sql: sqlOf(STATES), parameter });
      return row?.state as NoteTagState;
    },
  };
}
