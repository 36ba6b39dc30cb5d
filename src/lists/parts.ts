// All that can be asked of the lists of a resource: what each has, and what features add.
import type { Filter, ListExtension, Order, Parameters } from '../list-extension.ts';
import { type Choice, type Member, ownMembers } from '../records/text.ts';
import type { Resource } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';
import { tagSql } from '../storage/numbers.ts';
import { parseTime, timeSql } from '../time.ts';

export type ListParts = ReturnType<typeof partsOf>;

const bothWays = (name: string, order: Order): Readonly<Record<string, Order>> => ({
  [name]: order,
  [`-${name}`]: { ...order, isDescending: true },
});

/** The orders of all lists; `updated` is the order of the last changes. */
const ORDERS = { ...bothWays('id', { key: 'id' }), ...bothWays('updated', { key: 'number' }) };

/** Beyond all times that can be written in RFC 3339. */
const MAX_TIME_MS = 8.64e15;

/** Returns the parts of the lists of a resource; those of features come first. */
export function partsOf(resource: Resource, extensions: readonly ListExtension[]) {
  const added = extensions.map((extend) => extend(resource));
  const all = <Part>(parts: readonly (Readonly<Record<string, Part>> | undefined)[]) =>
    Object.fromEntries(parts.flatMap((each = {}) => Object.entries(each)));
  const counts = { included: countsOfOwned(resource) };
  const included = all([...added, counts, resource].map((each) => each.included));
  return {
    resource,
    filters: all([...added.map(({ filters }) => filters), ownFilters(resource)]),
    orders: all([...added.map(({ orders }) => orders), ORDERS, sortedBy(resource)]),
    members: membersOf(resource, included),
    computed: added.find(({ computed }) => computed)?.computed,
    counterpart: added.find(({ counterpart }) => counterpart)?.counterpart,
    alternative: added.find(({ alternative }) => alternative)?.alternative,
    checks: added.flatMap(({ check }) => check ?? []),
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

/** Returns the name of the order that parameters ask for or imply. */
export function orderOf({ orders }: Pick<ListParts, 'orders'>, parameters: Parameters): string {
  const isImplied = ([, { impliedBy = '' }]: [string, Order]) =>
    parameters[impliedBy] !== undefined;
  const [implied = 'id'] = Object.entries(orders).find(isImplied) ?? [];
  const order = String(parameters.order ?? implied);
  // The contract may have orders of features that are not there.
  return order in orders ? order : implied;
}

/** Returns the chosen members of a record, in order. */
export function membersIn({ resource, members }: ListParts, { fields, include }: Choice): Member[] {
  const added = Object.entries(members).filter(([name]) => include.includes(name));
  return [...ownMembers(resource, fields), ...added.flatMap(([, each]) => each)];
}

/** Returns the member that is computed from records after the read, if it is chosen. */
export function computedIn({ computed }: Partial<ListParts>, include: readonly string[] = []) {
  return computed && include.includes(computed.name) ? computed : undefined;
}

function sortedBy({ orders = {} }: Resource): Readonly<Record<string, Order>> {
  const scored = Object.entries(orders);
  const both = scored.map(([name, score]) => bothWays(name, { score, readsRecord: true }));
  return Object.assign({}, ...both);
}

/** Returns the SQL of how many records of other resources a record owns. */
function countsOfOwned({ table }: Resource): Readonly<Record<string, string>> {
  const counts: Record<string, string> = {};
  for (const { owner, blocks, table: owned } of RESOURCES)
    if (owner?.resource.table === table)
      counts[`${owned}_count`] = `
      (SELECT coalesce(sum(count), 0) FROM ${blocks} WHERE ${owner.column} = ${table}.id)`;
  return counts;
}

/** Returns the members that each value of `include` adds. */
function membersOf(
  { table }: Resource,
  included: Readonly<Record<string, string>>,
): Readonly<Record<string, Member[]>> {
  const ofOthers = Object.entries(included).map(([name, sql]) => {
    return [name, [{ name, columns: ['id'], sql, dependsOnOthers: true }]] as const;
  });
  const quotedTag = `'"' || ${tagSql(`${table}.number`)} || '"'`;
  return {
    ...Object.fromEntries(ofOthers),
    times: ['created_at', 'updated_at'].map((name) => {
      return { name, columns: [name], sql: timeSql(`${table}.${name}`) };
    }),
    etag: [{ name: 'etag', columns: ['number'], sql: quotedTag }],
  };
}

function ownFilters(resource: Resource): Readonly<Record<string, Filter>> {
  return {
    created: timeFilter(resource, 'created'),
    updated: timeFilter(resource, 'updated'),
    ...Object.fromEntries((resource.filters ?? []).map((name) => [name, equal(resource, name)])),
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
  return {
    value(parameters) {
      const timeAt = (end: string) => parseTime(String(parameters[`${name}_${end}`]));
      const [after, before] = [timeAt('after')?.floor, timeAt('before')?.ceiling];
      if (after === undefined && before === undefined) return undefined;
      return { after: after ?? -MAX_TIME_MS, before: before ?? MAX_TIME_MS };
    },
    condition: (_, value) => `${at} > ${value('.after')} AND ${at} < ${value('.before')}`,
    readsRecord: true,
    ...(numberBlocks && { time: name }),
  };
}
