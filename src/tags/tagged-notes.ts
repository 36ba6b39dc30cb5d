// Notes that are written with their tags, which a request gives by id or by name.
import type { JointWrite, WritePart } from '../records/creation.ts';
import { bytesWithOwnedSql } from '../records/rewritten.ts';
import { FIRST_FIELD, ID_COLUMN, recordSql } from '../records/text.ts';
import {
  changedRows,
  insertSql,
  isTarget,
  newRecords,
  readStatement,
  type Settled,
  type Stored,
  updating,
  writtenIn,
} from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import type { Resource } from '../resources/resource.ts';
import { tags } from '../resources/tags.ts';
import { lastIdSql, tagSql } from '../storage/numbers.ts';
import { namedRows, SET_TIMES } from '../storage/parameter.ts';
import type { WriteKind } from '../storage/writer.ts';
import { readTags } from './bodies.ts';

/** Returns the SQL of the id of a tag, given its id or name; NULL if there is none. */
export function tagIdSql(tag: string): string {
  const idBy = (column: string) => `(SELECT min(id) FROM tags WHERE ${column} = ${tag})`;
  return `(SELECT CASE typeof(${tag}) WHEN 'text' THEN ${idBy('name')} ELSE ${idBy('id')} END)`;
}

const TAG_FIELDS = Object.keys(tags.fields);

/** The named queries of a write for its tags: those given, unknown ids, new names, and all ids. */
const QUERIES = `
  ${namedRows('tagged', ['_row', 'tag'], 2)},
  ${namedRows('named', TAG_FIELDS, 3)},
  unknown AS (
    SELECT _position FROM tagged
    WHERE typeof(tag) <> 'text' AND NOT EXISTS (SELECT 1 FROM tags WHERE id = tagged.tag)),
  new_tags AS (
    SELECT row_number() OVER (ORDER BY _position) - 1 AS _position, ${TAG_FIELDS.join(', ')}
    FROM named WHERE NOT EXISTS (SELECT 1 FROM tags WHERE name = named.name)),
  chosen AS (SELECT _row, ${tagIdSql('tagged.tag')} AS tag_id FROM tagged),`;

/** What a write must know of its tags beforehand. */
const COLUMNS = {
  // As a string, which json_object does not embed as JSON.
  unknown: `(SELECT json_group_array(_position) FROM unknown) || ''`,
  new_tags: '(SELECT count(*) FROM new_tags)',
  last_tag: lastIdSql('tags'),
};

/** Creates the new tags of a write. Its named query `admitted` is empty if it must not happen. */
const CREATE_TAGS = insertSql(
  tags,
  newRecords(tags, 'FROM new_tags WHERE EXISTS (SELECT 1 FROM admitted)'),
);

/** Returns changes of notes and tags; the tags go first, while the condition can be tested. */
function taggedChange(): WriteKind<JointWrite, (Stored & Settled) | undefined> {
  const named = `${changedRows(notes)},${QUERIES}
    target AS (SELECT notes.* FROM sent CROSS JOIN notes ON ${isTarget(notes)}),
    admitted AS (SELECT id FROM target WHERE NOT EXISTS (SELECT 1 FROM unknown))`;
  const statement = (sql: string) => ({ sql: `WITH ${named} ${sql}` });
  const isGiven = Object.keys(notes.fields).map((name) => `sent.${name} IS NOT NULL`);
  const isChanged = `EXISTS (SELECT 1 FROM admitted) AND (${isGiven.join(' OR ')})`;
  const text = `${recordSql(notes)} || ''`;
  return {
    statements: {
      before: readStatement(
        named,
        { ...COLUMNS, tag: tagSql('number'), text },
        'FROM target AS notes',
      ),
      createTags: statement(CREATE_TAGS),
      untag: statement(`
        DELETE FROM note_tags WHERE note_id IN (SELECT id FROM admitted)
          AND tag_id NOT IN (SELECT tag_id FROM chosen)`),
      tag: statement(`
        INSERT INTO note_tags (note_id, tag_id)
        SELECT admitted.id, chosen.tag_id FROM admitted CROSS JOIN chosen
        WHERE NOT EXISTS (
          SELECT 1 FROM note_tags WHERE note_id = admitted.id AND tag_id = chosen.tag_id)`),
      update: updating(notes, true, named, isChanged),
      setTimes: SET_TIMES,
    },
    outcomes([write], { before: rows = [], update = [] }) {
      const [before] = rows;
      if (!before) return [undefined];
      const now = update[0] ? writtenIn(update[0]) : { rest: before.text, tag: before.tag };
      const settled = write?.given.at(-1)?.settle(before);
      return [{ text: String(now.rest), tag: String(now.tag), ...settled }];
    },
    changes({ rows: [row = []] }, changed) {
      // Without fields, perhaps nothing changes: the tags may be the same as before.
      const isTagged = row.slice(FIRST_FIELD).every((value) => value === null);
      if (!changed || changed.refusal || isTagged) return [];
      const { text, tag } = changed;
      return [['notes', Number(row[ID_COLUMN]), { text, tag }]];
    },
    rewrites: { idColumn: ID_COLUMN, bytes: bytesWithOwnedSql(notes), factor: 2 },
  };
}

/** Returns the part of tags in writes of notes. */
export function tagsOfNotes(resource: Resource): WritePart | undefined {
  if (resource !== notes) return undefined;
  return {
    askedBy: ['tag_ids', 'tags'],
    read: readTags,
    queries: QUERIES,
    admits: 'NOT EXISTS (SELECT 1 FROM unknown)',
    columns: COLUMNS,
    around: (others, named) => ({
      ...others,
      createTags: named(CREATE_TAGS),
      tag: named(`
        INSERT INTO note_tags (note_id, tag_id)
        SELECT first_id + _row, tag_id FROM created CROSS JOIN chosen WHERE first_id IS NOT NULL`),
      setTimes: SET_TIMES,
    }),
    change: taggedChange(),
  };
}
