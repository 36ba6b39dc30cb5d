// The right pages of lists, computed from all records of the list in memory.
import assert from 'node:assert/strict';

/** A record with the number of its last change. */
export interface Listed {
  readonly number: number;
  readonly item: Readonly<Record<string, unknown>> & { readonly id: number };
}

/** The envelope of a page, and the value of its header `link`. */
export interface ExpectedPage {
  readonly body: Readonly<Record<string, unknown>>;
  readonly link: string;
}

const LARGEST_KEY = Number.MAX_SAFE_INTEGER - 1;

const POSITIONS = ['offset', 'after', 'before', 'after_name', 'before_name'];

type Key = number | string;

const compare = (one: Key, other: Key) => (one < other ? -1 : Number(one > other));

/** Returns the page at `url` of the list of `all` records, which the filters have selected. */
export function expectedPage(all: readonly Listed[], url: string): ExpectedPage {
  const [path = '', text = ''] = url.split('?');
  const query = new URLSearchParams(text);
  const numberOf = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined);
  const [offset, limit = 20] = [numberOf('offset'), numberOf('limit')];
  const order = query.get('order') ?? 'id';
  const isByName = order.endsWith('name');
  const suffix = isByName ? '_name' : '';
  const [after, before] = ['after', 'before'].map((name): Key | undefined =>
    isByName ? (query.get(`${name}_name`)?.normalize() ?? undefined) : numberOf(name),
  );
  const sign = order.startsWith('-') ? -1 : 1;
  const keyOf = ({ item, number }: Listed): Key =>
    isByName ? String(item.name) : order.endsWith('updated') ? number : item.id;
  const keys = all.map(keyOf).sort((one, other) => sign * compare(one, other));
  const countUpTo = (key: Key) => keys.filter((each) => sign * compare(each, key) <= 0).length;
  const countBefore = (key: Key) => keys.filter((each) => sign * compare(each, key) < 0).length;

  const end = before === undefined ? undefined : countBefore(before);
  const start =
    end === undefined
      ? after === undefined
        ? (offset ?? 0)
        : countUpTo(after)
      : Math.max(0, end - limit);
  const page = keys.slice(start, end ?? start + limit);
  const byKey = new Map(all.map((each) => [keyOf(each), each.item]));
  const isKeyed = after !== undefined || before !== undefined;
  const body = {
    items: page.map((key) => byKey.get(key)),
    limit,
    ...(isKeyed ? {} : { offset: offset ?? 0 }),
    total: all.length,
  };

  for (const name of POSITIONS) query.delete(name);
  const kept = `${query}`;
  const link = (rel: string, position: string) => {
    const parameters = [kept, position].filter(Boolean).join('&');
    return `<${path}${parameters && '?'}${parameters}>; rel="${rel}"`;
  };
  const isFollowed = start + page.length < keys.length;
  const isPreceded = start > 0 && keys.length > 0;
  const links: string[] = [];
  // In a search, the default is another order.
  if (order !== 'id' || query.has('q') || isKeyed) {
    const clip = (key: number) => Math.min(Math.max(key, 0), LARGEST_KEY);
    const last = page.at(-1) ?? (isByName ? undefined : clip(Number(before) - sign));
    const end = after === undefined ? (sign > 0 ? LARGEST_KEY : 0) : clip(Number(after) + sign);
    const beyond = page[0] ?? (isByName ? undefined : end);
    const at = (name: string, key: Key) =>
      `${new URLSearchParams([[`${name}${suffix}`, String(key)]])}`;
    if (isFollowed && last !== undefined) links.push(link('next', at('after', last)));
    if (isPreceded && beyond !== undefined) links.push(link('prev', at('before', beyond)));
  } else {
    if (isFollowed) links.push(link('next', `offset=${start + limit}`));
    const previous = Math.max(0, Math.min(start, keys.length) - limit);
    if (isPreceded) links.push(link('prev', `offset=${previous}`));
  }
  links.push(link('first', ''));
  if (all.length === 0 && query.has('q')) links.push(link('alternate', 'match=prefix'));
  return { body, link: links.join(', ') };
}

/** Returns the target that a header `link` has for a relation, without the base URL. */
export function linkTo(rel: string, header: unknown, baseUrl: string): string | undefined {
  const target = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(String(header))?.[1];
  assert.ok(target === undefined || target.startsWith(baseUrl), target);
  return target?.slice(baseUrl.length);
}
