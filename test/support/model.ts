// A model of the resources, as maps in memory, that returns the correct answer to every request.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { tags as tagResource } from '../../src/resources/tags.ts';
import type { Answer, RequestParts } from './http.ts';
import {
  type Body,
  bodiesOf,
  COLLECTION_MOVES,
  fieldsIn,
  LINK_MOVES,
  MAX_ERRORS,
  METHODS,
  type Move,
  ownerOf,
  partsOf,
  pathOf,
} from './model-moves.ts';
import { type TagCondition, TagHistory } from './model-tags.ts';
import { expectedPage } from './page-checks.ts';
import { defaultsOf } from './records.ts';
import type { Service } from './service.ts';

/** The records that the service should have. */
export interface Model {
  given(resource: Resource): readonly number[];
  linkedTo(id: number): number[];
  list(resource: Resource, ownerId: number | undefined): Item[];
  play(service: Service, move: Move): Promise<number>;
}

type Item = Body & { readonly id: number };

/** The right answer. `body` is an array for records as lines; `tags` has the tag that is sent. */
interface Expected {
  readonly status: number;
  readonly body?: Body | readonly Body[];
  readonly location?: string;
  readonly link?: string;
  /** The fields that a 422 names instead of a body. */
  readonly unknown?: readonly string[];
  readonly tags?: TagHistory;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly parts: RequestParts;
  readonly key: string | undefined;
  readonly match: TagCondition | undefined;
  readonly noneMatch: TagCondition | undefined;
}

interface Keyed extends Sent {
  readonly key: string;
  readonly resource: Resource;
  readonly answer: Answer;
}

