// Plays random operations against the service and against a model of it in memory, and compares every answer whole.
// NOTES_TEST_SEED=N plays the game of seed N again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { allItems } from '../../support/collections.ts';
import { createModel, type Model, type Move, NAMES } from '../../support/model.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

const OPERATIONS = 5_000;
const ROUNDS = 10;
const CLIENTS = 24;
const seed = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);

/** A move as it is drawn: where it names a record, it says how many ids before the last one given that one's was. */
type Drawn = Omit<Move, 'id' | 'noteId'> & { readonly back: number | string; readonly noteBack: number | string };

const often = <T, U>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<U>) =>
  fc.oneof({ weight: 19, arbitrary: usual as fc.Arbitrary<T | U> }, { weight: 1, arbitrary: rare });

/** Ids are drawn so that about as many are found as are not, however long the game lasts. */
const ids = (most: number) => often(fc.integer({ min: -1, max: most }), fc.constantFrom('x', '1.0', '1e0', '%31x'));

const text = often(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
  fc.constantFrom<(string | number | undefined)[]>(
    ...['', ' \t', '\u00a0\ufeff', '\ud800', 'a\udc00', 7, undefined, 'x'.repeat(201), '😀'.repeat(501)],
  ),
);

const moves: fc.Arbitrary<Drawn> = fc.record({
  collection: fc.constantFrom(...NAMES),
  operation: fc.oneof(
    { weight: 4, arbitrary: fc.constant('create' as const) },
    { weight: 5, arbitrary: fc.constantFrom('list' as const, 'read' as const, 'replace' as const, 'remove' as const) },
  ),
  back: ids(30),
  noteBack: ids(12),
  texts: fc.tuple(text, text),
  limit: often(
    fc.option(fc.integer({ min: 1, max: 100 }).map(String), { nil: undefined }),
    fc.constantFrom('0', '101'),
  ),
  offset: often(
    fc.option(fc.integer({ min: 0, max: 40 }).map(String), { nil: undefined }),
    fc.constantFrom('-1', '9007199254740991', '9007199254740992', '1.0', '00'),
  ),
});

function draw(count: number, length: number): Drawn[][] {
  return fc.sample(fc.array(moves, { minLength: length, maxLength: length }), { seed, numRuns: count });
}

/** The id that is meant by `back`: one that was given, or if none is, one that nobody will ever have. */
function idFor(given: readonly number[], back: number | string): string {
  return typeof back === 'string' ? back : String(given[given.length - 1 - back] ?? 1_000_000 + back);
}

function play(service: Service, model: Model, { back, noteBack, ...move }: Drawn): Promise<number> {
  const { given } = model;
  return model.play(service, {
    ...move,
    id: idFor(given[move.collection], back),
    noteId: idFor(given.notes, noteBack),
  });
}

/** Asserts that what the service keeps is what the models know together, and that its file is sound. */
async function assertKept(service: Service, models: readonly Model[]): Promise<void> {
  const together = (list: (model: Model) => readonly { id: number }[]) =>
    models.flatMap(list).sort((one, other) => one.id - other.id);
  for (const name of ['notes', 'tags'] as const) {
    const all = together((model) => model.list(name));
    assert.deepEqual(await allItems(service, `/${name}`), all);
    assert.equal((await service.request('GET', `/${name}`)).json.total, all.length);
  }
  for (const { id } of together((model) => model.list('notes'))) {
    const comments = together((model) => model.list('comments', id));
    const { json } = await service.request('GET', `/notes/${id}/comments?limit=100`);
    assert.deepEqual([json.items, json.total], [comments.slice(0, 100), comments.length]);
  }
  await assertSound(service.file);
}

/** Asserts that each kind of answer came often: a game in which hardly anything happens proves nothing. */
function assertLively(statuses: readonly number[]): void {
  for (const status of [200, 201, 204, 404, 422]) {
    const count = statuses.filter((each) => each === status).length;
    assert.ok(count >= statuses.length / 50, `${count} of ${statuses.length} answers are ${status}`);
  }
}

console.log(`model test: NOTES_TEST_SEED=${seed}`);

test(`${OPERATIONS} random operations are answered as a model in memory answers them`, async (t) => {
  const model = createModel();
  const statuses: number[] = [];
  let service = await startService(t);
  for (const game of draw(ROUNDS, OPERATIONS / ROUNDS)) {
    for (const drawn of game) statuses.push(await play(service, model, drawn));
    // The next round goes on after a restart on the same file.
    await service.close();
    service = await startService(t, { db: service.file });
  }
  assertLively(statuses);
  await assertKept(service, [model]);
});

test(`${CLIENTS} clients at once, each with records of its own, are answered as their models answer them`, async (t) => {
  const service = await startService(t);
  const clients = draw(CLIENTS, Math.ceil(OPERATIONS / CLIENTS)).map((game) => ({
    game,
    model: createModel({ shared: true }),
  }));
  const statuses = await Promise.all(
    clients.map(async ({ game, model }) => {
      const own: number[] = [];
      for (const drawn of game) own.push(await play(service, model, drawn));
      return own;
    }),
  );
  assertLively(statuses.flat());
  await assertKept(
    service,
    clients.map(({ model }) => model),
  );
});
