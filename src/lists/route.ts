// The lists of a resource: all records, those of their owner, notes of a tag, and tags on a note.
import { endpoint, type Input, parsePathInteger } from '../contract/endpoint.ts';
import { type Bases, fillTemplate, type Ids, notFound } from '../http/paths.ts';
import { jsonReply, type LargeBody, type Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import { checkRead, knownCondition, stateHeaders } from '../records/preconditions.ts';
import { counterpartOf } from '../resources/note-tags.ts';
import { type Resource, searchedFieldsOf } from '../resources/resource.ts';
import type { Query } from '../search/query.ts';
import { snippetEnds } from '../search/snippets.ts';
import { type Memory, PAGES } from '../storage/writer.ts';
import { type Filter, filtersOf, filterValues } from './filters.ts';
import type { Page, Pages } from './pages.ts';
import { checkListQuery, type ListQuery, linkHeader, orderOf, queryOf } from './query.ts';
import type { PageRequest } from './request.ts';

type ListInput = Input<ListQuery & Ids, unknown>;

/** A resource, and what the routes of its lists work with. */
export interface Listed {
  readonly resource: Resource;
  readonly pages: Pages;
  readonly memory: Memory;
  readonly bases: Bases;
}

/** Returns the routes of all lists of a resource. */
export function listRoutes(listed: Listed): Route[] {
  const { resource } = listed;
  const lists = new Lists(listed);
  const all = endpoint('GET', resource.path, (input: ListInput) => {
    const { owner } = resource;
    const path = fillTemplate(resource.path, input.parameters);
    const ownerId = owner && input.parameters[owner.resource.idParameter];
    const { label } = owner?.resource ?? resource;
    return lists.answer(input, path, { owner: ownerId, label });
  });
  const other = counterpartOf(resource);
  if (!other) return [all];
  const template = `${other.path}/{${other.idParameter}}${resource.path}`;
  const ofCounterpart = endpoint('GET', template, (input: ListInput) => {
    // The query may have a filter of the same name.
    const id = parsePathInteger(input.call.pathValues[0] ?? '') ?? 0;
    const path = fillTemplate(template, { [other.idParameter]: id });
    return lists.answer(input, path, { owner: id, isOfCounterpart: true, label: other.label });
  });
  return [all, ofCounterpart];
}

/** Which records a list has: all, those of an owner, those of a tag, or those of a note. */
interface Scope extends Pick<PageRequest, 'owner' | 'isOfCounterpart'> {
  readonly label: string;
}

/** A page as it is sent. */
interface ListText {
  readonly tag: string;
  /** Undefined if the page is large, or if the client knows the state with this tag. */
  readonly text: string | undefined;
  /** A large page, which would displace too much in memory. */
  readonly large?: LargeBody;
  readonly link: readonly string[];
}

/** The page that a request asks for. */
interface Wanted extends PageRequest {
  readonly search: Query | undefined;
  /** The parameters as they were sent. */
  readonly sent: URLSearchParams;
}

class Lists {
  readonly #listed: Listed;
  readonly #filters: Readonly<Record<string, Filter>>;

  constructor(listed: Listed) {
    this.#listed = listed;
    this.#filters = filtersOf(listed.resource);
  }

  answer(input: ListInput, path: string, scope: Scope): Reply | Promise<Reply> {
    const name = `${path}?${input.call.query}`;
    const kept = this.#listed.memory.find<ListText>(PAGES, name);
    // A list in memory is answered at once: a promise would cost more time than that.
    return kept ? replyWith(kept, input) : this.#read(input, path, scope, name);
  }

  async #read(input: ListInput, path: string, scope: Scope, name: string): Promise<Reply> {
    const wanted = this.#parse(input, scope);
    const page = await this.#listed.pages.read(wanted);
    if (!page) throw notFound(scope.label, input.call.pathValues[0]);
    const list = await this.#render(input, path, wanted, page);
    this.#listed.memory.keep(page.revision, PAGES, [[name, list]]);
    return replyWith(list, input);
  }

  /** Throws 422. */
  #parse({ parameters, headers, call }: ListInput, scope: Scope): Wanted {
    const sent = new URLSearchParams(call.query);
    checkListQuery(parameters, sent);
    const { limit, offset, after, before, fields = [], include = [] } = parameters;
    const search = queryOf(parameters);
    return {
      ...scope,
      limit,
      offset,
      after,
      before,
      order: orderOf(parameters),
      filters: this.#filtersIn(parameters, scope, search?.match),
      fields,
      include,
      known: knownCondition(headers),
      check: () => call.ensureSendable(),
      reserve: () => call.reserveLarge(),
      requester: call,
      search,
      sent,
    };
  }

  async #render(input: ListInput, path: string, wanted: Wanted, page: Page): Promise<ListText> {
    const { tag, total, items } = page;
    if (items === undefined) return { tag, text: undefined, link: [] };
    const { limit, offset, after, before, search, include } = wanted;
    const position = after === undefined && before === undefined ? `"offset":${offset},` : '';
    const end = `],"limit":${limit},${position}"total":${total}}`;
    const url = `${this.#listed.bases.baseUrl}${path}`;
    const link = linkHeader(url, wanted.sent, input.parameters, page);
    const names = searchedFieldsOf(this.#listed.resource);
    const ends =
      search && include?.includes('snippet')
        ? await snippetEnds(linesOf(items), names, search, () => input.call.ensureSendable())
        : undefined;
    return typeof items === 'string'
      ? { tag, text: `{"items":[${withEnds(items, ends)}${end}`, link }
      : { tag, text: undefined, large: largeBody(items, ends, end), link };
  }

  /** Returns the values of the filters; a list of notes of a tag, or of its tags, has one more. */
  #filtersIn(given: ListInput['parameters'], { owner, isOfCounterpart }: Scope, match?: string) {
    const parameters: Readonly<Record<string, unknown>> = { ...given, match };
    const other = isOfCounterpart && counterpartOf(this.#listed.resource);
    if (!other) return filterValues(this.#filters, parameters);
    // The path has the same parameter, unless the query has it.
    const sent = parameters[other.idParameter];
    const ids = [owner, ...(Array.isArray(sent) ? sent : [])];
    return filterValues(this.#filters, { ...parameters, [other.idParameter]: ids });
  }
}

function replyWith({ tag, text, large, link }: ListText, { headers }: ListInput): Reply {
  const body = text ?? large ?? '';
  return checkRead(headers, tag) ?? jsonReply(200, body, [...stateHeaders(tag), ...link]);
}

function linesOf(items: string | readonly Buffer[]): readonly (string | Buffer)[] {
  if (typeof items !== 'string') return items;
  return items === '' ? [] : items.split('\n');
}

/** Returns the records in the lines of a text with other ends; the text itself without ends. */
function withEnds(text: string, ends: readonly string[] | undefined): string {
  if (!ends) return text;
  const records = text.split('\n').map((record) => record.slice(0, endOf(record)));
  return ends.map((end, index) => `${records[index]}${end}`).join();
}

/** Returns where the last brace of a record is, which texts may follow. */
function endOf(record: string | Buffer): number {
  const tab = record.indexOf('\t');
  return (tab === -1 ? record.length : tab) - 1;
}

function largeBody(records: readonly Buffer[], ends: readonly string[] | undefined, end: string) {
  const parts = records.flatMap((record, index) => {
    const separator = Buffer.from(index === 0 ? '{"items":[' : ',');
    if (!ends) return [separator, record];
    return [separator, record.subarray(0, endOf(record)), Buffer.from(ends[index] ?? '')];
  });
  return { parts: [...parts, Buffer.from(end)], onSent: () => records.forEach(discard) };
}

/** Frees the memory of a large buffer early: nothing would make Node collect it soon. */
function discard({ buffer, length }: Buffer): void {
  if (length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  // The clone is young garbage, which goes first.
  structuredClone(undefined, { transfer: [buffer] });
}
