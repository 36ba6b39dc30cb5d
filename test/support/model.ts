// A model of the resources, as maps in memory, that returns the correct answer to every request.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Violation } from '../../src/http/problem.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { defaultsOf, listPath, maxLengthOf, samplesOf } from './collections.ts';
import type { Answer, RequestParts } from './http.ts';
import { MALFORMED, type TagCondition, TagHistory, type Wanted } from './model-tags.ts';
import type { Service } from './service.ts';

/** The values of the texts in a body, by the position of their field; undefined: left out. */
export type Texts = readonly (string | number | null | undefined)[];

/** An operation on a resource, with ids and page parameters as texts of the URL. */
export interface Move {
  readonly resource: Resource;
  /** `repeat` sends an earlier creation with a key again, or creates if there is none. */
  readonly operation: keyof typeof METHODS;
  /** The id of the owner, for resources that have one. */
  readonly ownerId: string;
  readonly id: string;
  readonly texts: Texts;
  /** The texts of the other lines of a bulk creation. */
  readonly moreTexts: readonly Texts[];
  readonly match: Wanted | undefined;
  readonly noneMatch: Wanted | undefined;
  /** A creation has a new key, or one of an earlier creation at the same path. */
  readonly key: 'new' | 'used' | undefined;
  /** Selects an earlier creation; each bit leaves a field out of a patch. */
  readonly which: number;
  readonly limit: string | undefined;
  readonly offset: string | undefined;
}

/** The records of one or of all clients. */
export interface Model {
  /** Returns all ids that the service has given to records of a resource, in order. */
  given(resource: Resource): readonly number[];
  /** Returns the records of a list in order of their ids; `ownerId` is undefined without owner. */
  list(resource: Resource, ownerId: number | undefined): Item[];
  /**
   * Plays a move against `service`, asserts that the answer is the right one, and resolves with its
   * status.
   */
  play(service: Service, move: Move): Promise<number>;
}

type Body = Readonly<Record<string, unknown>>;
type Item = Body & { readonly id: number };

/** The right answer. `body` is an array for records as lines; `tags` has the tag that is sent. */
interface Expected {
  readonly status: number;
  readonly body?: Body | readonly Body[];
  readonly location?: string;
  readonly tags?: TagHistory;
}

/** A request, and the conditions that it contains. */
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly parts: RequestParts;
  readonly key: string | undefined;
  readonly match: TagCondition | undefined;
  readonly noneMatch: TagCondition | undefined;
}
type Fault = readonly [place: Violation['in'], field: string, code: string];

/** A creation with a key, and its answer. */
interface Keyed extends Sent {
  readonly key: string;
  readonly resource: Resource;
  readonly answer: Answer;
}

const DEFAULT_LIMIT = 20;

/** How many violations an answer lists. */
const MAX_ERRORS = 20;

/**
 * Returns an empty model. A `shared` one expects other clients, which leave its records alone: of
 * the items in lists without an owner it checks only its own.
 */
