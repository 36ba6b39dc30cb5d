// Random requests with tags by name and by id, compared with a model in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import type { RequestParts } from '../../support/http.ts';
import { lines, NOTE } from '../../support/tagged-notes.ts';

const id = fc.integer({ min: 1, max: 8 });
const name = fc.constantFrom('a', 'b', 'a\u0000', 'a,b', '\u{1d4b3}', '1');
const tags = fc.oneof(
  { weight: 3, arbitrary: fc.record({ tags: fc.uniqueArray(name, { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ tag_ids: fc.uniqueArray(id, { maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.constant({}) },
);
const kindOf = <Kind extends string>(kind: Kind) => ({ kind: fc.constant(kind) });

const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...kindOf('create'),
      bodies: fc.array(tags, { minLength: 1, maxLength: 3 }),
      key: fc.option(fc.integer({ min: 1, max: 3 })),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      ...kindOf('change'),
      note: id,
      body: tags,
      title: fc.option(fc.constantFrom('x', ' ')),
      isRefused: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...kindOf('rename'), tag: id, name }) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('removeTag'), tag: id }) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('removeNote'), note: id }) },
  {
    weight: 5,
    arbitrary: fc.record({
      ...kindOf('list'),
      names: fc.array(name, { maxLength: 2 }),
      ids: fc.array(id, { maxLength: 2 }),
      order: fc.constantFrom('id', '-id', 'updated'),
    }),
  },
);
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;
type Body = { readonly tags?: readonly string[]; readonly tag_ids?: readonly number[] };

class Model {
  /** By id; ids increase. */
  readonly tags = new Map<number, string>();
  readonly notes = new Map<number, Set<number>>();
  readonly #answered = new Map<number, string>();
  #lastNote = 0;
  #lastTag = 0;

  /** Makes a move; returns the status of its answer. */
  play(each: Move): number {
    switch (each.kind) {
      case 'create':
        return this.#create(each);
      case 'change':
        return this.#change(each);
      case 'rename':
        if (!this.tags.has(each.tag)) return 404;
        this.tags.set(each.tag, each.name);
        return 200;
      case 'removeTag':
        for (const set of this.notes.values()) set.delete(each.tag);
        return this.tags.delete(each.tag) ? 204 : 404;
      case 'removeNote':
        return this.notes.delete(each.note) ? 204 : 404;
      case 'list':
        return 200;
    }
  }

  /** Returns the ids of the notes with all these tags. */
  with(names: readonly string[], ids: readonly number[]): number[] {
    const wanted = [...ids, ...names.map((each) => this.#idOf(each) ?? 0)];
    const found = [...this.notes].filter(([, set]) => wanted.every((each) => set.has(each)));
    return found.map(([note]) => note);
  }

  namesOn(note: number): string[] {
    const ordered = [...(this.notes.get(note) ?? [])].sort((one, other) => one - other);
    return [...new Set(ordered.map((each) => this.tags.get(each) ?? assert.fail()))];
  }

  #create({ bodies, key }: Extract<Move, { kind: 'create' }>): number {
    const sent = JSON.stringify(bodies);
    const answered = key === null ? undefined : this.#answered.get(key);
    if (answered !== undefined) return answered === sent ? 201 : 422;
    if (!bodies.every((each) => this.#isKnown(each))) return 422;
    for (const each of bodies) {
      this.#lastNote += 1;
      this.notes.set(this.#lastNote, new Set());
      this.#tag(this.#lastNote, each);
    }
    if (key !== null) this.#answered.set(key, sent);
    return 201;
  }

  #change({ note, body, title, isRefused }: Extract<Move, { kind: 'change' }>): number {
    if (title === ' ') return 422;
    if (!this.notes.has(note)) return 404;
    if (isRefused) return 412;
    if (!this.#isKnown(body)) return 422;
    this.#tag(note, body);
    return 200;
  }

  #isKnown({ tag_ids: ids = [] }: Body): boolean {
    return ids.every((each) => this.tags.has(each));
  }

  #tag(note: number, { tags: names, tag_ids: ids }: Body): void {
    const set = ids ?? names?.map((each) => this.#idOf(each) ?? this.#createTag(each));
    if (set) this.notes.set(note, new Set(set));
  }

  #idOf(wanted: string): number | undefined {
    return [...this.tags].find(([, each]) => each === wanted)?.[0];
  }

  #createTag(created: string): number {
    this.#lastTag += 1;
    this.tags.set(this.#lastTag, created);
    return this.#lastTag;
  }
}

function requestOf(each: Move): [method: string, path: string, parts: RequestParts] {
  switch (each.kind) {
    case 'create': {
      const { body = '', headers } = lines(...each.bodies.map((body) => ({ ...NOTE, ...body })));
      const key = each.key === null ? {} : { 'idempotency-key': `${each.key}` };
      return ['POST', '/notes', { body, headers: { ...headers, ...key } }];
    }
    case 'change': {
      const { note, body, title, isRefused } = each;
      const headers = isRefused ? { 'if-match': '"00000000-0"' } : undefined;
      const json = title === null ? body : { ...NOTE, ...body, title };
      const method = title === null ? 'PATCH' : 'PUT';
      return [method, `/notes/${note}`, { json, ...(headers && { headers }) }];
    }
    case 'rename':
      return ['PUT', `/tags/${each.tag}`, { json: { name: each.name } }];
    case 'removeTag':
      return ['DELETE', `/tags/${each.tag}`, {}];
    case 'removeNote':
      return ['DELETE', `/notes/${each.note}`, {}];
    case 'list': {
      const query = new URLSearchParams({ order: each.order, include: 'tags', limit: '100' });
      for (const wanted of each.names) query.append('tag', wanted);
      for (const wanted of each.ids) query.append('tag_id', `${wanted}`);
      return ['GET', `/notes?${query}`, {}];
    }
  }
}

async function play(service: Target, game: readonly Move[]): Promise<void> {
  const model = new Model();
  for (const each of game) {
    const [method, path, parts] = requestOf(each);
    const { status, json, text } = await service.request(method, path, parts);
    const label = `${method} ${path} ${JSON.stringify(parts)} ${text}`;
    assert.equal(status, model.play(each), label);
    if (each.kind === 'list') {
      const { items, total } = json as { items: { id: number; tags: string[] }[]; total: number };
      const found = model.with(each.names, each.ids);
      assert.deepEqual([items.map((note) => note.id).sort(), total], [found.sort(), found.length]);
      for (const note of items) assert.deepEqual(note.tags, model.namesOn(note.id), label);
    }
  }
  const { items } = (await service.request('GET', '/tags?limit=100')).json;
  assert.deepEqual(
    items.map((tag: { id: number; name: string }) => [tag.id, tag.name]),
    [...model.tags],
  );
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  test(`tags by name: random requests, as in a model, ${deployment}`, async (t) => {
    const games = fc.array(move, { minLength: 30, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(games, async (game) => play(await start(t), game)),
      { numRuns: 2, endOnFailure: true },
    );
  });
