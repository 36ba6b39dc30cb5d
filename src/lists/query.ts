// The query of a list: rules across its parameters, and the links to other pages (RFC 8288).
import { validationFailed } from '../contract/endpoint.ts';
import type { Violation } from '../http/problem.ts';
import type { Page } from './pages.ts';
import { type ListParts, orderOf } from './parts.ts';
import type { PageKey, PageRequest } from './request.ts';

export interface ListQuery
  extends Pick<PageRequest, 'limit' | 'order' | 'after' | 'before' | 'fields' | 'include'> {
  readonly offset: number;
  /** Those of filters. */
  readonly [name: string]: unknown;
}

/** What the query of a list must know of its parts. */
export type QueriedParts = Pick<ListParts, 'orders' | 'checks'> & Partial<ListParts>;

/** The most characters of several links: many clients and proxies refuse longer headers. */
const MAX_LINKS_LENGTH = 8_192;

const POSITIONS = ['offset', 'after', 'before', 'after_name', 'before_name'];

/** Returns the keys at which a page begins or ends, if the query has any. */
export function keysIn(
  parts: QueriedParts,
  query: ListQuery,
): Pick<PageRequest, 'after' | 'before'> {
  const { suffix = '' } = parts.orders[orderOf(parts, query)]?.text ?? {};
  const keyAt = (name: string) => {
    const key = query[`${name}${suffix}`];
    return typeof key === 'string' ? key.normalize() : (key as number | undefined);
  };
  return { after: keyAt('after'), before: keyAt('before') };
}

/** Throws 422 for parameters that exclude or need each other; `sent` are those of the request. */
export function checkListQuery(parts: QueriedParts, query: ListQuery, sent: URLSearchParams): void {
  const violations: Violation[] = [];
  const refuse = (field: string, code: string, detail: string) =>
    violations.push({ field, in: 'query', code, detail });
  const isGiven = (name: string) => sent.has(name) && (name !== 'offset' || query.offset > 0);
  const [position = '', second] = POSITIONS.filter(isGiven);
  if (second) refuse(second, 'oneOf', `must not be combined with ${position}`);
  const order = orderOf(parts, query);
  const { key, impliedBy, text: { suffix = '' } = {} } = parts.orders[order] ?? {};
  const keys = key ? [`after${suffix}`, `before${suffix}`] : [];
  if (impliedBy && query[impliedBy] === undefined)
    refuse('order', 'dependentRequired', `must not be ${order} without ${impliedBy}`);
  else if (position && position !== 'offset' && !keys.includes(position)) {
    const why = impliedBy ? `, which ${impliedBy} implies` : '';
    refuse(position, 'oneOf', `must not be combined with the order ${order}${why}`);
  }
  violations.push(...parts.checks.flatMap((check) => check(query) ?? []));
  if (violations.length > 0) throw validationFailed(violations);
}

/** Returns the header with the links from a page to others, or to some if they are too long. */
export function linkHeader(
  url: string,
  parts: QueriedParts,
  query: Pick<ListQuery, 'limit' | 'offset'>,
  sent: URLSearchParams,
  { total, keys }: Pick<Page, 'total' | 'keys'>,
): string[] {
  for (const name of POSITIONS) sent.delete(name);
  const kept = sent.toString();
  const links: string[] = [];
  const add = (rel: string, position: string, value: PageKey | undefined) => {
    if (value === undefined) return;
    const start = new URLSearchParams([[position, `${value}`]]);
    links.push(`<${url}?${kept}${kept && '&'}${start}>; rel="${rel}"`);
  };
  if (keys) {
    const { isDescending, text: { suffix = '' } = {} } = parts.orders[orderOf(parts, query)] ?? {};
    add('next', `after${suffix}`, isDescending ? keys.low : keys.high);
    add('prev', `before${suffix}`, isDescending ? keys.high : keys.low);
  } else {
    const { limit, offset } = query;
    add('next', 'offset', offset + limit < total ? offset + limit : undefined);
    const isPreceded = offset > 0 && total > 0;
    add('prev', 'offset', isPreceded ? Math.max(0, Math.min(offset, total) - limit) : undefined);
  }
  links.push(`<${url}${kept && `?${kept}`}>; rel="first"`);
  const added = total === 0 && parts.alternative?.(query);
  if (added) links.push(`<${url}?${kept}${kept && '&'}${added}>; rel="alternate"`);
  while (links.length > 1 && links.join(', ').length > MAX_LINKS_LENGTH) links.pop();
  return ['link', links.join(', ')];
}
