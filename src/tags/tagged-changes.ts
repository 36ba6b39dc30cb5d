// What tags add to changes of notes: they replace all tags of a note, or change single ones.
import type { PartOfChanges } from '../records/parts.ts';
import { SET_TIMES } from '../storage/parameter.ts';

/** The tags that the notes have: the cost of a change counts these, but not all tags of a name. */
const TAGS_BEFORE = `
        (SELECT _position, note_id, tag_id, name FROM admitted
         CROSS JOIN note_tags ON note_id = admitted.id CROSS JOIN tags ON tags.id = tag_id)`;

/** Returns the tags in changes that notes get, given the SQL that creates those with a new name. */
export function tagsInChanges(createTags: string): PartOfChanges {
  return {
    // A tag that is `added` by name is not given to a note that has it by another id.
    queries: `
    chosen AS (
      SELECT id AS note_id, _tag AS tag_id, NULL AS added FROM tags_by_id
      CROSS JOIN admitted ON admitted._position = _request
      UNION ALL
      SELECT id, (SELECT min(id) FROM tags WHERE name = _tag), iif(_replaces, NULL, _tag)
      FROM tags_by_name CROSS JOIN admitted ON admitted._position = _request)`,
    steps: {
      createTags,
      untag: `
      DELETE FROM note_tags WHERE note_id IN (SELECT id FROM admitted WHERE _replaces)
        AND (note_id, tag_id) NOT IN (SELECT note_id, tag_id FROM chosen)`,
      tag: `
      INSERT INTO note_tags (note_id, tag_id)
      SELECT note_id, tag_id FROM chosen WHERE NOT EXISTS (
        SELECT 1 FROM note_tags AS each
        WHERE each.note_id = chosen.note_id AND each.tag_id = chosen.tag_id)
      AND (added IS NULL OR (note_id, added) NOT IN (SELECT note_id, name FROM ${TAGS_BEFORE}))`,
    },
    last: { setTimes: SET_TIMES.write },
  };
}

/** The tags in changes that are taken from notes. */
export const REMOVED_IN_CHANGES: PartOfChanges = {
  steps: {
    removeTags: `
      DELETE FROM note_tags WHERE (note_id, tag_id) IN (
        SELECT note_id, tag_id FROM ${TAGS_BEFORE}
        WHERE (_position, name) IN (SELECT _request, _tag FROM removed_tags))`,
  },
  last: { setTimes: SET_TIMES.write },
};
