// Sends random operations to the service and to a model of it, and compares all answers.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { notes } from '../../src/resources/notes.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { tags } from '../../src/resources/tags.ts';
import { anyCharacter } from './any-character.ts';
import { allItems, listPath } from './collections.ts';
import { createModel, type Model } from './model.ts';
import { LINK_MOVES, type Move } from './model-moves.ts';
import { type Service, startService } from './service.ts';
import { assertSound } from './stored-data.ts';

type Drawn = Omit<Move, 'id' | 'ownerId' | 'match' | 'noneMatch' | 'linkIds'> & {
  readonly conditions: Pick<Move, 'match' | 'noneMatch'>;
  readonly otherBack: number;
  readonly linkBacks: readonly number[] | undefined;
  readonly back: number;
  readonly ownerBack: number;
};

/** About as many of these ids exist as do not, however long the game lasts. */
const ids = (most: number) =>
  fc.oneof(fc.integer({ min: -1, max: 4 }), fc.integer({ min: -1, max: most }));

/** Ids that mostly exist, for links. */
const nearIds = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 0, max: 5 }) },
  { weight: 1, arbitrary: ids(12) },
);

const text = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
  .filter((each) => each.trim() !== '');

const MOST_FIELDS = Math.max(...RESOURCES.map(({ fields }) => Object.keys(fields).length));

const texts = fc.tuple(...Array.from({ length: MOST_FIELDS }, () => text));

const tagKinds = fc.array(
  fc.constantFrom(...(['current', 'current', 'weak', 'old', 'foreign', 'odd'] as const)),
  { minLength: 1, maxLength: 3 },
);

const condition = fc.oneof(
  { weight: 19, arbitrary: tagKinds },
  { weight: 1, arbitrary: fc.constant('*' as const) },
);

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
    { weight: 5, arbitrary: fc.constant('list' as const) },
    { weight: 7, arbitrary: fc.constant('read' as const) },
    { weight: 4, arbitrary: fc.constantFrom('replace' as const, 'patch' as const) },
    { weight: 1, arbitrary: fc.constant('remove' as const) },
    { weight: 3, arbitrary: fc.constantFrom(...(['link', 'link', 'unlink'] as const)) },
    { weight: 2, arbitrary: fc.constantFrom('createAll' as const, 'repeat' as const) },
  ),
  back: ids(30),
  ownerBack: ids(12),
  texts,
  moreTexts: fc.array(texts, { maxLength: 3 }),
  conditions,
  key: fc.constantFrom(undefined, undefined, 'new' as const, 'new' as const, 'used' as const),
  which: fc.nat({ max: 15 }),
  otherBack: nearIds,
  linkBacks: fc.option(fc.array(nearIds, { maxLength: 3 }), { nil: undefined, freq: 1 }),
});

function draw(seed: number, count: number, length: number): Drawn[][] {
  const game = fc.array(moves, { minLength: length, maxLength: length });
  return fc.sample(game, { seed, numRuns: count });
}

/** The id that `back` names, or one that is never given if there are too few. */
function idFor(given: readonly number[], back: number): string {
  return String(given[given.length - 1 - back] ?? 1_000_000 + back);
}

function play(
  service: Service,
  model: Model,
  { back, ownerBack, otherBack, conditions, linkBacks, ...move }: Drawn,
): Promise<number> {
  const isLink = LINK_MOVES.has(move.operation);
  const resource = isLink ? notes : move.resource;
  // Records that mostly exist.
  const isNear = isLink || (move.operation === 'read' && move.which > 5);
  const { owner } = resource;
  const tagFor = (distance: number) => idFor(model.given(tags), distance);
  return model.play(service, {
    ...move,
    ...conditions,
    resource,
    id: idFor(model.given(resource), isNear ? move.which % 4 : back),
    ownerId: owner ? idFor(model.given(owner.resource), ownerBack) : tagFor(otherBack),
    linkIds: linkBacks && [...new Set(linkBacks.map((each) => Number(tagFor(each))))],
  });
}

/** Asserts that the service keeps exactly the records of the model, and that its file is sound. */
async function assertKept(service: Service, model: Model): Promise<void> {
  for (const resource of RESOURCES) {
    const { owner } = resource;
    const owners = owner ? model.list(owner.resource, undefined).map(({ id }) => id) : [undefined];
    for (const ownerId of owners) {
      const kept = await allItems(service, listPath(resource, ownerId));
      assert.deepEqual(kept, model.list(resource, ownerId));
    }
  }
  for (const { id } of model.list(notes, undefined)) {
    const { json } = await service.request('GET', `${notes.path}/${id}?include=tag_ids`);
    assert.deepEqual(new Set(json.tag_ids), new Set(model.linkedTo(id)));
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

/** Plays the game of a seed, with restarts on the same file between its rounds. */
export async function playRounds(
  t: TestContext,
  { seed, operations, rounds }: Readonly<Record<'seed' | 'operations' | 'rounds', number>>,
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
  await assertKept(service, model);
}
