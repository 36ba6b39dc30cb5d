// A model of the collections, as maps in memory, that returns the correct answer to every request.
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Violation } from '../../src/http/problem.ts';
import { COLLECTIONS, maxLengthOf } from './collections.ts';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';

/** The names of the collections. */
export const NAMES = ['notes', 'tags', 'comments'] as const;

/** An operation on a collection, with ids and page parameters as texts of the URL. */
export interface Move {
  readonly collection: (typeof NAMES)[number];
  readonly operation: 'list' | 'create' | 'read' | 'replace' | 'remove';
  /** The note of a comment. */
  readonly noteId: string;
  readonly id: string;
  /** The members of the body, in the order of the fields. Undefined ones are left out. */
  readonly texts: readonly (string | number | undefined)[];
  readonly limit: string | undefined;
  readonly offset: string | undefined;
}

/** The collections of one or of all clients. */
export interface Model {
  /** All ids that the service has given, in order. */
  readonly given: Readonly<Record<Move['collection'], number[]>>;
  /** The records of a list in order of their ids. `noteId` is the note of comments. */
  list(collection: Move['collection'], noteId?: number): Item[];
  /**
   * Plays a move against `service`, asserts that the answer is the right one, and resolves with its
   * status.
   */
  play(service: Service, move: Move): Promise<number>;
}

type Body = Readonly<Record<string, unknown>>;
type Item = Body & { readonly id: number; readonly note_id?: number };
type Fault = readonly [place: Violation['in'], field: string, code: string];

const DEFAULT_LIMIT = 20;

interface Shape {
  readonly label: string;
  readonly idField: string;
  /** Each field with its maximum length. */
  readonly fields: readonly (readonly [name: string, maxLength: number])[];
}

const SHAPES = Object.fromEntries(
  COLLECTIONS.map((collection, index): [string | undefined, Shape] => {
    const { label, fields } = collection;
    const bounds = fields.map((field) => [field, maxLengthOf(collection, field)] as const);
    return [NAMES[index], { label, idField: `${label.toLowerCase()}_id`, fields: bounds }];
  }),
) as Record<Move['collection'], Shape>;

/**
 * Returns an empty model. A `shared` one expects other clients, which leave its records alone: of
 * the items in lists of notes and tags it checks only its own.
 */
