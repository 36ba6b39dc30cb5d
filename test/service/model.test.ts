// Plays random operations against the service and against a plain model of it in memory, and compares every answer.
// NOTES_TEST_SEED=N plays the game of seed N again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Service, startService } from './harness.ts';

const OPERATIONS = 5_000;
const ROUNDS = 10;

type Texts = Record<string, string>;

/** A collection in memory: records by id, and the last id ever given. */
interface Shelf {
  readonly label: string;
  readonly fields: readonly string[];
  readonly records: Map<number, Texts & { owner: string }>;
  last: number;
}

interface Expected {
  readonly status: number;
  readonly body?: unknown;
  readonly detail?: string;
  readonly location?: string;
}

/** One move of the game: an operation on one of the collections, with ids that are near those in use. */
interface Move {
  readonly collection: 'notes' | 'tags' | 'comments';
  readonly operation: 'list' | 'create' | 'read' | 'replace' | 'remove';
  readonly noteId: number;
  readonly id: number;
  readonly texts: readonly string[];
  readonly limit: number;
  readonly offset: number;
}

class Model {
  readonly notes: Shelf = { label: 'Note', fields: ['title', 'body'], records: new Map(), last: 0 };
  readonly tags: Shelf = { label: 'Tag', fields: ['name'], records: new Map(), last: 0 };
  readonly comments: Shelf = { label: 'Comment', fields: ['body'], records: new Map(), last: 0 };

  play(move: Move): { method: string; path: string; json?: Texts; expected: Expected } {
    const shelf = this[move.collection];
    const owner = move.collection === 'comments' ? String(move.noteId) : '';
    const base = move.collection === 'comments' ? `/notes/${owner}/comments` : `/${move.collection}`;
    const path = move.operation === 'list' || move.operation === 'create' ? base : `${base}/${move.id}`;
    const orphan = owner !== '' && !this.notes.records.has(move.noteId);
    const json = Object.fromEntries(shelf.fields.map((field, index) => [field, move.texts[index] ?? '']));
    const valid = Object.values(json).every((text) => /\S/u.test(text) && text.isWellFormed());
    const found = shelf.records.get(move.id);
    const record = found?.owner === owner ? found : undefined;
    const show = (id: number, texts: Texts) => ({ id, ...(owner === '' ? {} : { note_id: Number(owner) }), ...texts });
    const missing = orphan
      ? { status: 404, detail: `Note with ID ${owner} was not found.` }
      : { status: 404, detail: `${shelf.label} with ID ${move.id} was not found.` };

    switch (move.operation) {
      case 'list': {
        const { limit, offset } = move;
        const all = [...shelf.records].filter(([, each]) => each.owner === owner).sort(([one], [other]) => one - other);
        const items = all.slice(offset, offset + limit).map(([id, { owner: _, ...texts }]) => show(id, texts));
        const body = { items, limit, offset, total: all.length };
        return {
          method: 'GET',
          path: `${path}?limit=${limit}&offset=${offset}`,
          expected: orphan ? missing : { status: 200, body },
        };
      }
      case 'create': {
        if (!valid) return { method: 'POST', path, json, expected: { status: 422 } };
        if (orphan) return { method: 'POST', path, json, expected: missing };
        shelf.last += 1;
        shelf.records.set(shelf.last, { ...json, owner });
        const expected = { status: 201, body: show(shelf.last, json), location: `${path}/${shelf.last}` };
        return { method: 'POST', path, json, expected };
      }
      case 'read': {
        if (!record) return { method: 'GET', path, expected: missing };
        const { owner: _, ...texts } = record;
        return { method: 'GET', path, expected: { status: 200, body: show(move.id, texts) } };
      }
      case 'replace': {
        if (!valid) return { method: 'PUT', path, json, expected: { status: 422 } };
        if (!record) return { method: 'PUT', path, json, expected: missing };
        shelf.records.set(move.id, { ...json, owner });
        return { method: 'PUT', path, json, expected: { status: 200, body: show(move.id, json) } };
      }
      case 'remove': {
        if (!record) return { method: 'DELETE', path, expected: missing };
        shelf.records.delete(move.id);
        if (move.collection === 'notes') {
          for (const [id, each] of this.comments.records)
            if (each.owner === String(move.id)) this.comments.records.delete(id);
        }
        return { method: 'DELETE', path, expected: { status: 204 } };
      }
    }
  }
}

/** A move as it is drawn: its ids are counted down from the last ones given. */
type Drawn = Omit<Move, 'id' | 'noteId'> & { readonly near: number; readonly nearNote: number };

/** Ids are drawn so that about as many are found as are not, however long the game lasts. */
const moves: fc.Arbitrary<Drawn> = fc.record({
  collection: fc.constantFrom('notes', 'tags', 'comments'),
  operation: fc.oneof(
    { weight: 4, arbitrary: fc.constant('create' as const) },
    { weight: 5, arbitrary: fc.constantFrom('list' as const, 'read' as const, 'replace' as const, 'remove' as const) },
  ),
  near: fc.integer({ min: -1, max: 30 }),
  nearNote: fc.integer({ min: -1, max: 12 }),
  texts: fc.array(
    fc.oneof(
      { weight: 9, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }) },
      { weight: 1, arbitrary: fc.constantFrom('', ' \t', '\ud800', '"', '\\', '\u0000', '\u2028') },
    ),
    { minLength: 2, maxLength: 2 },
  ),
  limit: fc.integer({ min: 1, max: 100 }),
  offset: fc.integer({ min: 0, max: 40 }),
});

async function playOne(service: Service, model: Model, drawn: Drawn): Promise<number> {
  const id = model[drawn.collection].last - drawn.near + 1;
  const noteId = model.notes.last - drawn.nearNote + 1;
  const { method, path, json, expected } = model.play({ ...drawn, id, noteId });
  const answer = await service.request(method, path, json ? { json } : {});
  const label = `${method} ${path} ${JSON.stringify(json)}`;
  assert.equal(answer.status, expected.status, label);
  if (expected.body) assert.deepEqual(answer.json, expected.body, label);
  if (expected.detail) assert.equal(answer.json.detail, expected.detail, label);
  assert.equal(answer.headers.location, expected.location, label);
  return answer.status;
}

test(`${OPERATIONS} random operations are answered as a model in memory answers them`, async (t) => {
  const seed = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  console.log(`model test: NOTES_TEST_SEED=${seed}`);
  const games = fc.sample(fc.array(moves, { minLength: OPERATIONS / ROUNDS, maxLength: OPERATIONS / ROUNDS }), {
    seed,
    numRuns: ROUNDS,
  });
  const model = new Model();
  const played = new Map<number, number>();
  let service = await startService(t);
  for (const game of games) {
    for (const drawn of game) {
      const status = await playOne(service, model, drawn);
      played.set(status, (played.get(status) ?? 0) + 1);
    }
    // The next round goes on after a restart on the same file.
    const { file } = service;
    await service.close();
    service = await startService(t, { db: file });
  }
  // A game in which hardly anything happens proves nothing.
  for (const status of [200, 201, 204, 404, 422])
    assert.ok((played.get(status) ?? 0) >= 200, `${status}: ${played.get(status)}`);
});
