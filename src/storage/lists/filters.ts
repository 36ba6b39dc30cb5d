// The filters of lists: which value each takes from a request, which records pass, what it costs.
import type { Resource } from '../../resources/resource.ts';
import { linkOf, type ResourceLink } from '../../resources/resources.ts';
import { parseTime } from '../../time.ts';
import { endIdSql } from '../records/named-ends.ts';
import type { Order } from './request.ts';

/** Beyond all times that can be written in RFC 3339. */
const MAX_TIME_MS = 8.64e15;

type Parameters = Readonly<Record<string, unknown>>;

/** Returns the SQL of the value of a filter; `path` leads to a part of it, such as `[0]`. */
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

/** Returns the filters of a resource by name. The first one with a source finds the records. */
export function filtersOf(resource: Resource): Readonly<Record<string, Filter>> {
  const link = linkOf(resource);
  return {
    ...(resource.search && { match: matchFilter(resource.search.table) }),
    ...(link && linkFilters(link)),
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

function equal({ table }: Resource, name: string): Filter {
  return {
    value: (parameters) => parameters[name],
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
      return [after ?? -MAX_TIME_MS, before ?? MAX_TIME_MS];
    },
    condition: (_, value) => `${at} > ${value('[0]')} AND ${at} < ${value('[1]')}`,
    readsRecord: true,
    isSlow: () => true,
    ...(numberBlocks && {
      bounds: {
        key: name === 'created' ? 'id' : 'number',
        isInside: (value) => `${from} > ${value('[0]')} AND ${to} < ${value('[1]')}`,
        isOutside: (value) => `${to} <= ${value('[0]')} OR ${from} >= ${value('[1]')}`,
      },
    }),
  };
}

/** The records linked to one other, to all of several (by id or name), or to none. */
function linkFilters({ link, own, other, isFirst }: ResourceLink): Record<string, Filter> {
  const parameterNames = [other.resource.idParameter, ...(isFirst ? [link.byName.filter] : [])];
  const endsIn = (parameters: Parameters, isAccepted: (count: number) => boolean) => {
    const ends = parameterNames.flatMap((name) => parameters[name] ?? []);
    return isAccepted(ends.length) ? ends : undefined;
  };
  const idSql = (end: string) => (isFirst ? endIdSql(link, end) : end);
  const idOf = (value: FilterValue) => idSql(value('[0]'));
  // Materialized, so that JSON is not parsed and names are not looked up again for each record.
  const withIds = (value: FilterValue) => `
    WITH wanted (id) AS MATERIALIZED
      (SELECT ${idSql('sent.value')} FROM json_each(${value()}) AS sent)`;
  const source = { table: link.table, id: `${link.table}.${own.column}` };
  const found = `${link.table}.${other.column}`;
  const linksOf = (record: string) =>
    `SELECT 1 FROM ${link.table} AS each WHERE each.${own.column} = ${record}`;
  const isLinked = (record: string, value: string) =>
    `EXISTS (${linksOf(record)} AND each.${other.column} = ${value})`;
  const toAll = (record: string, value: FilterValue, known = '0') =>
    `NOT EXISTS (${withIds(value)}
       SELECT 1 FROM wanted WHERE id IS NOT ${known} AND NOT ${isLinked(record, 'wanted.id')})`;
  // The id to which the fewest records are linked.
  const rarest = (value: FilterValue) => `
    (${withIds(value)} SELECT wanted.id FROM wanted
     LEFT JOIN ${link.blocks} ON ${other.column} = wanted.id
     GROUP BY wanted.id ORDER BY coalesce(sum(count), 0) LIMIT 1)`;
  const countsOf = (end: (value: FilterValue) => string) => {
    const where = (value: FilterValue) => `${other.column} = ${end(value)}`;
    return isFirst && { counts: { table: link.blocks, where } };
  };
  return {
    linked: {
      value: (parameters) => endsIn(parameters, (count) => count === 1),
      condition: (record, value) => isLinked(record, idOf(value)),
      isSlow: (order) => order.endsWith('updated'),
      source: {
        ...source,
        where: (value) => `${found} = ${idOf(value)}`,
        ...countsOf(idOf),
        isCounted: isFirst,
      },
    },
    linkedToAll: {
      value: (parameters) => endsIn(parameters, (count) => count > 1),
      condition: toAll,
      isSlow: () => true,
      source: {
        ...source,
        where: (value) => `${found} = ${rarest(value)} AND ${toAll(source.id, value, found)}`,
        ...countsOf(rarest),
      },
    },
    unlinked: {
      value: (parameters) => (parameters[link.unlinkedFilter] === 'true' ? true : undefined),
      condition: (record) => `NOT EXISTS (${linksOf(record)})`,
      countOthers: `SELECT count(DISTINCT ${own.column}) FROM ${link.table}`,
      isSlow: () => true,
    },
  };
}
