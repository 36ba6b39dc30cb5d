// The query of a list: rules across its parameters, and the links to other pages (RFC 8288).
import { validationFailed } from '../contract/endpoint.ts';
import { MAX_TAG_FILTERS, QUERY_BOUNDS } from '../contract/generated.js';
import type { Violation } from '../http/problem.ts';
import { parseQuery, type Query } from '../search/query.ts';
import type { Page } from './pages.ts';
import type { Order, PageRequest } from './request.ts';

/** The parameters of a list for which there are rules. Each list has some of the optional ones. */
export interface ListQuery
  extends Pick<PageRequest, 'limit' | 'order' | 'after' | 'before' | 'fields' | 'include'> {
  readonly offset: number;
  readonly q?: string;
  readonly tag?: readonly string[];
  readonly tag_id?: readonly number[];
}

/** The most characters of several links: many clients and proxies refuse longer headers. */
const MAX_LINKS_LENGTH = 8_192;

const POSITIONS = ['offset', 'after', 'before'];

/** Returns the order of a list: in a search, the best match comes first. */
export function orderOf({ order, q }: ListQuery): Order {
  return order ?? (q === undefined ? 'id' : 'rank');
}

/** Returns what the parameter `q` asks for, if there is one. Throws 422. */
export function queryOf({ q }: ListQuery): Query | undefined {
  if (q === undefined) return undefined;
  const query = parseQuery(q, QUERY_BOUNDS);
  if (!('fault' in query)) return query;
  throw validationFailed([{ field: 'q', in: 'query', code: 'words', detail: query.fault }]);
}

/** Throws 422 for parameters that exclude or need each other; `sent` are those of the request. */
export function checkListQuery(query: ListQuery, sent: URLSearchParams): void {
  const { q, include = [], tag = [], tag_id: tagIds = [] } = query;
  const violations: Violation[] = [];
  const refuse = (field: string, code: string, detail: string) =>
    violations.push({ field, in: 'query', code, detail });
  const isGiven = (name: string) => sent.has(name) && (name !== 'offset' || query.offset > 0);
  const [position = '', second] = POSITIONS.filter(isGiven);
  if (second) refuse(second, 'oneOf', `must not be combined with ${position}`);
  if (orderOf(query) === 'rank') {
    if (q === undefined) refuse('order', 'dependentRequired', 'must not be rank without q');
    else if (position === 'after' || position === 'before')
      refuse(position, 'oneOf', 'must not be combined with the order rank, which q implies');
  }
  if (tag.length + tagIds.length > MAX_TAG_FILTERS)
    refuse('tag', 'maxItems', `must have at most ${MAX_TAG_FILTERS} items together with tag_id`);
  if (q === undefined && include.includes('snippet'))
    refuse('include', 'dependentRequired', 'must not contain snippet without q');
  if (violations.length > 0) throw validationFailed(violations);
}

/** Returns the header with the links from a page to others, or to some if they are too long. */
export function linkHeader(
  url: string,
  sent: URLSearchParams,
  query: ListQuery,
  { total, keys }: Page,
): string[] {
  for (const name of POSITIONS) sent.delete(name);
  const kept = sent.toString();
  const links: string[] = [];
  const add = (rel: string, position: string, value: number | undefined) => {
    if (value !== undefined)
      links.push(`<${url}?${kept}${kept && '&'}${position}=${value}>; rel="${rel}"`);
  };
  if (keys) {
    const isRising = !orderOf(query).startsWith('-');
    add('next', 'after', isRising ? keys.high : keys.low);
    add('prev', 'before', isRising ? keys.low : keys.high);
  } else {
    const { limit, offset } = query;
    add('next', 'offset', offset + limit < total ? offset + limit : undefined);
    const isPreceded = offset > 0 && total > 0;
    add('prev', 'offset', isPreceded ? Math.max(0, Math.min(offset, total) - limit) : undefined);
  }
  links.push(`<${url}${kept && `?${kept}`}>; rel="first"`);
  while (links.length > 1 && links.join(', ').length > MAX_LINKS_LENGTH) links.pop();
  return ['link', links.join(', ')];
}
