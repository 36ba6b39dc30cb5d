// Notes that are written with their tags, which a request gives by id or by name.

import { FIRST_FIELD, recordSql } from '../records/text.ts';
import {
  type Changed,
  changedRows,
  insertSql,
  isTarget,
  type NewTags,
  newRecords,
  readStatement,
  updating,
  writtenIn,
} from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import { valuesOf } from '../resources/resource.ts';
import { tags } from '../resources/tags.ts';
import type { Row } from '../storage/database.ts';
import { lastIdSql, tagSql } from '../storage/numbers.ts';
import { namedRows, SET_TIMES } from '../storage/parameter.ts';
import type { RowSet, WriteKind } from '../storage/writer.ts';

/** A write was not carried out because some ids are not those of tags. */
export interface UnknownTags {
  /** Their positions among the tags of the write. */
  readonly unknown: readonly number[];
}

/** Returns the SQL of the id of a tag, given its id or name; NULL for a new name. */
export function tagIdSql(tag: string): string {
  const named = `SELECT min(id) FROM tags WHERE name = ${tag}`;
  return `(SELECT CASE typeof(${tag}) WHEN 'text' THEN (${named}) ELSE ${tag} END)`;
}

const TAG_FIELDS = Object.keys(tags.fields);

/** The named queries of a write for its tags: those given, unknown ids, new names, and all ids. */
export const TAGS = `
  ${namedRows('tagged', ['_row', 'tag'], 2)},
  ${namedRows('named', TAG_FIELDS, 3)},
  unknown AS (
    SELECT _position FROM tagged
    WHERE typeof(tag) <> 'text' AND NOT EXISTS (SELECT 1 FROM tags WHERE id = tagged.tag)),
  new_tags AS (
    SELECT row_number() OVER (ORDER BY _position) - 1 AS _position, ${TAG_FIELDS.join(', ')}
    FROM named WHERE NOT EXISTS (SELECT 1 FROM tags WHERE name = named.name)),
  chosen AS (SELECT _row, ${tagIdSql('tagged.tag')} AS tag_id FROM tagged),`;

/** Returns what {@link TAGS} reads from the parameter: all tags, and a tag for each name. */
export function tagValues([write]: readonly RowSet[]) {
  const all = write?.tags ?? [];
  const names = new Set(all.map(([, tag]) => tag).filter((tag) => typeof tag === 'string'));
  return [all, [...names].map((name) => valuesOf(tags, { name }))];
}

/** What a write must know of its tags beforehand; see {@link newTagsIn}. */
export const TAG_COLUMNS = {
  // As a string, which json_object does not embed as JSON.
  unknown: `(SELECT json_group_array(_position) FROM unknown) || ''`,
  new_tags: '(SELECT count(*) FROM new_tags)',
  last_tag: lastIdSql('tags'),
};

/** Creates the new tags of a write. Its named query `admitted` is empty if it must not happen. */
export const CREATE_TAGS = insertSql(
  tags,
  newRecords(tags, 'FROM new_tags WHERE EXISTS (SELECT 1 FROM admitted)'),
);

/** Returns the ids of the tags that a write creates, given its {@link TAG_COLUMNS}. */
export function newTagsIn({ new_tags, last_tag }: Row): NewTags {
  const count = Number(new_tags);
  if (count === 0) return {};
  const [first, last] = [Number(last_tag) + 1, Number(last_tag) + count];
  return { newTags: { tag_id: count === 1 ? first : [first, last] } };
}

/** Returns changes of notes and tags; the tags go first, while the condition can be tested. */
export function taggedChange(): WriteKind<RowSet, Changed | UnknownTags | undefined> {
  const named = `${changedRows(notes)},${TAGS}
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
        { ...TAG_COLUMNS, tag: tagSql('number'), text },
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
    extra: tagValues,
    outcomes: (_, { before = [], update = [] }) => [changedBy(before[0], update[0])],
    changes({ rows: [row = []] }, outcome) {
      if (!outcome || 'unknown' in outcome) return [];
      // New tags may be the same as before.
      if (row.slice(FIRST_FIELD).every((value) => value === null)) return undefined;
      const { text, tag } = outcome;
      return [['notes', Number(row[1]), { text, tag }]];
    },
  };
}

function changedBy(before?: Row, update?: Row): Changed | UnknownTags | undefined {
  if (!before) return undefined;
  if (before.unknown !== '[]') return { unknown: JSON.parse(String(before.unknown)) };
  const { rest: text, tag } = update ? writtenIn(update) : { rest: before.text, tag: before.tag };
  return { text: String(text), tag: String(tag), ...newTagsIn(before) };
}
