// The lists of a resource: all records, those of their owner, notes of a tag, and tags on a note.

import {
  endpoint,
  type Input,
  parsePathInteger,
  type RequestHeaders,
} from '../contract/endpoint.ts';
import { preferredType } from '../http/accept.ts';
import { JSON_LINES } from '../http/body/formats.ts';
import { type Bases, fillTemplate, type Ids, notFound } from '../http/paths.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import { type Condition, isOneOf } from '../records/condition.ts';
import { checkRead, stateHeaders, TAG } from '../records/preconditions.ts';
import { type Memory, PAGES } from '../storage/writer.ts';
import type { Page, Pages } from './pages.ts';
import { computedIn, filterValues, type ListParts, orderOf } from './parts.ts';
import { checkListQuery, keysIn, type ListQuery, linkHeader } from './query.ts';
import { LINES_ENDING, type PageRequest } from './request.ts';

type ListInput = Input<ListQuery & Ids, unknown>;

/** The lists of a resource, and what their routes work with. */
export interface Listed {
  readonly pages: Pages;
  readonly memory: Memory;
  readonly bases: Bases;
}

/** Returns the routes of all lists of a resource. */
export function listRoutes(listed: Listed): Route[] {
  const { resource, counterpart: other } = listed.pages.parts;
  const all = endpoint('GET', resource.path, (input: ListInput) => {
    const { owner } = resource;
    const path = owner ? fillTemplate(resource.path, input.parameters) : resource.path;
    const ownerId = owner && input.parameters[owner.resource.idParameter];
    const { label } = owner?.resource ?? resource;
    return answer(listed, input, { path, owner: ownerId, label });
  });
  if (!other) return [all];
  const template = `${other.path}/{${other.idParameter}}${resource.path}`;
  const ofCounterpart = endpoint('GET', template, (input: ListInput) => {
    // The query may have a filter of the same name.
    const id = parsePathInteger(input.call.pathValues[0] ?? '') ?? 0;
    const path = fillTemplate(template, { [other.idParameter]: id });
    return answer(listed, input, { path, owner: id, isOfCounterpart: true, label: other.label });
  });
  return [all, ofCounterpart];
}

/** Which records a list has: all, those of an owner, of a tag, or of a note. */
interface Scope extends Pick<PageRequest, 'owner' | 'isOfCounterpart'> {
  readonly path: string;
  readonly label: string;
}

/** A page as it is sent. */
interface ListText {
  readonly tag: string;
  /** Undefined if the page is large, or if the client knows the state with this tag. */
  readonly text: string | undefined;
  /** A large page, which would displace too much in memory. */
  readonly large?: readonly Buffer[];
  readonly link: readonly string[];
}

async function answer(
  { pages, memory, bases }: Listed,
  input: ListInput,
  scope: Scope,
): Promise<Reply> {
  const { parameters, headers, call } = input;
  const isLines = preferredType(call.headers.accept, [JSON_LINES]) !== undefined;
  const name = `${isLines ? JSON_LINES : ''}${scope.path}?${call.query}`;
  const known = memory.find<ListText>(PAGES, name);
  if (known) return replyWith(known, input);
  const { limit, offset, fields = [], include = [] } = parameters;
  const sent = new URLSearchParams(call.query);
  checkListQuery(pages.parts, parameters, sent);
  const page = await pages.read({
    ...scope,
    isLines,
    limit,
    offset,
    ...keysIn(pages.parts, parameters),
    order: orderOf(pages.parts, parameters),
    filters: filtersIn(pages.parts, parameters, scope),
    fields,
    include,
    known: knownCondition(headers),
    call,
  });
  if (!page) throw notFound(scope.label, call.pathValues[0]);
  const link = linkHeader(`${bases.baseUrl}${scope.path}`, pages.parts, parameters, sent, page);
  const list = { tag: page.tag, link, ...(await bodyOf(page, pages.parts, input)) };
  memory.keep(page.revision, PAGES, [[name, list]]);
  return replyWith(list, input);
}

