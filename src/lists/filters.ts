// The filters of lists: which value each takes from a request, which records pass, what it costs.
import { notes } from '../resources/notes.ts';
import type { Resource } from '../resources/resource.ts';
import { tags } from '../resources/tags.ts';
import { tagIdSql } from '../tags/tagged-notes.ts';
import { parseTime } from '../time.ts';
import type { Order } from './request.ts';

/** Beyond all times that can be written in RFC 3339. */
const MAX_TIME_MS = 8.64e15;

type Parameters = Readonly<Record<string, unknown>>;

/** Returns the SQL of the value of a filter; `path` leads to a part of it, such as `.after`. */
export type FilterValue = (path?: string) => string;

/** A filter of the lists of one resource. */
export interface Filter {
  readonly value: (parameters: Parameters) => unknown;
  /** Missing if the filter is always the source. */
  readonly condition?: (id: string, value: FilterValue) => string;
  readonly readsRecord?: boolean;
  /** What the bounds of the times in a block tell of its records; NULL if they are unknown. */
  readonly bounds?: {
    /** The key whose blocks have the narrowest bounds. */
    readonly key: 'id' | 'number';
    readonly isInside: (value: FilterValue) => string;
    readonly isOutside: (value: FilterValue) => string;
  };
  /** A query that counts the records that do not pass, where it is quicker than the opposite. */
  readonly countOthers?: string;
  /** Whether the time of a page grows with the records, because they are counted or sorted. */
  readonly isSlow: (order: Order) => boolean;
  /** A table with the ids of the records that pass. */
  readonly source?: {
    readonly table: string;
    readonly id: string;
    readonly where: (value: FilterValue) => string;
    /** Counts of at least these records in each block of ids. */
    readonly counts?: { readonly table: string; readonly where: (value: FilterValue) => string };
    /** Whether the counts are those of exactly these records. */
    readonly isCounted?: boolean;
  };
}

const isByChange = (order: Order) => order.endsWith('updated');

/** Returns the filters of a resource by name. The first one with a source finds the records. */
export function filtersOf(resource: Resource): Readonly<Record<string, Filter>> {
  return {
    ...(resource.search && { match: matchFilter(resource.search.table) }),
    ...(resource === notes && tagFilters()),
    ...(resource === tags && { onNote }),
    created: timeFilter(resource, 'created'),
    updated: timeFilter(resource, 'updated'),
    ...Object.fromEntries((resource.filters ?? []).map((name) => [name, equal(resource, name)])),
  };
}

/** Returns the values of the filters that a request uses. */
export function filterValues(
  filters: Readonly<Record<string, Filter>>,
  parameters: Parameters,
): Readonly<Record<string, unknown>> {
  const values = Object.entries(filters).map(([name, { value }]) => [name, value(parameters)]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function matchFilter(table: string): Filter {
  return {
    value: ({ match }) => match,
    isSlow: () => true,
    source: { table, id: `${table}.rowid`, where: (value) => `${table} MATCH ${value()}` },
  };
}

function equal({ table, fields }: Resource, name: string): Filter {
  const isBoolean = fields[name]?.type === 'boolean';
  return {
    value: ({ [name]: sent }) => (isBoolean && sent !== undefined ? sent === 'true' : sent),
    condition: (_, value) => `${table}.${name} = ${value()}`,
    readsRecord: true,
    isSlow: () => false,
  };
}

/** The records with a time between two. */
function timeFilter({ table, numberBlocks }: Resource, name: 'created' | 'updated'): Filter {
  const at = `${table}.${name}_at`;
  const [from, to] = [`${name}_from`, `${name}_to`];
  return {
    value(parameters) {
      const timeAt = (end: string) => parseTime(String(parameters[`${name}_${end}`]));
      const [after, before] = [timeAt('after')?.floor, timeAt('before')?.ceiling];
      if (after === undefined && before === undefined) return undefined;
      return { after: after ?? -MAX_TIME_MS, before: before ?? MAX_TIME_MS };
    },
    condition: (_, value) => `${at} > ${value('.after')} AND ${at} < ${value('.before')}`,
    readsRecord: true,
    isSlow: () => true,
    ...(numberBlocks && {
      bounds: {
        key: name === 'created' ? 'id' : 'number',
        isInside: (value) => `${from} > ${value('.after')} AND ${to} < ${value('.before')}`,
        isOutside: (value) => `${to} <= ${value('.after')} OR ${from} >= ${value('.before')}`,
      },
    }),
  };
}

/** The notes with one tag, with all of several (by id or name), or with none. */
function tagFilters(): Record<string, Filter> {
  const tagsIn = ({ tag_id = [], tag = [] }: Parameters) => [tag_id, tag].flat();
  const idOf = (value: FilterValue) => tagIdSql(value());
  // Materialized, so that JSON is not parsed and names are not looked up again for each record.
  const withIds = (value: FilterValue) => `
    WITH wanted (id) AS MATERIALIZED
      (SELECT ${tagIdSql('sent.value')} FROM json_each(${value()}) AS sent)`;
  const source = { table: 'note_tags', id: 'note_tags.note_id' };
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
      value: (parameters) => (tagsIn(parameters).length > 1 ? undefined : tagsIn(parameters)[0]),
      condition: (note, value) => hasTag(note, idOf(value)),
      isSlow: isByChange,
      source: {
        ...source,
        where: (value) => `note_tags.tag_id = ${idOf(value)}`,
        counts: countsOf(idOf),
        isCounted: true,
      },
    },
    taggedWithAll: {
      value: (parameters) => (tagsIn(parameters).length > 1 ? tagsIn(parameters) : undefined),
      condition: hasAll,
      isSlow: () => true,
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
        `NOT EXISTS (SELECT 1 FROM note_tags AS each WHERE each.note_id = ${note})`,
      countOthers: 'SELECT count(DISTINCT note_id) FROM note_tags',
      isSlow: () => true,
    },
  };
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
    where: (value) => `note_tags.note_id = ${value()}`,
  },
};
