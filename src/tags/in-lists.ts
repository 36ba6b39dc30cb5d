// What tags add to lists: the notes with tags, the tags on a note, and both as included members.
import { MAX_TAG_FILTERS } from '../contract/generated.js';
import type { Violation } from '../http/problem.ts';
import type { Filter, FilterValue, ListExtension, Order, Parameters } from '../list-extension.ts';
import { notes } from '../resources/notes.ts';
import { tags } from '../resources/tags.ts';
import { tagIdSql } from './tagged-notes.ts';

/** The filters, members and rules of tags. */
export const inLists: ListExtension = (resource) => {
  if (resource === notes)
    return {
      filters: { ...tagFilters(), ...notTagFilters() },
      included: TAGS_OF_NOTE,
      counterpart: tags,
      check: checkTagFilters,
    };
  if (resource !== tags) return {};
  return { filters: { onNote }, included: { notes_count: NOTES_COUNT }, counterpart: notes };
};

const TAGS_OF_NOTE = {
  tag_ids: `
      json((SELECT json_group_array(tag_id) FROM (
        SELECT tag_id FROM note_tags WHERE note_id = notes.id AND ${isThere('tag_id')}
        ORDER BY tag_id)))`,
  // A shared name is listed once, so that the list can be sent back.
  tags: `
      json((SELECT json_group_array(name) FROM (
        SELECT tags.name AS name FROM note_tags CROSS JOIN tags ON tags.id = tag_id
        WHERE note_id = notes.id GROUP BY name ORDER BY min(tag_id))))`,
};

const NOTES_COUNT = `
      (SELECT coalesce(sum(count), 0) FROM note_tag_blocks WHERE tag_id = tags.id)`;

const isByChange = ({ key }: Order) => key === 'number';

function checkTagFilters(parameters: Parameters): Violation | undefined {
  for (const field of ['tag', 'not_tag']) {
    // An id in the path is no array.
    const lists = [parameters[field], parameters[`${field}_id`]].filter(Array.isArray);
    const detail = `must have at most ${MAX_TAG_FILTERS} items together with ${field}_id`;
    if (lists.flat().length > MAX_TAG_FILTERS)
      return { field, in: 'query', code: 'maxItems', detail };
  }
  return undefined;
}

const tagsIn = ({ tag_id = [], tag = [] }: Parameters) => [tag_id, tag].flat();
const othersIn = ({ not_tag_id: tag_id, not_tag: tag }: Parameters) => tagsIn({ tag_id, tag });

const onlyOne = (all: readonly unknown[]) => (all.length === 1 ? all[0] : undefined);
const several = (all: readonly unknown[]) => (all.length > 1 ? all : undefined);

const idOf = (value: FilterValue) => tagIdSql(value());

// Materialized, so that JSON is not parsed and names are not looked up again for each record.
const withIds = (value: FilterValue) => `
    WITH wanted (id) AS MATERIALIZED
      (SELECT ${tagIdSql('sent.value')} FROM json_each(${value()}) AS sent)`;

/** The notes with one tag, with all of several (by id or name), or with none. */
function tagFilters(): Record<string, Filter> {
  const source = { table: 'note_tags', id: 'note_tags.note_id', keys: ['id'] } as const;
  const hasAll = (note: string, value: FilterValue, known = '0') =>
    `NOT EXISTS (${withIds(value)}
       SELECT 1 FROM wanted WHERE id IS NOT ${known} AND NOT ${hasTag(note, 'wanted.id')})`;
  // The tag with the fewest notes.
  const rarest = (value: FilterValue) => `
    (${withIds(value)} SELECT wanted.id FROM wanted
     LEFT JOIN note_tag_blocks ON tag_id = wanted.id
     GROUP BY wanted.id ORDER BY coalesce(sum(count), 0) LIMIT 1)`;
  const countsOf = (tag: (value: FilterValue) => string) => ({
    table: 'note_tag_blocks',
    where: (value: FilterValue) => `tag_id = ${tag(value)}`,
  });
  return {
    tagged: {
      value: (parameters) => onlyOne(tagsIn(parameters)),
      condition: (note, value) => hasTag(note, idOf(value)),
      isSlow: isByChange,
      source: {
        ...source,
        where: (value) => `note_tags.tag_id = ${idOf(value)}`,
        counts: countsOf(idOf),
        isCounted: true,
      },
      countInBlock: (blocks, value) => countIn(blocks, idOf(value)),
    },
    taggedWithAll: {
      value: (parameters) => several(tagsIn(parameters)),
      condition: hasAll,
      source: {
        ...source,
        where: (value) =>
          `note_tags.tag_id = ${rarest(value)} AND ${hasAll(source.id, value, 'note_tags.tag_id')}`,
        counts: countsOf(rarest),
      },
    },
    untagged: {
      value: ({ untagged }) => (untagged === 'true' ? true : undefined),
      condition: (note) =>
        `NOT EXISTS (SELECT 1 FROM note_tags AS each
           WHERE each.note_id = ${note} AND ${isThere('each.tag_id')})`,
      // It takes a third of the time while no tag is being erased.
      countOthers: () => `
        SELECT iif(EXISTS (SELECT 1 FROM erased_records WHERE type = 'tag'),
          (SELECT count(DISTINCT note_id) FROM note_tags WHERE ${isThere('tag_id')}),
          (SELECT count(DISTINCT note_id) FROM note_tags))`,
    },
  };
}

/** The notes without one tag, or without any of several. */
function notTagFilters(): Record<string, Filter> {
  return {
    notTagged: {
      value: (parameters) => onlyOne(othersIn(parameters)),
      condition: (note, value) => `NOT ${hasTag(note, idOf(value))}`,
      countInBlock: (blocks, value) => `${blocks}.count - ${countIn(blocks, idOf(value))}`,
    },
    taggedWithNone: {
      value: (parameters) => several(othersIn(parameters)),
      condition: (note, value) =>
        `NOT EXISTS (${withIds(value)} SELECT 1 FROM wanted WHERE ${hasTag(note, 'wanted.id')})`,
      countOthers: (value) => `
        ${withIds(value)}
        SELECT count(DISTINCT note_id) FROM note_tags WHERE tag_id IN (SELECT id FROM wanted)`,
    },
  };
}

/** Returns the SQL of the number of notes with a tag in a block. */
function countIn(blocks: string, tag: string): string {
  return `coalesce((
    SELECT each.count FROM note_tag_blocks AS each
    WHERE each.tag_id = ${tag} AND each.block = ${blocks}.block), 0)`;
}

/** Returns the SQL condition that a tag on a note is not erased. */
function isThere(tagId: string): string {
  return `NOT EXISTS (
    SELECT 1 FROM erased_records AS gone WHERE gone.type = 'tag' AND gone.id = ${tagId})`;
}

function hasTag(note: string, tag: string): string {
  return `
    EXISTS (SELECT 1 FROM note_tags AS each WHERE each.note_id = ${note} AND each.tag_id = ${tag})`;
}

/** The tags on a note. */
const onNote: Filter = {
  value: ({ note_id }) => [note_id].flat()[0],
  condition: (tag, value) => hasTag(value(), tag),
  isSlow: isByChange,
  source: {
    table: 'note_tags',
    id: 'note_tags.tag_id',
    keys: ['id'],
    where: (value) => `note_tags.note_id = ${value()} AND ${isThere('note_tags.tag_id')}`,
  },
};
