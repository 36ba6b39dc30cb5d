// Sends random operations to the service and to a model of it, and compares all answers.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { allItems, listPath } from './collections.ts';
import { createModel, type Model, type Move } from './model.ts';
import { type Service, startService } from './service.ts';
import { assertSound } from './stored-data.ts';

/** A random move. It names a record by how many ids were given after that of the record. */
type Drawn = Omit<Move, 'id' | 'ownerId' | 'match' | 'noneMatch'> & {
  readonly conditions: Pick<Move, 'match' | 'noneMatch'>;
  readonly back: number | string;
  readonly ownerBack: number | string;
};

const often = <T, U>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<U>) =>
  fc.oneof({ weight: 19, arbitrary: usual as fc.Arbitrary<T | U> }, { weight: 1, arbitrary: rare });

/** About as many of these ids exist as do not, however long the game lasts. */
const ids = (most: number) =>
  often(
    fc.oneof(fc.integer({ min: -1, max: 4 }), fc.integer({ min: -1, max: most })),
    fc.constantFrom('x', '1.0', '1e0', '%31x'),
  );

/**
 * Any code point that is not a surrogate. The unit of fast-check itself takes a second to build.
 */
const character = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));

const text = often(
  fc.string({ unit: character, minLength: 1, maxLength: 20 }),
  fc.constantFrom<(string | number | null | undefined)[]>(
    ...[
      ...['', ' \t', '\u00a0\ufeff', '\ud800', 'a\udc00', 7, null, undefined, 'x'.repeat(201)],
      '😀'.repeat(501),
    ],
  ),
);

const MOST_FIELDS = Math.max(...RESOURCES.map(({ fields }) => Object.keys(fields).length));

const texts = fc.tuple(...Array.from({ length: MOST_FIELDS }, () => text));

const tagKinds = fc.array(
  fc.constantFrom(...(['current', 'current', 'weak', 'old', 'foreign', 'odd'] as const)),
  { minLength: 1, maxLength: 3 },
);

const condition = often(tagKinds, fc.constantFrom('*' as const, 'malformed' as const));

/** Seldom both conditions, because one would hide the other. */
const conditions = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ match: undefined, noneMatch: undefined }) },
  { weight: 4, arbitrary: fc.record({ match: condition, noneMatch: fc.constant(undefined) }) },
  { weight: 6, arbitrary: fc.record({ match: fc.constant(undefined), noneMatch: condition }) },
  { weight: 1, arbitrary: fc.record({ match: condition, noneMatch: condition }) },
);

const moves: fc.Arbitrary<Drawn> = fc.record({
  resource: fc.constantFrom(...RESOURCES),
  operation: fc.oneof(
    { weight: 5, arbitrary: fc.constant('create' as const) },
    {
      weight: 9,
      arbitrary: fc.constantFrom(
        ...(['list', 'read', 'read', 'replace', 'patch', 'remove'] as const),
      ),
    },
    { weight: 2, arbitrary: fc.constantFrom('createAll' as const, 'repeat' as const) },
  ),
  back: ids(30),
  ownerBack: ids(12),
  texts,
  moreTexts: fc.array(texts, { maxLength: 3 }),
  conditions,
  key: fc.constantFrom(undefined, undefined, 'new' as const, 'new' as const, 'used' as const),
  which: fc.nat({ max: 15 }),
  limit: often(
    fc.option(fc.integer({ min: 1, max: 100 }).map(String), { nil: undefined }),
    fc.constantFrom('0', '101'),
  ),
  offset: often(
    fc.option(fc.integer({ min: 0, max: 40 }).map(String), { nil: undefined }),
    fc.constantFrom('-1', '9007199254740991', '9007199254740992', '1.0', '00'),
  ),
});

/** Draws `count` games of `length` moves. */
function draw(seed: number, count: number, length: number): Drawn[][] {
  const game = fc.array(moves, { minLength: length, maxLength: length });
  return fc.sample(game, { seed, numRuns: count });
}

/** The id that `back` names, or one that is never given if there are too few. */
function idFor(given: readonly number[], back: number | string): string {
  return typeof back === 'string'
    ? back
    : String(given[given.length - 1 - back] ?? 1_000_000 + back);
}

function play(
  service: Service,
  model: Model,
  { back, ownerBack, conditions, ...move }: Drawn,
): Promise<number> {
  const { owner } = move.resource;
  return model.play(service, {
    ...move,
    ...conditions,
    id: idFor(model.given(move.resource), back),
    ownerId: idFor(owner ? model.given(owner.resource) : [], ownerBack),
  });
}

/** Asserts that the service keeps exactly the records of all models, and that its file is sound. */
async function assertKept(service: Service, models: readonly Model[]): Promise<void> {
  const together = (resource: Resource, ownerId?: number) =>
    models
      .flatMap((model) => model.list(resource, ownerId))
      .sort((one, other) => one.id - other.id);
  for (const resource of RESOURCES) {
    const { owner } = resource;
    const owners = owner ? together(owner.resource).map(({ id }) => id) : [undefined];
    for (const ownerId of owners) {
      const kept = await allItems(service, listPath(resource, ownerId));
      assert.deepEqual(kept, together(resource, ownerId));
    }
  }
  await assertSound(service.file);
}

/** Asserts that no kind of answer was rare, as a game without them would prove little. */
function assertLively(statuses: readonly number[]): void {
  for (const status of [200, 201, 204, 304, 404, 412, 422]) {
    const count = statuses.filter((each) => each === status).length;
    assert.ok(
      count >= statuses.length / 100,
      `${count} of ${statuses.length} answers are ${status}`,
    );
  }
}

/** How long a game lasts, and the seed that repeats it. */
export interface GameSizes {
  readonly seed: number;
  readonly operations: number;
}

/** Plays a game of one client, with restarts on the same file between its rounds. */
export async function playRounds(
  t: TestContext,
  { seed, operations, rounds }: GameSizes & { readonly rounds: number },
): Promise<void> {
  const model = createModel();
  const statuses: number[] = [];
  let service = await startService(t);
  for (const game of draw(seed, rounds, operations / rounds)) {
    for (const drawn of game) statuses.push(await play(service, model, drawn));
    await service.close();
    service = await startService(t, { db: service.file });
  }
  assertLively(statuses);
  await assertKept(service, [model]);
}

/** Plays games of clients at once, each with records of its own. */
export async function playClients(
  t: TestContext,
  { seed, operations, clients }: GameSizes & { readonly clients: number },
): Promise<void> {
  const service = await startService(t);
  const games = draw(seed, clients, Math.ceil(operations / clients)).map((game) => ({
    game,
    model: createModel({ shared: true }),
  }));
  const statuses = await Promise.all(
    games.map(async ({ game, model }) => {
      const own: number[] = [];
      for (const drawn of game) own.push(await play(service, model, drawn));
      return own;
    }),
  );
  assertLively(statuses.flat());
  const models = games.map(({ model }) => model);
  await assertKept(service, models);
}
