// The lists of a resource: all records, those of their owner, notes of a tag, and tags on a note.
import { MessageChannel } from 'node:worker_threads';
import { endpoint, type Input, parsePathInteger } from '../contract/endpoint.ts';
import { type Bases, fillTemplate, type Ids, notFound } from '../http/paths.ts';
import { jsonReply, type LargeBody, type Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import { counterpartOf } from '../resources/note-tags.ts';
import { type Resource, textFieldsOf } from '../resources/resource.ts';
import type { FreshMemory } from '../storage/batches/fresh-memory.ts';
import { type Filter, filtersOf, filterValues } from '../storage/lists/filters.ts';
import type { Pages } from '../storage/lists/pages.ts';
import type { PageRequest } from '../storage/lists/request.ts';
import { checkListQuery, type ListQuery, linkHeader, orderOf, queryOf } from './list-query.ts';
import { checkRead, knownCondition, stateHeaders } from './preconditions.ts';
import { snippetEnds } from './snippets.ts';

/** Takes buffers that must be freed; see `discard`. */
const { port1: closedPort } = new MessageChannel();
closedPort.close();

/** Begins the texts for a snippet at the end of a record; without them, -1 cuts its last brace. */
const TEXTS = ',"snippet":{';

type ListInput = Input<ListQuery & Ids, unknown>;

/** A resource, and what the routes of its lists work with. */
export interface Listed {
  readonly resource: Resource;
  readonly pages: Pages;
  readonly memory: FreshMemory;
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

interface ListText {
  readonly tag: string;
  /** Undefined if the page is large, or if the client knows the state with this tag. */
  readonly text: string | undefined;
  /** A large page, which would displace too much in memory. */
  readonly large?: LargeBody;
  readonly link: readonly string[];
}

class Lists {
  readonly #listed: Listed;
  readonly #filters: Readonly<Record<string, Filter>>;

  constructor(listed: Listed) {
    this.#listed = listed;
    this.#filters = filtersOf(listed.resource);
  }

  answer(input: ListInput, path: string, scope: Scope): Reply | Promise<Reply> {
    const { headers, call } = input;
    const load = (begin: () => void) => this.#load(input, path, scope, begin);
    const list = this.#listed.memory.recall(`${path}?${call.query}`, load);
    const answer = ({ tag, text, large, link }: ListText) =>
      checkRead(headers, tag) ??
      jsonReply(200, text ?? large ?? '', [...stateHeaders(tag), ...link]);
    // A list in memory is answered at once: a promise would cost more time than that.
    return list instanceof Promise ? list.then(answer) : answer(list);
  }

  async #load(input: ListInput, path: string, scope: Scope, begin: () => void): Promise<ListText> {
    const { parameters, headers, call } = input;
    const sent = new URLSearchParams(call.query);
    checkListQuery(parameters, sent);
    const { limit, offset, after, before, fields = [], include = [] } = parameters;
    const search = queryOf(parameters);
    const hasSnippets = include.includes('snippet');
    const page = await this.#listed.pages.read({
      ...scope,
      limit,
      offset,
      after,
      before,
      order: orderOf(parameters),
      filters: this.#filtersIn(parameters, scope, search?.match),
      fields,
      include,
      asLines: hasSnippets,
      known: knownCondition(headers),
      check: () => {
        call.ensureSendable();
        // The search index may have been brought up to date.
        if (search) begin();
      },
      reserve: () => call.reserveLarge(),
      requester: call,
    });
    if (!page) throw notFound(scope.label, call.pathValues[0]);
    const { total, tag, items } = page;
    if (items === undefined) return { tag, text: undefined, link: [] };
    let ends: readonly string[] | undefined;
    if (search && hasSnippets) {
      const texts = textFieldsOf(this.#listed.resource);
      ends = await snippetEnds(texts, recordsIn(items), search, () => call.ensureSendable());
    }
    const isKeyed = after !== undefined || before !== undefined;
    const position = isKeyed ? '' : `"offset":${offset},`;
    const end = `],"limit":${limit},${position}"total":${total}}`;
    const link = linkHeader(`${this.#listed.bases.baseUrl}${path}`, sent, parameters, page);
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

function recordsIn(items: string | readonly Buffer[]): readonly (string | Buffer)[] {
  if (typeof items !== 'string') return items;
  return items === '' ? [] : items.split('\n');
}

/** Returns the records in the lines of a text with other ends; the text itself without ends. */
function withEnds(text: string, ends: readonly string[] | undefined): string {
  if (!ends) return text;
  const records = text.split('\n');
  return ends
    .map((end, index) => `${records[index]?.slice(0, records[index].indexOf(TEXTS))}${end}`)
    .join(',');
}

function largeBody(records: readonly Buffer[], ends: readonly string[] | undefined, end: string) {
  const parts = records.flatMap((record, index) => {
    const separator = Buffer.from(index === 0 ? '{"items":[' : ',');
    if (!ends) return [separator, record];
    const beginning = record.subarray(0, record.indexOf(TEXTS));
    return [separator, beginning, Buffer.from(ends[index] ?? '')];
  });
  return { parts: [...parts, Buffer.from(end)], onSent: () => records.forEach(discard) };
}

/** Frees the memory of a large buffer at once: nothing would make Node collect it soon. */
function discard({ buffer, length }: Buffer): void {
  if (length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  // What is transferred to nobody is freed.
  closedPort.postMessage(undefined, [buffer]);
}
