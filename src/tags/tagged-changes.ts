// What tags add to changes of notes.
import type { PartOfChanges } from '../records/parts.ts';
import { SET_TIMES } from '../storage/parameter.ts';

/** Returns the tags in changes, given the SQL that creates those with a new name. */
export function tagsInChanges(createTags: string): PartOfChanges {
  return {
    queries: `
    chosen AS (
      SELECT id AS note_id, _tag AS tag_id, NULL AS added FROM tags_by_id
      CROSS JOIN admitted ON admitted._position = _request
      UNION ALL
      SELECT id, (SELECT min(id) FROM tags WHERE name = _tag),
        iif(_request IN (SELECT _request FROM unwanted WHERE _tag IS NULL), NULL, _tag)
      FROM tags_by_name CROSS JOIN admitted ON admitted._position = _request),
    removed AS MATERIALIZED (
      SELECT note_tags.note_id, note_tags.tag_id FROM unwanted
      CROSS JOIN admitted ON admitted._position = _request
      CROSS JOIN note_tags ON note_tags.note_id = id
      WHERE _tag IS NULL
        AND (note_tags.note_id, note_tags.tag_id) NOT IN (SELECT note_id, tag_id FROM chosen)
      UNION ALL
      SELECT admitted.id, tags.id FROM unwanted
      CROSS JOIN admitted ON admitted._position = _request CROSS JOIN tags ON name = _tag)`,
    steps: {
      createTags,
      untag: `
      DELETE FROM note_tags WHERE (note_id, tag_id) IN (SELECT note_id, tag_id FROM removed)`,
      tag: `
      INSERT INTO note_tags (note_id, tag_id)
      SELECT note_id, tag_id FROM chosen WHERE NOT EXISTS (
        SELECT 1 FROM note_tags AS each
        WHERE each.note_id = chosen.note_id AND each.tag_id = chosen.tag_id)
      AND NOT EXISTS (
        SELECT 1 FROM tags CROSS JOIN note_tags AS each
        WHERE tags.name = added AND each.note_id = chosen.note_id AND each.tag_id = tags.id)`,
    },
    last: { setTimes: SET_TIMES.write },
  };
}