export function createModel({ shared = false } = {}): Model {
  const stateByResource = new Map(
    RESOURCES.map((each) => [
      each,
      {
        given: [] as number[],
        records: new Map<number, Item>(),
        tags: new Map<number, TagHistory>(),
      },
    ]),
  );
  const listTags = new TagHistory();
  const keyed: Keyed[] = [];

  function stateOf(resource: Resource) {
    return stateByResource.get(resource) ?? assert.fail(resource.label);
  }

  function list(resource: Resource, ownerId: number | undefined): Item[] {
    const { owner } = resource;
    return [...stateOf(resource).records.values()]
      .filter((item) => !owner || item[owner.column] === ownerId)
      .sort((one, other) => one.id - other.id);
  }

  function lacksOwner({ resource: { owner }, ownerId }: Move): boolean {
    return owner !== undefined && !stateOf(owner.resource).records.has(Number(ownerId));
  }

  /** The problem where a record is missing; it names the owner where that is missing too. */
  function missing(move: Move): Body {
    const { resource, ownerId, id } = move;
    const detail = lacksOwner(move)
      ? `${resource.owner?.resource.label} with ID ${ownerId}`
      : `${resource.label} with ID ${id}`;
    return { title: 'Not Found', status: 404, detail: `${detail} was not found.` };
  }

  function remove(resource: Resource, id: number): void {
    listTags.change();
    stateOf(resource).records.delete(id);
    for (const owned of RESOURCES.filter(({ owner }) => owner?.resource === resource)) {
      for (const item of list(owned, id)) remove(owned, item.id);
    }
  }

  /** Returns the record that a move names, if it exists. */
  function foundBy({ resource, ownerId, id }: Move): Item | undefined {
    const { owner } = resource;
    const known = stateOf(resource).records.get(Number(id));
    return !owner || known?.[owner.column] === Number(ownerId) ? known : undefined;
  }

  /** Returns the tags of what a move names. */
  function tagsOf(move: Move): TagHistory {
    if (COLLECTION_MOVES.has(move.operation)) return listTags;
    return stateOf(move.resource).tags.get(foundBy(move)?.id ?? 0) ?? new TagHistory();
  }

  /** Stores a new or changed record. */
  function store(resource: Resource, item: Item): void {
    const { records, tags } = stateOf(resource);
    const history = tags.get(item.id) ?? new TagHistory();
    for (const each of [history, listTags]) each.change();
    tags.set(item.id, history);
    records.set(item.id, item);
  }

  /** Returns what the service adds to a record. */
  function addedTo({ resource, ownerId }: Move): Body {
    const { owner } = resource;
    return { ...(owner && { [owner.column]: Number(ownerId) }), ...defaultsOf(resource) };
  }

  /** Stores the records of a creation, whose ids must follow each other. */
  function createAll(move: Move, answer: Answer): Item[] {
    const { given } = stateOf(move.resource);
    const firstId: number = [answer.json].flat()[0]?.id;
    assert.ok(firstId > (given.at(-1) ?? 0), `the id ${firstId} does not rise`);
    return bodiesOf(move).map((body, index) => {
      const item = { id: firstId + index, ...addedTo(move), ...body };
      given.push(item.id);
      store(move.resource, item);
      return item;
    });
  }

  /**
   * Makes a valid move on the model and returns the right answer. `answer` has the ids of new
   * records.
   */
  function expected(move: Move, sent: Sent, answer: Answer): Expected {
    const { resource } = move;
    const tags = tagsOf(move);
    const found = foundBy(move);
    const isMissing = COLLECTION_MOVES.has(move.operation) ? lacksOwner(move) : !found;
    if (isMissing) return { status: 404, body: { type: 'not-found', ...missing(move) } };
    const refusal = refusalOf(sent);
    if (refusal) return { ...refusal, tags };

    switch (move.operation) {
      case 'list': {
        const all = list(resource, Number(move.ownerId));
        const [limit, offset] = [Number(move.limit ?? DEFAULT_LIMIT), Number(move.offset ?? 0)];
        const items = all.slice(offset, offset + limit);
        return { status: 200, body: { items, limit, offset, total: all.length }, tags };
      }
      case 'createAll':
        return { status: 201, body: createAll(move, answer), location: sent.path };
      case 'create':
      case 'repeat': {
        const [item] = createAll(move, answer);
        assert.ok(item);
        const own = stateOf(resource).tags.get(item.id);
        const location = `${sent.path}/${item.id}`;
        return { status: 201, body: item, location, ...(own && { tags: own }) };
      }
      case 'read':
        return { status: 200, ...(found && { body: found }), tags };
      case 'replace':
      case 'patch': {
        const [body = {}] = bodiesOf(move);
        const kept = move.operation === 'patch' ? found : addedTo(move);
        const item = { ...kept, id: Number(move.id), ...body };
        const isEmpty = move.operation === 'patch' && Object.keys(body).length === 0;
        if (!isEmpty) store(resource, item);
        return { status: 200, body: item, tags };
      }
      case 'remove':
        remove(resource, Number(move.id));
        return { status: 204 };
    }
  }

  /** Checks the model's own items in a list that others change, and that items and total agree. */
  function assertOwnItems(move: Move, { status, json }: Answer): void {
    const { resource, limit = String(DEFAULT_LIMIT), offset = '0' } = move;
    const { given, records } = stateOf(resource);
    assert.equal(status, 200);
    const ids = json.items.map(({ id }: Item) => id);
    assert.deepEqual(
      ids,
      [...new Set<number>(ids)].sort((one, other) => one - other),
    );
    assert.equal(ids.length, Math.max(0, Math.min(Number(limit), json.total - Number(offset))));
    assert.ok(json.total >= records.size);
    for (const item of json.items as Item[]) {
      if (given.includes(item.id)) assert.deepEqual(item, records.get(item.id));
    }
  }

  /** Returns the request of a move. */
  function requestOf(move: Move): Sent {
    const { operation, match: wantedMatch, noneMatch: wantedNoneMatch } = move;
    const path = pathOf(move);
    const parts = partsOf(move);
    // Others change what the model would say about lists.
    const hasTag = !shared || !COLLECTION_MOVES.has(operation);
    const tags = hasTag ? tagsOf(move) : new TagHistory();
    const match = tags.condition(hasTag || operation !== 'list' ? wantedMatch : undefined);
    const noneMatch = tags.condition(hasTag ? wantedNoneMatch : undefined);
    const used = keyed.filter((each) => each.path === path).at(-1 - (move.which % 4))?.key;
    const newKey = move.key && randomUUID();
    const key = METHODS[operation] === 'POST' ? (move.key === 'used' && used) || newKey : undefined;
    const headers = {
      ...parts.headers,
      ...(match && { 'if-match': match.header }),
      ...(noneMatch && { 'if-none-match': noneMatch.header }),
      ...(key && { 'idempotency-key': key }),
    };
    return {
      method: METHODS[operation],
      path,
      parts: { ...parts, headers },
      key,
      match,
      noneMatch,
    };
  }

  /** Asserts that `answer` is the right one. */
  function assertRight(service: Service, answer: Answer, right: Expected, label: string): void {
    const { status, headers } = answer;
    const { body, tags, location } = right;
    const whole =
      body && 'type' in body ? { ...body, type: `${service.url}/problems/${body.type}` } : body;
    assert.ok(
      isDeepStrictEqual(answer.json, whole),
      `${label}: ${status} ${answer.text} is not ${JSON.stringify(whole)}`,
    );
    assert.deepEqual([status, headers.location], [right.status, location], label);
    assert.equal(headers['idempotent-replayed'], undefined, label);
    if (tags && !(shared && tags === listTags)) tags.observe(headers.etag);
    if (!tags) assert.equal(headers.etag, undefined, label);
  }

  return {
    given: (resource) => stateOf(resource).given,
    list,
    async play(service, move) {
      const { resource, operation, which } = move;
      const earlier = keyed.filter((each) => each.resource === resource).at(-1 - which);
      const sent = operation === 'repeat' && earlier ? earlier : requestOf(move);
      const { method, path, parts, key } = sent;
      const answer = await service.request(method, path, parts);
      const { status, json } = answer;
      const label = `${method} ${path} ${JSON.stringify(parts)}`;
      const faults = sent === earlier ? [] : faultsOf(move);
      const used = keyed.find((each) => each.key === key);
      if (isMalformed(sent)) {
        assert.equal(status, 400, label);
      } else if (faults.length > 0) {
        const violations = (json?.errors ?? []).map((error: Violation) => [
          error.in,
          error.field,
          error.code,
        ]);
        assert.deepEqual([status, violations], [422, faults], label);
      } else if (used && isSameBody(used.parts, parts)) {
        assertReplay(answer, used.answer, label);
      } else if (used) {
        assert.deepEqual([status, json.type], [422, `${service.url}/problems/${REUSED}`], label);
      } else if (shared && operation === 'list' && !resource.owner) {
        assertOwnItems(move, answer);
      } else {
        assertRight(service, answer, expected(move, sent, answer), label);
        if (key && status === 201) keyed.push({ ...sent, key, resource, answer });
      }
      return status;
    },
  };
}