export function createModel({ shared = false } = {}): Model {
  const records = {
    notes: new Map<number, Item>(),
    tags: new Map<number, Item>(),
    comments: new Map<number, Item>(),
  };
  const given = { notes: [] as number[], tags: [] as number[], comments: [] as number[] };

  const list = (collection: Move['collection'], noteId?: number) =>
    [...records[collection].values()]
      .filter((item) => item.note_id === noteId)
      .sort((one, other) => one.id - other.id);

  /** The problem where a record is missing; it names the note where that is missing too. */
  function missing({ collection, noteId, id }: Move): Body {
    const noNote = collection === 'comments' && !records.notes.has(Number(noteId));
    const detail = noNote ? `Note with ID ${noteId}` : `${SHAPES[collection].label} with ID ${id}`;
    return { title: 'Not Found', status: 404, detail: `${detail} was not found.` };
  }

  function remove(collection: Move['collection'], id: number): void {
    records[collection].delete(id);
    if (collection !== 'notes') return;
    for (const comment of list('comments', id)) records.comments.delete(comment.id);
  }

  /**
   * Makes a valid move on the model and returns the right answer. `answer` has the id of a new
   * record.
   */
  function expected(
    move: Move,
    answer: Answer,
  ): { status: number; body?: Body; location?: string } {
    const { collection, operation, noteId } = move;
    const owner = collection === 'comments' ? { note_id: Number(noteId) } : {};
    const known = records[collection].get(Number(move.id));
    const found = known?.note_id === owner.note_id ? known : undefined;
    const notFound = { status: 404, body: { type: 'not-found', ...missing(move) } };
    const isOrphan = collection === 'comments' && !records.notes.has(Number(noteId));

    switch (operation) {
      case 'list': {
        if (isOrphan) return notFound;
        const all = list(collection, owner.note_id);
        const [limit, offset] = [Number(move.limit ?? DEFAULT_LIMIT), Number(move.offset ?? 0)];
        return {
          status: 200,
          body: { items: all.slice(offset, offset + limit), limit, offset, total: all.length },
        };
      }
      case 'create': {
        if (isOrphan) return notFound;
        const id: number = answer.json.id;
        assert.ok(id > (given[collection].at(-1) ?? 0), `the id ${id} does not rise`);
        given[collection].push(id);
        const item = { id, ...owner, ...bodyOf(move) };
        records[collection].set(id, item);
        return { status: 201, body: item, location: `${pathOf(move, 'list')}/${id}` };
      }
      case 'read':
        return found ? { status: 200, body: found } : notFound;
      case 'replace': {
        if (!found) return notFound;
        const item = { id: found.id, ...owner, ...bodyOf(move) };
        records[collection].set(found.id, item);
        return { status: 200, body: item };
      }
      case 'remove': {
        if (!found) return notFound;
        remove(collection, found.id);
        return { status: 204 };
      }
    }
  }

  /** Checks the model's own items in a list that others change, and that items and total agree. */
  function assertOwnItems(move: Move, { status, json }: Answer): void {
    const { collection, limit = String(DEFAULT_LIMIT), offset = '0' } = move;
    assert.equal(status, 200);
    const ids = json.items.map(({ id }: Item) => id);
    assert.deepEqual(
      ids,
      [...new Set<number>(ids)].sort((one, other) => one - other),
    );
    assert.equal(ids.length, Math.max(0, Math.min(Number(limit), json.total - Number(offset))));
    assert.ok(json.total >= records[collection].size);
    for (const item of json.items as Item[]) {
      if (given[collection].includes(item.id))
        assert.deepEqual(item, records[collection].get(item.id));
    }
  }

  return {
    given,
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
      } else if (shared && move.operation === 'list' && move.collection !== 'comments') {
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

function pathOf(
  { collection, operation, noteId, id, limit, offset }: Move,
  as = operation,
): string {
  const list = collection === 'comments' ? `/notes/${noteId}/comments` : `/${collection}`;
  if (as !== 'list' && as !== 'create') return `${list}/${id}`;
  if (operation !== 'list') return list;
  const query = Object.entries({ limit, offset }).flatMap(([name, text]) =>
    text ? [`${name}=${text}`] : [],
  );
  return query.length > 0 ? `${list}?${query.join('&')}` : list;
}

function bodyOf({ collection, texts }: Move): Body {
  const members = SHAPES[collection].fields.map(([field], index) => [field, texts[index]] as const);
  return Object.fromEntries(members.filter(([, text]) => text !== undefined));
}

function faultsOf(move: Move): Fault[] {
  const { collection, operation, noteId, id, limit, offset } = move;
  const faults: Fault[] = [];
  const isInteger = (text: string) => /^-?[0-9]+$/.test(text);
  if (collection === 'comments' && !isInteger(noteId)) faults.push(['path', 'note_id', 'type']);
  if (operation !== 'list' && operation !== 'create' && !isInteger(id)) {
    faults.push(['path', SHAPES[collection].idField, 'type']);
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
    const { fields } = SHAPES[collection];
    // Missing members come before wrong ones.
    for (const [field] of fields) if (!(field in body)) faults.push(['body', field, 'required']);
    for (const [field, maxLength] of fields) {
      for (const code of field in body ? codesOf(body[field], maxLength) : [])
        faults.push(['body', field, code]);
    }
  }
  return faults;
}

function codesOf(text: unknown, maxLength: number): string[] {
  if (typeof text !== 'string') return ['type'];
  const codes: [isBroken: boolean, code: string][] = [
    [[...text].length > maxLength, 'maxLength'],
    [text === '', 'minLength'],
    [text.trim() === '', 'pattern'],
    [!text.isWellFormed(), 'format'],
  ];
  return codes.filter(([isBroken]) => isBroken).map(([, code]) => code);
}
