// The lists that a model asks for: their queries, the faults in these, and their records.

import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { tags } from '../../src/resources/tags.ts';
import { maxLengthOf } from './collections.ts';
import type { Listed } from './right-pages.ts';
import { queryFor, scan, type Term } from './search.ts';

/** The parameters of a list as texts of the URL; a list has some of them. */
export interface ListParameters {
  readonly limit: string | undefined;
  readonly offset: string | undefined;
  readonly after: string | undefined;
  readonly before: string | undefined;
  readonly order: string | undefined;
  readonly include: readonly string[];
  /** The ids of tags of notes. */
  readonly tag_id: readonly string[];
  readonly untagged: string | undefined;
  /** The name of tags. */
  readonly name: string | undefined;
  /** The words of notes. */
  readonly words: readonly Term[];
}

/** A violated rule of the query: the name of the parameter, and the code. */
export type QueryFault = readonly ['query', field: string, code: string];

/** The tags on notes, as `NOTE/TAG`. */
export type NoteTags = ReadonlySet<string>;

const ORDERS = ['id', '-id', 'updated', '-updated'];

/** Returns the members that records can have besides their fields. */
export function membersOf(resource: Resource): readonly string[] {
  if (resource === notes) return ['tag_ids', 'times'];
  return resource === tags ? ['notes_count', 'times'] : ['times'];
}

/** Returns the query of a list, with the question mark. */
export function listQuery(resource: Resource, list: ListParameters): string {
  const { limit, offset, after, before, include, tag_id, untagged, name } = list;
  const pairs: [string, string | undefined][] = [
    ['limit', limit],
    ['after', after],
    ['order', orderIn(resource, list)],
    ...(resource === notes ? tag_id.map((id): [string, string] => ['tag_id', id]) : []),
    ['untagged', resource === notes ? untagged : undefined],
    ['name', resource === tags ? name : undefined],
    ['q', isSearch(resource, list) ? queryFor(list.words) : undefined],
    ['include', include.length > 0 ? include.join(',') : undefined],
    ['before', before],
    ['offset', offset],
  ];
  const sent = pairs.filter(([, text]) => text !== undefined);
  const query = sent.map(([key, text = '']) => `${key}=${encodeURIComponent(text)}`).join('&');
  return query && `?${query}`;
}

/** Ranks are not foretold: a search has another order. */
function orderIn(resource: Resource, list: ListParameters): string | undefined {
  return list.order ?? (isSearch(resource, list) ? 'id' : undefined);
}

function isSearch(resource: Resource, { words }: ListParameters): boolean {
  return resource === notes && words.length > 0;
}

/** Returns the faults in the members that records shall have, of which there are `most`. */
export function includeFaults(
  resource: Resource,
  include: readonly string[],
  most = membersOf(resource).length,
): QueryFault[] {
  const members = membersOf(resource);
  const unknown = include.filter((member) => !members.includes(member));
  const faults = unknown.map((): QueryFault => ['query', 'include', 'enum']);
  return include.length > most ? [...faults, ['query', 'include', 'maxItems']] : faults;
}

/**
 * Returns the faults in the query of a list, in no order. Those of several parameters are reported
 * only if there are no others.
 */
export function listFaults(
  resource: Resource,
  list: ListParameters,
  hasOthers: boolean,
): QueryFault[] {
  const { limit, offset, after, before, order, tag_id, untagged, name } = list;
  const faults: QueryFault[] = [];
  const add = (field: string, code: string | undefined) =>
    code !== undefined && faults.push(['query', field, code]);
  add('limit', integerFault(limit, 1, 100));
  add('offset', integerFault(offset, 0, Number.MAX_SAFE_INTEGER));
  for (const [field, text] of Object.entries({ after, before }))
    add(field, integerFault(text, 0, Number.MAX_SAFE_INTEGER - 1));
  add('order', order === undefined || ORDERS.includes(order) ? undefined : 'enum');
  // Lists of notes can have snippets too.
  const most = membersOf(resource).length + (resource === notes ? 1 : 0);
  faults.push(...includeFaults(resource, list.include, most));
  if (resource === notes) {
    for (const id of tag_id) add('tag_id', integerFault(id, 1, Number.POSITIVE_INFINITY));
    add('tag_id', tag_id.length > 10 ? 'maxItems' : undefined);
    add('untagged', untagged === undefined || untagged === 'true' ? undefined : 'enum');
  }
  if (resource === tags && name !== undefined) {
    add('name', [...name].length > maxLengthOf(tags, 'name') ? 'maxLength' : undefined);
    add('name', name.trim() === '' ? 'pattern' : undefined);
  }
  if (faults.length > 0 || hasOthers) return faults;
  const [, second] = Object.entries({ offset, after, before }).filter(([, text]) => text);
  add(second?.[0] ?? '', second && 'oneOf');
  return faults;
}

/** Returns the code of the fault in the text of an integer. */
export function integerFault(
  text: string | undefined,
  least: number,
  most: number,
): string | undefined {
  if (text === undefined) return undefined;
  if (!/^-?[0-9]+$/.test(text)) return 'type';
  if (Number(text) < least) return 'minimum';
  return Number(text) > most ? 'maximum' : undefined;
}

/** Returns the records that the filters of a list select. */
export function selected(
  resource: Resource,
  list: ListParameters,
  records: readonly Listed[],
  noteTags: NoteTags,
): Listed[] {
  if (resource === tags && list.name !== undefined)
    return records.filter(({ item }) => item.name === list.name);
  if (resource !== notes) return [...records];
  const { tag_id, untagged, words } = list;
  const linked = records.filter(({ item: { id } }) => {
    if (untagged !== undefined && tagsOf(noteTags, id).length > 0) return false;
    return tag_id.every((tag) => noteTags.has(`${id}/${Number(tag)}`));
  });
  if (words.length === 0) return linked;
  const texts = linked.map(({ item }) => [String(item.title), String(item.body)] as const);
  return scan(texts, words).flatMap((index) => linked[index] ?? []);
}

/** Returns a record with the members that `include` adds, except for times. */
export function withMembers(
  item: Listed['item'],
  include: readonly string[],
  noteTags: NoteTags,
): Listed['item'] {
  const { id } = item;
  return {
    ...item,
    ...(include.includes('tag_ids') && { tag_ids: tagsOf(noteTags, id) }),
    ...(include.includes('notes_count') && { notes_count: notesOf(noteTags, id).length }),
  };
}

function tagsOf(noteTags: NoteTags, note: number): number[] {
  return pairsOf(noteTags).flatMap(([one, other]) => (one === note ? [other] : []));
}

/** Returns the ids of the notes with a tag. */
function notesOf(noteTags: NoteTags, tag: number): number[] {
  return pairsOf(noteTags).flatMap(([one, other]) => (other === tag ? [one] : []));
}

function pairsOf(noteTags: NoteTags): (readonly [number, number])[] {
  const pairs = [...noteTags].map((pair) => pair.split('/').map(Number));
  return pairs
    .map(([note = 0, tag = 0]) => [note, tag] as const)
    .sort(([, one], [, other]) => one - other);
}