/** Whether two requests have the same bytes in the same format. */
function isSameBody(one: RequestParts, other: RequestParts): boolean {
  return one.body === other.body && isDeepStrictEqual(one.json, other.json);
}

/** Asserts that an answer repeats the first one, whatever has happened since. */
function assertReplay(answer: Answer, first: Answer, label: string): void {
  const { 'content-type': type, location, etag, 'idempotent-replayed': replayed } = answer.headers;
  const { status, text } = answer;
  assert.deepEqual(
    { status, text, type, location, etag, replayed },
    {
      status: first.status,
      text: first.text,
      type: first.headers['content-type'],
      location: first.headers.location,
      etag: first.headers.etag,
      replayed: 'true',
    },
    label,
  );
}

const REUSED = 'idempotency-key-reused';

const METHODS = {
  list: 'GET',
  create: 'POST',
  createAll: 'POST',
  repeat: 'POST',
  read: 'GET',
  replace: 'PUT',
  patch: 'PATCH',
  remove: 'DELETE',
};

const COLLECTION_MOVES: ReadonlySet<string> = new Set(['list', 'create', 'createAll', 'repeat']);

/** Whether the service reads a malformed condition; POST reads none. */
function isMalformed({ method, match, noneMatch }: Sent): boolean {
  return method !== 'POST' && [match, noneMatch].some((each) => each?.header === MALFORMED);
}

