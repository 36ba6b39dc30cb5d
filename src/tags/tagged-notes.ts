// Notes that are written with their tags, which a request gives by id or by name.
import { CREATED, CREATED_ID } from '../records/creation.ts';
import {
  judgeBy,
  listsOf,
  queriesOf,
  reportsOf,
  type Verdict,
  type WritePart,
} from '../records/parts.ts';
import { bytesWithOwnedSql } from '../records/rewritten.ts';
import { recordSql } from '../records/text.ts';
import {
  type Change,
  changedRows,
  insertSql,
  isTarget,
  newRecords,
  type Stored,
  updating,
} from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import type { FieldValue, Resource } from '../resources/resource.ts';
import { tags } from '../resources/tags.ts';
import { lastIdSql, tagSql } from '../storage/numbers.ts';
import { SET_TIMES } from '../storage/parameter.ts';
import type { Step } from '../storage/step.ts';
import type { WriteKind } from '../storage/writer.ts';
import { readTags } from './bodies.ts';

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

const HAS_TAG = 'EXISTS (SELECT 1 FROM note_tags WHERE note_id = _note AND tag_id = _tag_id)';

/** Tags that are given by id: an unknown one refuses the request. */
const TAG_IDS: WritePart = {
  name: 'tagIds',
  askedBy: ['tag_ids', 'tags'],
  read: readTags,
  lists: { tags_by_id: ['_tag', '_place'] },
  queries: `
    unknown AS (
      SELECT _request, json_group_array(_place) AS places FROM tags_by_id
      WHERE NOT EXISTS (SELECT 1 FROM tags WHERE id = _tag) GROUP BY _request)`,
  accepts: '_position NOT IN (SELECT _request FROM unknown)',
  report: { columns: { request: '_request', places: 'places' }, from: 'FROM unknown' },
  after: {
    tagById: `
      INSERT INTO note_tags (note_id, tag_id)
      SELECT ${CREATED_ID}, _tag FROM tags_by_id ${CREATED} ORDER BY tags_by_id._position`,
  },
  last: { setTimes: SET_TIMES.write },
};

/** Tags that are given by name: new ones are created, in the order in which they first appear. */
const TAG_NAMES: WritePart = {
  name: 'tagNames',
  lists: { tags_by_name: ['_name'] },
  queries: `
    first_names AS (
      SELECT min(_position) AS _place, _request, _name FROM tags_by_name
      WHERE _request IN (SELECT _position FROM accepted)
        AND NOT EXISTS (SELECT 1 FROM tags WHERE name = _name)
      GROUP BY _name),
    new_tags AS (
      SELECT row_number() OVER (ORDER BY _place) - 1 AS _position, _request, _name AS name
      FROM first_names)`,
  report: {
    columns: { request: '_request', first: 'first', last: 'last' },
    from: `FROM (
      SELECT _request, ${lastIdSql('tags')} + min(_position) + 1 AS first,
        ${lastIdSql('tags')} + max(_position) + 1 AS last
      FROM new_tags GROUP BY _request)`,
  },
  after: {
    createTags: insertSql(
      tags,
      newRecords(tags, `FROM (SELECT _position, ${DEFAULTS.join(', ')} FROM new_tags)`),
    ),
    tagByName: `
      INSERT INTO note_tags (note_id, tag_id)
      SELECT ${CREATED_ID}, (SELECT min(id) FROM tags WHERE name = _name)
      FROM tags_by_name ${CREATED} ORDER BY tags_by_name._position`,
  },
  last: { setTimes: SET_TIMES.write },
};

const PARTS = [TAG_IDS, TAG_NAMES];

/** Returns changes of notes and tags; the tags go first, while the condition can be tested. */
function taggedChange(): WriteKind<Change, (Stored & Verdict) | undefined> {
  const given = Object.keys(notes.fields).map((name) => `sent.${name} IS NOT NULL`);
  const isGiven = `(${given.join(' OR ')})`;
  const named = [
    changedRows(notes),
    ...queriesOf(PARTS),
    `target AS (
      SELECT sent._position, ${isGiven} AS _is_given, notes.*
      FROM sent CROSS JOIN notes ON ${isTarget(notes)})`,
    `accepted AS MATERIALIZED (SELECT _position, id FROM target WHERE ${TAG_IDS.accepts})`,
    `chosen AS (
      SELECT id AS _note, _tag AS _tag_id FROM tags_by_id
      JOIN accepted ON accepted._position = _request
      UNION ALL
      SELECT id, (SELECT min(id) FROM tags WHERE name = _name) FROM tags_by_name
      JOIN accepted ON accepted._position = _request)`,
  ].join(',\n    ');
  const step = (write: string): Step => ({ named, write });
  const isChanged = `sent._position IN (SELECT _position FROM accepted) AND ${isGiven}`;
  const text = `iif(_is_given, NULL, ${recordSql(notes)} || '')`;
  const reports = Object.entries(reportsOf(PARTS)).map(([name, sql]) => [
    name,
    `iif(_position = (SELECT min(_position) FROM target), ${sql}, NULL)`,
  ]);
  const steps = {
    before: {
      named,
      returns: { id: 'id', tag: tagSql('number'), text, ...Object.fromEntries(reports) },
      from: 'FROM target AS notes',
    },
    createTags: step(TAG_NAMES.after?.createTags ?? ''),
    untag: step(`
      DELETE FROM note_tags WHERE note_id IN (SELECT id FROM accepted)
        AND (note_id, tag_id) NOT IN (SELECT _note, _tag_id FROM chosen)`),
    tag: step(`
      INSERT INTO note_tags (note_id, tag_id)
      SELECT _note, _tag_id FROM chosen WHERE NOT ${HAS_TAG}`),
    update: updating(notes, true, named, isChanged),
    setTimes: SET_TIMES,
  };
  return {
    steps: () => steps,
    lists: (writes) => ({ sent: writes.flatMap(({ rows }) => rows), ...listsOf(PARTS, writes) }),
    outcomes(writes, { before = [], update = [] }) {
      const judge = judgeBy(before.find(({ tagIds }) => tagIds !== null) ?? {});
      const now = new Map([...before, ...update].map((row) => [row.id, row]));
      return writes.map((write, request) => {
        const row = now.get(write.id);
        if (!row) return undefined;
        return { text: String(row.text), tag: String(row.tag), ...judge(write, request) };
      });
    },
    changes({ id, values }, changed) {
      // Without fields, perhaps nothing changes: the tags may be the same as before.
      const isTagged = values.every((value) => value === null);
      if (!changed || changed.refusal || isTagged) return [];
      const { text, tag } = changed;
      return [[notes.table, id, { text, tag }]];
    },
    rewrites: { bytes: bytesWithOwnedSql(notes), factor: 2 },
  };
}

/** Returns the parts of tags in writes. */
export function tagsOfNotes(resource: Resource): readonly WritePart[] {
  if (resource !== notes) return [];
  const change = taggedChange();
  return PARTS.map((part) => ({ ...part, change }));
}
