// The lists of the records of a resource: of all, of those that a record owns, and of those
// that are linked to a record.
import { endpoint, type Input, parsePathInteger } from '../contract/endpoint.ts';
import { discard } from '../http/body/discard.ts';
import { jsonReply, type LargeBody, type Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import { whenReady } from '../http/when-ready.ts';
import { type Resource, textFieldsOf } from '../resources/resource.ts';
import { linkOf } from '../resources/resources.ts';
import type { FreshMemory } from '../storage/batches/fresh-memory.ts';
import type { PageRequest } from '../storage/lists/request.ts';
import type { Table } from '../storage/records/table.ts';
import type { Bases } from './bases.ts';
import { checkListQuery, type ListQuery, linkHeader, orderOf, queryOf } from './list-query.ts';
import { checkRead, knownCondition, stateHeaders } from './preconditions.ts';
import { fillTemplate, type Ids, notFound } from './record-paths.ts';
import { Snippets } from './snippets.ts';

type ListInput = Input<ListQuery & Ids, unknown>;

/** Returns the routes of all lists of `resource`, whose links between pages have absolute URLs. */
export function listRoutes(
  resource: Resource,
  table: Table,
  memory: FreshMemory,
  { baseUrl }: Bases,
): Route[] {
  const lists = new Lists(resource, table, memory, baseUrl);
  const all = endpoint<ListQuery & Ids>('GET', resource.path, (input) => lists.list(input));
  const other = linkOf(resource)?.other.resource;
  if (!other) return [all];
  const template = `${other.path}/{${other.idParameter}}${resource.path}`;
  const linked = endpoint<ListQuery & Ids>('GET', template, (input) =>
    lists.listLinked(input, template, other),
  );
  return [all, linked];
}

/** What a list contains, and the label of the record that it belongs to. */
interface Scope extends Pick<PageRequest, 'owner' | 'linkedTo' | 'isOfLinked'> {
  readonly label: string;
}

/** A list as it is sent. */
interface ListText {
  readonly tag: string;
  /** Undefined if the page is large, or if the client knows the state with this tag. */
  readonly text: string | undefined;
  /** A large page, which would displace too much in memory. */
  readonly large?: LargeBody;
  readonly link: readonly string[];
}

/** The handlers of the lists of one resource. */
class Lists {
  readonly #resource: Resource;
  readonly #table: Table;
  readonly #memory: FreshMemory;
  readonly #baseUrl: string;
  readonly #snippets: Snippets;

  constructor(resource: Resource, table: Table, memory: FreshMemory, baseUrl: string) {
    this.#snippets = new Snippets(textFieldsOf(resource));
    this.#resource = resource;
    this.#table = table;
    this.#memory = memory;
    this.#baseUrl = baseUrl;
  }

  list(input: ListInput): Reply | Promise<Reply> {
    const { path, owner, label } = this.#resource;
    const scope = owner
      ? { owner: input.parameters[owner.resource.idParameter], label: owner.resource.label }
      : { label };
    return this.#answer(input, fillTemplate(path, input.parameters), scope);
  }

  /** Lists the records that are linked to the record of `other` in the path. */
  listLinked(input: ListInput, template: string, other: Resource): Reply | Promise<Reply> {
    // Not from the parameters: the query may have a filter of the same name.
    const id = parsePathInteger(input.call.pathValues[0] ?? '') ?? 0;
    const path = fillTemplate(template, { [other.idParameter]: id });
    return this.#answer(input, path, { linkedTo: [id], isOfLinked: true, label: other.label });
  }

  #answer(input: ListInput, path: string, scope: Scope): Reply | Promise<Reply> {
    const { headers, call } = input;
    const load = (begin: () => void) => this.#load(input, path, scope, begin);
    const list = this.#memory.recall(`${path}?${call.query}`, load);
    return whenReady(
      list,
      ({ tag, text, large = '', link }) =>
        checkRead(headers, tag) ?? jsonReply(200, text ?? large, [...stateHeaders(tag), ...link]),
    );
  }

  async #load(
    input: ListInput,
    path: string,
    { label, ...scope }: Scope,
    begin: () => void,
  ): Promise<ListText> {
    const { parameters, headers, call } = input;
    const sent = new URLSearchParams(call.query);
    checkListQuery(parameters, sent);
    const { limit, offset, after, before, include = [] } = parameters;
    const search = queryOf(parameters);
    const { linkedTo, isUnlinked } = this.#linkFilters(parameters);
    const hasSnippets = include.includes('snippet');
    const page = await this.#table.page({
      ...scope,
      limit,
      offset,
      after,
      before,
      order: orderOf(parameters),
      linkedTo: [...(scope.linkedTo ?? []), ...linkedTo],
      isUnlinked,
      equal: this.#filters(parameters),
      match: search?.match,
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
    if (!page) throw notFound(label, call.pathValues[0]);
    const { total, tag, items } = page;
    if (items === undefined) return { tag, text: undefined, link: [] };
    const records =
      search && hasSnippets
        ? await this.#snippets.add(items, search, () => call.ensureSendable())
        : items;
    const isKeyed = after !== undefined || before !== undefined;
    const position = isKeyed ? '' : `"offset":${offset},`;
    const end = `],"limit":${limit},${position}"total":${total}}`;
    const link = linkHeader(`${this.#baseUrl}${path}`, sent, parameters, page);
    if (typeof records === 'string') return { tag, text: `{"items":[${records}${end}`, link };
    const body = Buffer.isBuffer(records) ? [records] : records;
    const parts = [Buffer.from('{"items":['), ...body, Buffer.from(end)];
    return { tag, text: undefined, large: { parts, onSent: () => discard(items) }, link };
  }

  /** Returns the links that the query requires of records, and whether they must have none. */
  #linkFilters(parameters: Readonly<Record<string, unknown>>) {
    const { link } = linkOf(this.#resource) ?? {};
    if (!link) return { linkedTo: [], isUnlinked: false };
    // Lists of second records lack these parameters.
    const ids = parameters[link.ends[1].resource.idParameter] as readonly number[] | undefined;
    return { linkedTo: ids ?? [], isUnlinked: parameters[link.unlinkedFilter] !== undefined };
  }

  /** Returns the values that the query requires of fields. */
  #filters(parameters: Readonly<Record<string, unknown>>): Record<string, string> {
    const { filters = [] } = this.#resource;
    const given = filters.filter((name) => parameters[name] !== undefined);
    return Object.fromEntries(given.map((name) => [name, String(parameters[name])]));
  }
}