/** Returns the values of the filters; a list of notes of a tag, or of its tags, has one more. */
function filtersIn(
  { filters, counterpart: other }: ListParts,
  parameters: ListInput['parameters'],
  { owner, isOfCounterpart }: Scope,
) {
  if (!isOfCounterpart || !other) return filterValues(filters, parameters);
  // The path has the same parameter, unless the query has it.
  const sent = parameters[other.idParameter];
  const ids = [owner, ...(Array.isArray(sent) ? sent : [])];
  return filterValues(filters, { ...parameters, [other.idParameter]: ids });
}

/** Resolves with the text of a page, or its bytes; with neither if the client knows its tag. */
async function bodyOf(
  { tag, items, total }: Page,
  parts: ListParts,
  input: ListInput,
): Promise<Pick<ListText, 'text' | 'large'>> {
  if (items === undefined) return { text: undefined };
  const { limit, offset } = input.parameters;
  const { after, before } = keysIn(parts, input.parameters);
  const position = after === undefined && before === undefined ? `"offset":${offset},` : '';
  const [start, separator, end] = tag.endsWith(LINES_ENDING)
    ? ['', '\n', items.length > 0 ? '\n' : '']
    : ['{"items":[', ',', `],"limit":${limit},${position}"total":${total}}`];
  const records = await recordsOf(items, parts, input);
  const separated = records.flatMap((each, index) => (index > 0 ? [separator, ...each] : each));
  const pieces = [start, ...separated, end];
  if (typeof items === 'string') return { text: pieces.join('') };
  const large = pieces.map((each) => (typeof each === 'string' ? Buffer.from(each) : each));
  return { text: undefined, large };
}

function replyWith({ tag, text, large, link }: ListText, { headers }: ListInput): Reply {
  const known = checkRead(headers, tag, 'vary', 'accept');
  if (known) return known;
  const all = [...stateHeaders(tag), 'vary', 'accept', ...link];
  const reply = jsonReply(200, text ?? large ?? '', all);
  const isLines = tag.endsWith(LINES_ENDING);
  return isLines ? { ...reply, headers: ['content-type', JSON_LINES, ...all] } : reply;
}

/** The pieces of a record; of a page that is small and complete, all its records are one piece. */
type Pieces = readonly (string | Buffer)[];

/** Resolves with the records; if a member is computed from them after the read, with new ends. */
async function recordsOf(
  items: NonNullable<Page['items']>,
  parts: ListParts,
  { parameters, call }: ListInput,
): Promise<readonly Pieces[]> {
  const computed = computedIn(parts, parameters.include);
  if (!computed) return typeof items === 'string' ? [[items]] : items.map((each) => [each]);
  const lines = typeof items === 'string' ? items.split('\n').filter(Boolean) : items;
  const records = lines.map(splitRecord);
  const texts = records.map((record) => record.texts);
  const values = await computed.compute(texts, parameters, () => call.ensureSendable());
  return records.map(({ start }, index) => [start, `,"${computed.name}":${values[index]}}`]);
}

/** Returns a record without its closing brace, and the texts that it lacks, which follow a tab. */
function splitRecord(record: string | Buffer) {
  const tab = record.indexOf('\t');
  if (tab === -1) return { start: pieceOf(record, 0, -1), texts: record };
  return { start: pieceOf(record, 0, tab - 1), texts: pieceOf(record, tab + 1) };
}

function pieceOf(record: string | Buffer, start: number, end?: number): string | Buffer {
  return typeof record === 'string' ? record.slice(start, end) : record.subarray(start, end);
}

/** Returns the condition under which the client knows a list. */
function knownCondition({ 'if-none-match': noneMatch = [] }: RequestHeaders): Condition {
  if (noneMatch === '*') return null;
  return isOneOf(noneMatch.map(({ text }) => text).filter((text) => TAG.test(text)));
}
