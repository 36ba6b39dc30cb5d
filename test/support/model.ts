// A model of the resources, as maps in memory, that returns the correct answer to every request.
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Violation } from '../../src/http/problem.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { defaultsOf, listPath, maxLengthOf, samplesOf } from './collections.ts';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';

/** An operation on a resource, with ids and page parameters as texts of the URL. */
export interface Move {
  readonly resource: Resource;
  readonly operation: 'list' | 'create' | 'read' | 'replace' | 'remove';
  /** The id of the owner, for resources that have one. */
  readonly ownerId: string;
  readonly id: string;
  /** The values of the texts in the body, by the position of their field; undefined: left out. */
  readonly texts: readonly (string | number | undefined)[];
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
type Fault = readonly [place: Violation['in'], field: string, code: string];

const DEFAULT_LIMIT = 20;

/**
 * Returns an empty model. A `shared` one expects other clients, which leave its records alone: of
 * the items in lists without an owner it checks only its own.
 */
export function createModel({ shared = false } = {}): Model {
  const stateByResource = new Map(
    RESOURCES.map((each) => [each, { given: [] as number[], records: new Map<number, Item>() }]),
  );

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
    stateOf(resource).records.delete(id);
    for (const owned of RESOURCES.filter(({ owner }) => owner?.resource === resource)) {
      for (const item of list(owned, id)) remove(owned, item.id);
    }
  }

  /**
   * Makes a valid move on the model and returns the right answer. `answer` has the id of a new
   * record.
   */
  function expected(
    move: Move,
    answer: Answer,
  ): { status: number; body?: Body; location?: string } {
    const { resource } = move;
    const { owner } = resource;
    const ownerId = Number(move.ownerId);
    const { given, records } = stateOf(resource);
    const known = records.get(Number(move.id));
    const found = !owner || known?.[owner.column] === ownerId ? known : undefined;
    const added = { ...(owner && { [owner.column]: ownerId }), ...defaultsOf(resource) };
    const notFound = { status: 404, body: { type: 'not-found', ...missing(move) } };

    switch (move.operation) {
      case 'list': {
        if (lacksOwner(move)) return notFound;
        const all = list(resource, ownerId);
        const [limit, offset] = [Number(move.limit ?? DEFAULT_LIMIT), Number(move.offset ?? 0)];
        return {
          status: 200,
          body: { items: all.slice(offset, offset + limit), limit, offset, total: all.length },
        };
      }
      case 'create': {
        if (lacksOwner(move)) return notFound;
        const id: number = answer.json.id;
        assert.ok(id > (given.at(-1) ?? 0), `the id ${id} does not rise`);
        given.push(id);
        const item = { id, ...added, ...bodyOf(move) };
        records.set(id, item);
        return { status: 201, body: item, location: `${pathOf(move, 'list')}/${id}` };
      }
      case 'read':
        return found ? { status: 200, body: found } : notFound;
      case 'replace': {
        if (!found) return notFound;
        const item = { id: found.id, ...added, ...bodyOf(move) };
        records.set(found.id, item);
        return { status: 200, body: item };
      }
      case 'remove': {
        if (!found) return notFound;
        remove(resource, found.id);
        return { status: 204 };
      }
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

  return {
    given: (resource) => stateOf(resource).given,
    list,
    async play(service, move) {
      const body =
        move.operation === 'create' || move.operation === 'replace' ? bodyOf(move) : undefined;
      const [method, path] = [METHODS[move.operation], pathOf(move)];
      const answer = await service.request(method, path, body ? { json: body } : {});
      const { status, json, headers } = answer;
      const label = `${method} ${path} ${JSON.stringify(body)}`;
      const faults = faultsOf(move);
      if (faults.length > 0) {
        const violations = (json?.errors ?? []).map((error: Violation) => [
          error.in,
          error.field,
          error.code,
        ]);
        assert.deepEqual([status, violations], [422, faults], label);
      } else if (shared && move.operation === 'list' && !move.resource.owner) {
        assertOwnItems(move, answer);
      } else {
        const right = expected(move, answer);
        const type =
          right.body?.type === undefined
            ? {}
            : { type: `${service.url}/problems/${right.body.type}` };
        const whole = right.body && { ...right.body, ...type };
        assert.ok(
          isDeepStrictEqual(json, whole),
          `${label}: ${answer.text} is not ${JSON.stringify(whole)}`,
        );
        assert.deepEqual([status, headers.location], [right.status, right.location], label);
      }
      return status;
    },
  };
}

const METHODS = { list: 'GET', create: 'POST', read: 'GET', replace: 'PUT', remove: 'DELETE' };

function pathOf({ resource, operation, ownerId, id, limit, offset }: Move, as = operation): string {
  const list = listPath(resource, ownerId);
  if (as !== 'list' && as !== 'create') return `${list}/${id}`;
  if (operation !== 'list') return list;
  const query = Object.entries({ limit, offset }).flatMap(([name, text]) =>
    text ? [`${name}=${text}`] : [],
  );
  return query.length > 0 ? `${list}?${query.join('&')}` : list;
}

function bodyOf({ resource, texts }: Move): Body {
  const members = Object.entries(resource.fields).map(
    ([name, { type }], index) => [name, type === 'text' ? texts[index] : undefined] as const,
  );
  const sent = members.filter(([, text]) => text !== undefined);
  return { ...samplesOf(resource), ...Object.fromEntries(sent) };
}

function faultsOf(move: Move): Fault[] {
  const { resource, operation, ownerId, id, limit, offset } = move;
  const faults: Fault[] = [];
  const isInteger = (text: string) => /^-?[0-9]+$/.test(text);
  if (resource.owner && !isInteger(ownerId)) {
    faults.push(['path', resource.owner.resource.idParameter, 'type']);
  }
  if (operation !== 'list' && operation !== 'create' && !isInteger(id)) {
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
  if (operation === 'create' || operation === 'replace') {
    const body = bodyOf(move);
    const fields = Object.entries(resource.fields);
    // Missing members come before wrong ones.
    for (const [field, { default: byDefault }] of fields)
      if (byDefault === undefined && !(field in body)) faults.push(['body', field, 'required']);
    for (const [field] of fields.filter(([each, { type }]) => type === 'text' && each in body)) {
      for (const code of codesOf(body[field], maxLengthOf(resource, field)))
        faults.push(['body', field, code]);
    }
  }
  return faults;
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