/** Returns an empty model. */
export function createModel(): Model {
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
  /** The links as `FIRST/SECOND`. */
  const links = new Set<string>();

  function stateOf(resource: Resource) {
    return stateByResource.get(resource) ?? assert.fail(resource.label);
  }

  function list(resource: Resource, ownerId: number | undefined): Item[] {
    const { owner } = resource;
    return [...stateOf(resource).records.values()]
      .filter((item) => !owner || item[owner.column] === ownerId)
      .sort((one, other) => one.id - other.id);
  }

  function linkedTo(id: number): number[] {
    const pairs = [...links].map((pair) => pair.split('/').map(Number));
    return pairs.flatMap(([first, second = 0]) => (first === id ? [second] : []));
  }

  function pageOf({ resource, ownerId }: Move, url: string) {
    const all = list(resource, Number(ownerId)).map((item) => ({ item, number: item.id }));
    return expectedPage(all, url);
  }

  function lacksOwner(move: Move): boolean {
    const owner = ownerOf(move);
    return owner !== undefined && !stateOf(owner).records.has(Number(move.ownerId));
  }

  /** The problem where a record is missing; it names the owner where that is missing too. */
  function missing(move: Move): Body {
    const { resource, ownerId, id } = move;
    // A link names the first record first.
    const isFirst = LINK_MOVES.has(move.operation) && !stateOf(resource).records.has(Number(id));
    const detail =
      lacksOwner(move) && !isFirst
        ? `${ownerOf(move)?.label} with ID ${ownerId}`
        : `${resource.label} with ID ${id}`;
    return { title: 'Not Found', status: 404, detail: `${detail} was not found.` };
  }

  function remove(resource: Resource, id: number): void {
    listTags.change();
    stateOf(resource).records.delete(id);
    for (const pair of links) {
      const [first, second] = pair.split('/').map(Number);
      if ((resource === notes && first === id) || (resource === tagResource && second === id))
        links.delete(pair);
    }
    for (const owned of RESOURCES.filter(({ owner }) => owner?.resource === resource)) {
      for (const item of list(owned, id)) remove(owned, item.id);
    }
  }

  function foundBy({ resource, ownerId, id }: Move): Item | undefined {
    const { owner } = resource;
    const known = stateOf(resource).records.get(Number(id));
    return !owner || known?.[owner.column] === Number(ownerId) ? known : undefined;
  }

  function tagsOf(move: Move): TagHistory {
    if (COLLECTION_MOVES.has(move.operation)) return listTags;
    return stateOf(move.resource).tags.get(foundBy(move)?.id ?? 0) ?? new TagHistory();
  }

  function store(resource: Resource, item: Item): void {
    const { records, tags } = stateOf(resource);
    const history = tags.get(item.id) ?? new TagHistory();
    for (const each of [history, listTags]) each.change();
    tags.set(item.id, history);
    records.set(item.id, item);
  }

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
      const item = { id: firstId + index, ...addedTo(move), ...fieldsIn(body) };
      given.push(item.id);
      store(move.resource, item);
      setLinks(item.id, body);
      return item;
    });
  }

  function setLinks(id: number, body: Body): void {
    const ids = body.tag_ids as readonly number[] | undefined;
    if (ids === undefined) return;
    const before = [...links].filter((pair) => pair.startsWith(`${id}/`));
    const after = ids.map((each) => `${id}/${each}`);
    if (!isDeepStrictEqual(new Set(before), new Set(after))) listTags.change();
    for (const pair of before) links.delete(pair);
    for (const pair of after) links.add(pair);
  }

  function unknownLinks(move: Move): string[] {
    return bodiesOf(move).flatMap((body, line) =>
      ((body.tag_ids ?? []) as readonly number[]).flatMap((id, index) => {
        const prefix = move.operation === 'createAll' ? `${line}.` : '';
        const isKnown = stateOf(tagResource).records.has(id);
        return isKnown ? [] : [`${prefix}tag_ids.${index}`];
      }),
    );
  }

  /** Makes a move on the model; `answer` has the ids of new records. */
  function expected(service: Service, move: Move, sent: Sent, answer: Answer): Expected {
    const { resource } = move;
    const tags = tagsOf(move);
    const found = foundBy(move);
    const isMissing =
      (LINK_MOVES.has(move.operation) && lacksOwner(move)) ||
      (COLLECTION_MOVES.has(move.operation) ? lacksOwner(move) : !found);
    if (isMissing) return { status: 404, body: { type: 'not-found', ...missing(move) } };
    const refusal = refusalOf(sent);
    if (refusal) return { ...refusal, tags };
    const unknown = unknownLinks(move).slice(0, MAX_ERRORS);
    if (unknown.length > 0) return { status: 422, unknown };

    switch (move.operation) {
      case 'list':
        return { status: 200, ...pageOf(move, `${service.url}${sent.path}`), tags };
      case 'link':
      case 'unlink':
        return expectedOfLink(move);
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
        const fields = fieldsIn(body);
        const item = { ...kept, id: Number(move.id), ...fields };
        const isEmpty = move.operation === 'patch' && Object.keys(fields).length === 0;
        if (!isEmpty) store(resource, item);
        setLinks(item.id, body);
        return { status: 200, body: item, tags };
      }
      case 'remove':
        remove(resource, Number(move.id));
        return { status: 204 };
    }
  }

  function expectedOfLink({ operation, id, ownerId }: Move): Expected {
    const pair = `${Number(id)}/${Number(ownerId)}`;
    const isLinked = links.has(pair);
    if (operation === 'unlink' && !isLinked) {
      const detail = `Note ${id} has no tag ${ownerId}.`;
      return { status: 404, body: { type: 'not-found', title: 'Not Found', status: 404, detail } };
    }
    if (isLinked === (operation === 'unlink')) listTags.change();
    if (operation === 'link') links.add(pair);
    else links.delete(pair);
    return { status: 204 };
  }

  function requestOf(move: Move): Sent {
    const { operation, match: wantedMatch, noneMatch: wantedNoneMatch } = move;
    const path = pathOf(move);
    const parts = partsOf(move);
    const tags = tagsOf(move);
    const isLink = LINK_MOVES.has(operation);
    const match = tags.condition(isLink ? undefined : wantedMatch);
    const noneMatch = tags.condition(isLink ? undefined : wantedNoneMatch);
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

  function assertRight(service: Service, answer: Answer, right: Expected, label: string): void {
    const { status, headers } = answer;
    const { body, tags, location, unknown } = right;
    if (unknown) {
      const errors: { field: string; code: string }[] = answer.json.errors ?? [];
      const named = unknown.map((field) => `${field} exists`);
      assert.deepEqual([status, errors.map(({ field, code }) => `${field} ${code}`)], [422, named]);
      return;
    }
    const whole =
      body && 'type' in body ? { ...body, type: `${service.url}/problems/${body.type}` } : body;
    assert.ok(
      isDeepStrictEqual(answer.json, whole),
      `${label}: ${status} ${answer.text} is not ${JSON.stringify(whole)}`,
    );
    assert.deepEqual([status, headers.location], [right.status, location], label);
    assert.equal(headers.link, right.link, label);
    assert.equal(headers['idempotent-replayed'], undefined, label);
    if (tags) tags.observe(headers.etag);
    else assert.equal(headers.etag, undefined, label);
  }

  return {
    given: (resource) => stateOf(resource).given,
    linkedTo,
    list,
    async play(service, move) {
      const { resource, operation, which } = move;
      const earlier = keyed.filter((each) => each.resource === resource).at(-1 - which);
      const sent = operation === 'repeat' && earlier ? earlier : requestOf(move);
      const { method, path, parts, key } = sent;
      const answer = await service.request(method, path, parts);
      const { status, json } = answer;
      const label = `${method} ${path} ${JSON.stringify(parts)}`;
      const used = keyed.find((each) => each.key === key);
      if (used && isSameBody(used.parts, parts)) {
        assertReplay(answer, used.answer, label);
      } else if (used) {
        assert.deepEqual([status, json.type], [422, `${service.url}/problems/${REUSED}`], label);
      } else {
        assertRight(service, answer, expected(service, move, sent, answer), label);
        if (key && status === 201) keyed.push({ ...sent, key, resource, answer });
      }
      return status;
    },
  };
}

function isSameBody(one: RequestParts, other: RequestParts): boolean {
  return one.body === other.body && isDeepStrictEqual(one.json, other.json);
}

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

function refusalOf({ method, match, noneMatch }: Sent): Expected | undefined {
  if (method === 'POST') return undefined;
  const isMatch = match?.matchesStrongly ?? true;
  const isKnown = noneMatch?.matchesWeakly ?? false;
  if (isMatch && isKnown && method === 'GET') return { status: 304 };
  if (isMatch && !isKnown) return undefined;
  const detail = !isMatch && match?.header.includes('W/') ? SPOILT : NOT_IN_STATE;
  return { status: 412, body: { ...PRECONDITION_FAILED, detail } };
}

const SPOILT =
  'A proxy that compresses answers has changed the entity tag in if-match. Send the tag without ' +
  'W/ and without a suffix such as -gzip, or configure the proxy as /docs/guides/safe-writes says.';
const NOT_IN_STATE =
  'The record or list is not in the state that if-match or if-none-match requires.';

const PRECONDITION_FAILED = {
  type: 'precondition-failed',
  title: 'Precondition Failed',
  status: 412,
};
