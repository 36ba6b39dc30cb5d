// Sends random operations to the service and to a plain model of it, and compares all answers:
// creations with keys and in lines, conditions, patches. Tags on notes, deletions with their trash
// and the parameters of lists have games of their own.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { anyCharacter } from './any-character.ts';
import { allItems, listPath, samplesOf } from './collections.ts';
import type { Answer, RequestParts } from './http.ts';
import { expectedPage } from './page-checks.ts';
import { expected } from './records.ts';
import { type Service, startService } from './service.ts';
import { assertSound } from './stored-data.ts';

const METHODS = {
  ...{ list: 'GET', create: 'POST', createAll: 'POST' },
  ...{ read: 'GET', replace: 'PUT', patch: 'PATCH', remove: 'DELETE' },
};
type Operation = keyof typeof METHODS;

/** By how often they are drawn. */
const OPERATIONS: readonly Operation[] = [
  ...(['create', 'create', 'create', 'create', 'createAll', 'list', 'list', 'list'] as const),
  ...(['read', 'read', 'read', 'read', 'replace', 'replace', 'patch', 'patch', 'remove'] as const),
];
const ON_LISTS: readonly Operation[] = ['list', 'create', 'createAll'];

const text = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
  .filter((each) => each.trim() !== '');
const MOST_FIELDS = Math.max(...RESOURCES.map(({ fields }) => Object.keys(fields).length));
const texts = fc.array(fc.option(text), { minLength: MOST_FIELDS, maxLength: MOST_FIELDS });
/** About as many of these ids exist as do not, however long the game lasts. */
const back = fc.oneof(fc.integer({ min: -1, max: 4 }), fc.integer({ min: -1, max: 30 }));
const condition = fc.option(
  fc.array(
    fc.constantFrom('current' as const, 'current' as const, 'weak' as const, 'old' as const),
    {
      maxLength: 3,
    },
  ),
  { freq: 2, nil: undefined },
);

const draws = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  resource: fc.constantFrom(...RESOURCES),
  back,
  ownerBack: back,
  texts: fc.array(texts, { minLength: 1, maxLength: 3 }),
  conditions: fc.oneof(
    fc.record({ match: condition, noneMatch: fc.constant(undefined) }),
    fc.record({ match: fc.constant(undefined), noneMatch: condition }),
    fc.record({ match: condition, noneMatch: condition }),
  ),
  /** Of a creation: a new key, or that of an earlier one with its content or another. */
  key: fc.constantFrom('none' as const, 'new' as const, 'same' as const, 'reused' as const),
  which: fc.nat({ max: 3 }),
});
type Draw = typeof draws extends fc.Arbitrary<infer T> ? T : never;

type Body = Readonly<Record<string, unknown>>;
type Item = Body & { readonly id: number };

/** The right answer; `tags` has the tag that is sent. */
interface Right {
  readonly status: number;
  readonly body?: Body | readonly Body[];
  readonly location?: string;
  readonly link?: string;
  readonly tags?: TagHistory;
}

/** The entity tags of one record, or of all lists, oldest first. */
class TagHistory {
  readonly #tags: string[] = [];
  #isKnown = false;

  change(): void {
    this.#isKnown = false;
  }

