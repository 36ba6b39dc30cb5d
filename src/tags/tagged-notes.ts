// Notes that are written with their tags, which a request gives by id or by name.
import { jointChange } from '../joint-changes.ts';
import type { WritePart } from '../records/parts.ts';
import { insertSql, newRecords } from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import type { FieldValue, Resource } from '../resources/resource.ts';
import { tags } from '../resources/tags.ts';
import { lastIdSql } from '../storage/numbers.ts';
import { SET_TIMES } from '../storage/parameter.ts';
import { readTags } from './bodies.ts';
import { REMOVED_IN_CHANGES, tagsInChanges } from './tagged-changes.ts';

/** Returns the SQL of the id of a tag, given its id or name; NULL if there is none. */
export function tagIdSql(tag: string): string {
  const idBy = (column: string) => `(SELECT min(id) FROM tags WHERE ${column} = ${tag})`;
  return `(SELECT CASE typeof(${tag}) WHEN 'text' THEN ${idBy('name')} ELSE ${idBy('id')} END)`;
}

/** The SQL of the values of a new tag, but for its name. */
const DEFAULTS = Object.entries(tags.fields).map(([name, { default: value = null }]) =>
  name === 'name' ? 'name' : `${literal(value)} AS ${name}`,
);

function literal(value: FieldValue | null): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** Tags that are given by id: an unknown one refuses the request. */
const TAG_IDS: WritePart = {
  name: 'tagIds',
  askedBy: ['tag_ids', 'tags', 'add_tags', 'remove_tags'],
  read: readTags,
  lists: { tags_by_id: ['_tag', '_index'] },
  queries: `
    unknown AS (
      SELECT _request, json_group_array(_index) AS places FROM tags_by_id
      WHERE NOT EXISTS (SELECT 1 FROM tags WHERE id = _tag) GROUP BY _request)`,
  admits: '_position NOT IN (SELECT _request FROM unknown)',
  report: { columns: { request: '_request', places: 'places' }, from: 'FROM unknown' },
  after: {
    tagById: `
      INSERT INTO note_tags (note_id, tag_id)
      SELECT _id, _tag FROM created_tags_by_id`,
  },
  last: { setTimes: SET_TIMES.write },
};

const CREATE_TAGS = insertSql(
  tags,
  newRecords(tags, `FROM (SELECT _position, ${DEFAULTS.join(', ')} FROM new_tags)`),
);

/** Tags that are given by name: new ones are created, in the order in which they first appear. */
const TAG_NAMES: WritePart = {
  name: 'tagNames',
  lists: { tags_by_name: ['_tag'] },
  queries: `
    first_names AS (
      SELECT min(_position) AS _first_position, _request, _tag FROM tags_by_name
      WHERE iif(EXISTS (SELECT 1 FROM tags WHERE name = _tag),
        FALSE, _request IN (SELECT _position FROM admitted))
      GROUP BY _tag),
    new_tags AS (
      SELECT row_number() OVER (ORDER BY _first_position) - 1 AS _position, _request, _tag AS name
      FROM first_names)`,
  report: {
    columns: { request: '_request', first: 'first', last: 'last' },
    from: `FROM (
      SELECT _request, ${lastIdSql('tags')} + min(_position) + 1 AS first,
        ${lastIdSql('tags')} + max(_position) + 1 AS last
      FROM new_tags GROUP BY _request)`,
  },
  after: {
    createTags: CREATE_TAGS,
    tagByName: `
      INSERT INTO note_tags (note_id, tag_id)
      SELECT _id, (SELECT min(id) FROM tags WHERE name = _tag) FROM created_tags_by_name`,
  },
  last: { setTimes: SET_TIMES.write },
};

/** Marks a change that takes all other tags from a note. */
const REPLACES: WritePart = { name: 'replaces', ofRequest: ['_replaces'] };

/** The tags that a change takes from a note, by name. */
const REMOVED: WritePart = {
  ...{ name: 'removed', lists: { removed_tags: ['_tag'] } },
  ...{ change: jointChange, inChanges: REMOVED_IN_CHANGES },
};

const inChanges = tagsInChanges(CREATE_TAGS);
const GIVEN = [TAG_IDS, TAG_NAMES, REPLACES].map((part) => ({
  ...{ ...part, change: jointChange, inChanges },
}));
const PARTS = [REMOVED, ...GIVEN];

/** Returns the parts of tags in writes. */
export function tagsOfNotes(resource: Resource): readonly WritePart[] {
  return resource === notes ? PARTS : [];
}
