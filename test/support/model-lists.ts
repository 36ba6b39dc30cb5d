// The lists that a model asks for: their queries and their records.
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { tags } from '../../src/resources/tags.ts';
import type { Listed } from './page-checks.ts';
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

/** The tags on notes, as `NOTE/TAG`. */
export type NoteTags = ReadonlySet<string>;

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