  /** Asserts that the tag in an answer is new after a change, and otherwise the same. */
  observe(tag: string | undefined): void {
    assert.ok(tag);
    if (this.#isKnown) assert.equal(tag, this.#tags.at(-1));
    else assert.ok(!this.#tags.includes(tag), `${tag} is an old tag`);
    if (!this.#isKnown) this.#tags.push(tag);
    this.#isKnown = true;
  }

  /**
   * Returns the condition that is wanted, and whether the state matches it now; undefined without
   * one, or if no such tag is known.
   */
  condition(wanted: Draw['conditions']['match']) {
    if (wanted?.length === 0) return { header: '*', matchesStrongly: true, matchesWeakly: true };
    const [old, current] = [this.#tags.at(-2), this.#tags.at(-1)];
    const named = { current, old, weak: current && `W/${current}` };
    const known = wanted?.filter((kind) => named[kind] !== undefined) ?? [];
    if (known.length === 0) return undefined;
    return {
      header: known.map((kind) => named[kind]).join(', '),
      matchesStrongly: this.#isKnown && known.includes('current'),
      matchesWeakly: this.#isKnown && known.some((kind) => kind !== 'old'),
    };
  }
}

const PRECONDITION_FAILED = {
  ...{ type: 'precondition-failed', title: 'Precondition Failed', status: 412 },
  detail: 'The record or list is not in the state that if-match or if-none-match requires.',
};
const SPOILT =
  'A proxy that compresses answers has changed the entity tag in if-match. Send the tag without ' +
  'W/ and without a suffix such as -gzip, or configure the proxy as /docs/guides/safe-writes says.';

function notFound({ label }: Resource, id: number | undefined): Right {
  const detail = `${label} with ID ${id} was not found.`;
  return { status: 404, body: { type: 'not-found', title: 'Not Found', status: 404, detail } };
}

/** What is sent, and to what. */
type Move = ReturnType<Model['moveOf']>;

class Model {
  readonly statuses: number[] = [];
  /** The records by path; all ids that were given. */
  readonly #records = new Map<string, Item>();
  readonly #given = new Map(RESOURCES.map((resource) => [resource, [] as number[]]));
  readonly #tags = new Map<string, TagHistory>();
  readonly #listTags = new TagHistory();
  readonly #keyed: { key: string; path: string; parts: RequestParts; answer: Answer }[] = [];

  async play(service: Service, draw: Draw): Promise<void> {
    const move = this.moveOf(draw);
    const { path, operation, match, noneMatch } = move;
    const method = METHODS[operation];
    const earlier = this.#keyed.filter((each) => each.path === path).at(-1 - draw.which);
    const used = method === 'POST' && /same|reused/.test(draw.key) ? earlier : undefined;
    const key = used?.key ?? (draw.key === 'none' ? undefined : randomUUID());
    const parts = used && draw.key === 'same' ? used.parts : partsOf(move);
    const headers = {
      ...parts.headers,
      ...(match && { 'if-match': match.header }),
      ...(noneMatch && { 'if-none-match': noneMatch.header }),
      ...(method === 'POST' && key && { 'idempotency-key': key }),
    };
    const answer = await service.request(method, path, { ...parts, headers });
    this.statuses.push(answer.status);
    const label = `${method} ${path} ${JSON.stringify({ ...parts, headers })}`;
    if (used && isDeepStrictEqual(used.parts, parts)) assertReplay(answer, used.answer, label);
    else if (used) {
      assert.equal(answer.status, 422, label);
      assert.match(answer.json.type, /idempotency-key-reused$/);
    } else {
      assertRight(service, answer, this.#rightAnswer(service, move, answer), label);
      if (method === 'POST' && key && answer.status === 201)
        this.#keyed.push({ key, path, parts, answer });
    }
  }

  /** Asserts that the service keeps exactly these records, and that its file is sound. */
  async assertKept(service: Service): Promise<void> {
    const lists = RESOURCES.flatMap((resource) => {
      const owners = resource.owner && this.#idsOf(resource.owner.resource);
      return owners?.map((id) => listPath(resource, id)) ?? [listPath(resource)];
    });
    for (const list of lists)
      assert.deepEqual(await allItems(service, list), this.#itemsOf(list), list);
    await assertSound(service.file);
  }

  moveOf(draw: Draw) {
    const { operation, resource, conditions } = draw;
    const idFor = (of: Resource, distance: number) =>
      this.#given.get(of)?.at(-1 - Math.max(distance, 0)) ?? 1_000_000 + distance;
    const ownerId = resource.owner && idFor(resource.owner.resource, draw.ownerBack);
    const id = draw.back < 0 ? 1_000_000 : idFor(resource, draw.back);
    const list = listPath(resource, ownerId);
    const isOnList = ON_LISTS.includes(operation);
    const path = isOnList ? list : `${list}/${id}`;
    const tags = isOnList ? this.#listTags : this.#tags.get(path);
    const match = tags?.condition(conditions.match);
    const noneMatch = tags?.condition(conditions.noneMatch);
    const parts = { ownerId, id, list, path, bodies: bodiesOf(draw), tags };
    return { ...draw, ...parts, match, noneMatch };
  }

  #idsOf(resource: Resource): number[] {
    const paths = (this.#given.get(resource) ?? []).map(
      (id) => [id, `${resource.path}/${id}`] as const,
    );
    return paths.filter(([, path]) => this.#records.has(path)).map(([id]) => id);
  }

  #itemsOf(list: string): Item[] {
    const found = [...this.#records].filter(([path]) => path.replace(/\/\d+$/, '') === list);
    return found.map(([, item]) => item);
  }

  /** Makes a move on the model; `answer` has the ids of new records. */
  #rightAnswer(service: Service, move: Move, answer: Answer): Right {
    const { operation, resource, list, path, id, ownerId, bodies, tags } = move;
    const owner = resource.owner?.resource;
    if (owner && !this.#records.has(`${owner.path}/${ownerId}`)) return notFound(owner, ownerId);
    const item = this.#records.get(path);
    if (!ON_LISTS.includes(operation) && !item) return notFound(resource, id);
    const refusal = refusalOf(move);
    if (refusal) return { ...refusal, ...(tags && { tags }) };
    const [body = {}] = bodies;
    switch (operation) {
      case 'list': {
        const all = this.#itemsOf(list).map((each) => ({ item: each, number: each.id }));
        return { status: 200, ...expectedPage(all, `${service.url}${path}`), tags: this.#listTags };
      }
      case 'create':
      case 'createAll': {
        const given = this.#given.get(resource) ?? [];
        const first: number = [answer.json].flat()[0]?.id;
        assert.ok(first > (given.at(-1) ?? 0), `the id ${first} does not rise`);
        const created = bodies.map((each, index) => this.#store(move, first + index, each));
        given.push(...created.map((each) => each.id));
        if (operation === 'createAll') return { status: 201, body: created, location: list };
        const location = `${list}/${first}`;
        const own = this.#tags.get(location);
        return { status: 201, ...{ body: created[0] ?? {}, location }, ...(own && { tags: own }) };
      }
      case 'remove':
        for (const each of [...this.#records.keys()])
          if (each === path || each.startsWith(`${path}/`)) this.#records.delete(each);
        this.#listTags.change();
        return { status: 204 };
      default: {
        const isChange = operation === 'replace' || Object.keys(body).length > 0;
        const before = operation === 'patch' ? item : {};
        const after =
          isChange && operation !== 'read' ? this.#store(move, id, { ...before, ...body }) : item;
        return { status: 200, ...(after && { body: after }), ...(tags && { tags }) };
      }
    }
  }

  #store({ resource: { owner }, list, ownerId }: Move, id: number, body: Body): Item {
    const path = `${list}/${id}`;
    const item = { ...expected({ ...(owner && { [owner.column]: ownerId }), ...body, id }), id };
    const tags = this.#tags.get(path) ?? new TagHistory();
    for (const each of [tags, this.#listTags]) each.change();
    this.#tags.set(path, tags);
    this.#records.set(path, item);
    return item;
  }
}

/** Returns the JSON values that a move sends. A patch leaves out some fields. */
function bodiesOf({ operation, resource, texts }: Draw): Body[] {
  if (['list', 'read', 'remove'].includes(operation)) return [];
  const isPatch = operation === 'patch';
  const names = Object.keys(resource.fields).filter(
    (name) => resource.fields[name]?.type === 'text',
  );
  const bodies = texts.map((values) => {
    const sent = names.map((name, index) => [name, values[index] ?? (isPatch ? null : 'x')]);
    const members = Object.fromEntries(sent.filter(([, value]) => value !== null));
    return isPatch ? members : { ...samplesOf(resource), ...members };
  });
  return operation === 'createAll' ? bodies : bodies.slice(0, 1);
}

function partsOf({ operation, bodies }: Move): RequestParts {
  if (operation !== 'createAll') return bodies.length > 0 ? { json: bodies[0] } : {};
  const body = bodies.map((each) => JSON.stringify(each)).join('\n');
  return { body, headers: { 'content-type': 'application/x-ndjson' } };
}

function refusalOf({ operation, match, noneMatch }: Move): Right | undefined {
  if (METHODS[operation] === 'POST') return undefined;
  const isMatch = match?.matchesStrongly ?? true;
  const isKnown = noneMatch?.matchesWeakly ?? false;
  if (isMatch && isKnown && METHODS[operation] === 'GET') return { status: 304 };
  if (isMatch && !isKnown) return undefined;
  const isSpoilt = !isMatch && match?.header.includes('W/');
  return { status: 412, body: { ...PRECONDITION_FAILED, ...(isSpoilt && { detail: SPOILT }) } };
}

function assertRight(service: Service, answer: Answer, right: Right, label: string): void {
  const { status, headers, json, text } = answer;
  const { body, tags, location, link } = right;
  const isProblem = body && 'type' in body;
  const whole = isProblem ? { ...body, type: `${service.url}/problems/${body.type}` } : body;
  assert.ok(
    isDeepStrictEqual(json, whole),
    `${label}: ${status} ${text} is not ${JSON.stringify(whole)}`,
  );
  const sent = [status, headers.location, headers.link, headers['idempotent-replayed']];
  assert.deepEqual(sent, [right.status, location, link, undefined], label);
  if (tags) tags.observe(headers.etag);
  else assert.equal(headers.etag, undefined, label);
}

function assertReplay(answer: Answer, first: Answer, label: string): void {
  const shown = ({ status, text, headers }: Answer) => {
    const { 'content-type': type, location, etag } = headers;
    return { status, text, type, location, etag };
  };
  assert.deepEqual(shown(answer), shown(first), label);
  assert.equal(answer.headers['idempotent-replayed'], 'true', label);
}

/** Plays the game of a seed, with restarts on the same file between its rounds. */
export async function playRounds(
  t: TestContext,
  { seed, operations, rounds }: Readonly<Record<'seed' | 'operations' | 'rounds', number>>,
): Promise<void> {
  const model = new Model();
  let service = await startService(t);
  for (const [index, draw] of fc.sample(draws, { seed, numRuns: operations }).entries()) {
    await model.play(service, draw);
    if ((index + 1) % (operations / rounds) > 0) continue;
    await service.close();
    service = await startService(t, { db: service.file });
  }
  await model.assertKept(service);
  // A game without some kinds of answers would prove little.
  for (const status of [200, 201, 204, 304, 404, 412, 422]) {
    const count = model.statuses.filter((each) => each === status).length;
    assert.ok(count >= operations / 100, `${count} of ${operations} answers are ${status}`);
  }
}