/** Returns the refusal of a move on an existing record or list whose conditions do not hold. */
function refusalOf({ method, match, noneMatch }: Sent): Expected | undefined {
  if (method === 'POST') return undefined;
  const isMatch = match?.matchesStrongly ?? true;
  const isKnown = noneMatch?.matchesWeakly ?? false;
  if (isMatch && isKnown && method === 'GET') return { status: 304 };
  return isMatch && !isKnown ? undefined : { status: 412, body: PRECONDITION_FAILED };
}

const PRECONDITION_FAILED = {
  type: 'precondition-failed',
  title: 'Precondition Failed',
  status: 412,
  detail: 'The record or list is not in the state that if-match or if-none-match requires.',
};

function pathOf({ resource, operation, ownerId, id, limit, offset }: Move): string {
  const list = listPath(resource, ownerId);
  if (!COLLECTION_MOVES.has(operation)) return `${list}/${id}`;
  if (operation !== 'list') return list;
  const query = Object.entries({ limit, offset }).flatMap(([name, text]) =>
    text ? [`${name}=${text}`] : [],
  );
  return query.length > 0 ? `${list}?${query.join('&')}` : list;
}

/** Returns the body of a request. */
function partsOf(move: Move): RequestParts {
  const bodies = bodiesOf(move);
  if (move.operation !== 'createAll') return bodies.length > 0 ? { json: bodies[0] } : {};
  const body = bodies.map((each) => JSON.stringify(each)).join('\n');
  return { body, headers: { 'content-type': 'application/x-ndjson' } };
}

/** Returns the JSON values that a move sends. */
function bodiesOf({ resource, operation, texts, moreTexts, which }: Move): Body[] {
  const samples = operation === 'patch' ? {} : samplesOf(resource);
  const withTexts = (values: Texts): Body => {
    const members = Object.entries(resource.fields).map(
      ([name, { type }], index) => [name, type === 'text' ? values[index] : undefined] as const,
    );
    const sent = members.filter(([, text]) => text !== undefined);
    return { ...samples, ...Object.fromEntries(sent) };
  };
  switch (operation) {
    case 'create':
    case 'repeat':
    case 'replace':
      return [withTexts(texts)];
    case 'createAll':
      return [texts, ...moreTexts].map(withTexts);
    case 'patch':
      return [withTexts(texts.map((text, index) => ((which >> index) & 1 ? undefined : text)))];
    default:
      return [];
  }
}

function faultsOf(move: Move): Fault[] {
  const { resource, operation, ownerId, id, limit, offset } = move;
  const faults: Fault[] = [];
  const isInteger = (text: string) => /^-?[0-9]+$/.test(text);
  if (resource.owner && !isInteger(ownerId)) {
    faults.push(['path', resource.owner.resource.idParameter, 'type']);
  }
  if (!COLLECTION_MOVES.has(operation) && !isInteger(id)) {
    faults.push(['path', resource.idParameter, 'type']);
  }
  if (operation === 'list') {
    for (const [field, text = '1', least, most] of [
      ['limit', limit, 1, 100],
      ['offset', offset, 0, Number.MAX_SAFE_INTEGER],
    ] as const) {
      if (!isInteger(text)) faults.push(['query', field, 'type']);
      else if (Number(text) < least) faults.push(['query', field, 'minimum']);
      else if (Number(text) > most) faults.push(['query', field, 'maximum']);
    }
  }
  for (const [line, body] of bodiesOf(move).entries()) {
    const prefix = operation === 'createAll' ? `${line}.` : '';
    const fields = Object.entries(resource.fields);
    // Missing members come before wrong ones.
    for (const [field, { default: byDefault }] of operation === 'patch' ? [] : fields)
      if (byDefault === undefined && !(field in body))
        faults.push(['body', `${prefix}${field}`, 'required']);
    for (const [field] of fields.filter(([each, { type }]) => type === 'text' && each in body)) {
      for (const code of codesOf(body[field], maxLengthOf(resource, field)))
        faults.push(['body', `${prefix}${field}`, code]);
    }
  }
  return faults.slice(0, MAX_ERRORS);
}

function codesOf(text: unknown, maxLength: number): string[] {
  if (typeof text !== 'string') return ['type'];
  if (text === '') return ['minLength'];
  const codes: [isBroken: boolean, code: string][] = [
    [[...text].length > maxLength, 'maxLength'],
    [text.trim() === '', 'pattern'],
    [!text.isWellFormed(), 'format'],
  ];
  return codes.filter(([isBroken]) => isBroken).map(([, code]) => code);
}
