// Sends random operations to the service and to a model of it, and compares all answers.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { tags } from '../../src/resources/tags.ts';
import { allItems, listPath } from './collections.ts';
import { createModel, type Model } from './model.ts';
import { type ListParameters, membersOf } from './model-lists.ts';
import type { Move } from './model-moves.ts';
import { type Service, startService } from './service.ts';
import { assertSound } from './stored-data.ts';

/** A random move. It names a record by how many ids were given after that of the record. */
type Drawn = Omit<Move, 'id' | 'ownerId' | 'match' | 'noneMatch' | 'linkIds' | 'parameters'> & {
  readonly conditions: Pick<Move, 'match' | 'noneMatch'>;
  readonly otherBack: number;
  readonly linkBacks: readonly number[] | undefined;
  readonly drawnList: DrawnList;
  readonly back: number;
  readonly ownerBack: number;
};

/** The parameters of a list; keys as shares of the greatest, tags by how many were given after. */
type DrawnList = Omit<ListParameters, 'after' | 'before' | 'tag_id' | 'name' | 'include'> & {
  readonly after: number | undefined;
  readonly before: number | undefined;
  /** Positions of the members to include; beyond the last one, none is. */
  readonly members: readonly number[];
  readonly tagBacks: readonly number[];
  readonly nameBack: number | undefined;
};

/** About as many of these ids exist as do not, however long the game lasts. */
const ids = (most: number) =>
  fc.oneof(fc.integer({ min: -1, max: 4 }), fc.integer({ min: -1, max: most }));

/** Ids that mostly exist, for links. */
const nearIds = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 0, max: 5 }) },
  { weight: 1, arbitrary: ids(12) },
);

/**
 * Any code point that is not a surrogate. The unit of fast-check itself takes a second to build.
 */
const character = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));

/** Words that notes contain and lists are searched for. */
const WORDS = 'milk Milch crème creme 東京都 東京 スカイツリー 雨 안녕 zz'.split(' ');

const text = fc
  .oneof(
    fc.string({ unit: character, minLength: 1, maxLength: 20 }),
    fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 }).map((all) => all.join(' ')),
  )
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

const key = fc.integer({ min: 0, max: 110 });

const positions = fc.oneof(
  fc.constant({}),
  fc.record({ after: key }),
  fc.record({ before: key }),
  fc.record({ offset: fc.integer({ min: 0, max: 40 }).map(String) }),
);

const term = fc.record({
  text: fc.constantFrom(...WORDS),
  isPhrase: fc.boolean(),
  isPrefix: fc.boolean(),
  isExcluded: fc.boolean(),
});

const words = fc
  .tuple(term, fc.array(term, { maxLength: 1 }))
  .map(([first, more]) => [{ ...first, isExcluded: false }, ...more]);

const names = fc.integer({ min: 0, max: 4 });

const tagFilter = fc.array(nearIds, { minLength: 1, maxLength: 2 });

/** Seldom two filters, because few records satisfy both. */
const filters: fc.Arbitrary<Partial<DrawnList>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: fc.record({ tagBacks: tagFilter, nameBack: names }) },
  { weight: 3, arbitrary: fc.record({ words }) },
  { weight: 1, arbitrary: fc.record({ tagBacks: tagFilter, words }) },
  { weight: 1, arbitrary: fc.constant({ untagged: 'true' }) },
);

const list = fc
  .record({
    limit: fc.constantFrom(undefined, '1', '2', '3', '5', '8', '100'),
    order: fc.constantFrom(undefined, 'id', '-id', 'updated', '-updated'),
    members: fc.array(fc.nat({ max: 2 }), { maxLength: 2 }),
    filters,
    position: positions,
  })
  .map(({ position, filters: chosen, ...others }): DrawnList => {
    const none = { offset: undefined, after: undefined, before: undefined };
    const all = { untagged: undefined, tagBacks: [], nameBack: undefined, words: [] };
    return { ...none, ...all, ...others, ...position, ...chosen };
  });

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
  isLinked: fc.boolean(),
  otherBack: nearIds,
  linkBacks: fc.option(fc.array(nearIds, { maxLength: 3 }), { nil: undefined, freq: 1 }),
  drawnList: list,
});

/** Draws `count` games of `length` moves. */
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
  { back, ownerBack, otherBack, conditions, linkBacks, drawnList, ...move }: Drawn,
): Promise<number> {
  const isLink = move.operation === 'link' || move.operation === 'unlink';
  const resource = isLink ? notes : move.resource;
  // Records that mostly exist.
  const isNear = isLink || (move.operation === 'read' && move.which > 5);
  const { owner } = resource;
  return model.play(service, {
    ...move,
    ...conditions,
    resource,
    id: idFor(model.given(resource), isNear ? move.which % 4 : back),
    ownerId: owner
      ? idFor(model.given(owner.resource), ownerBack)
      : otherFor(model, resource, otherBack, move),
    linkIds: linkBacks && [
      ...new Set(linkBacks.map((each) => Number(idFor(model.given(tags), each)))),
    ],
    parameters: parametersFor(model, resource, {
      ...drawnList,
      // Otherwise few records would be read with tags of their own.
      ...(move.operation === 'read' && move.which > 3 && { members: [] }),
    }),
  });
}

/** Returns the id of the record at the other end of a link; that of a list mostly has some. */
function otherFor(
  model: Model,
  resource: Resource,
  back: number,
  { operation, which }: Pick<Move, 'operation' | 'which'>,
): string {
  const link = model.links().at(-1 - 3 * which);
  if (operation === 'list' && link && back !== 0) return String(link[resource === notes ? 1 : 0]);
  return idFor(model.given(resource === notes ? tags : notes), back);
}

/** Returns the ids of tags: mostly such as a note has together. */
function tagsFor(model: Model, backs: readonly number[]): string[] {
  const links = model.links();
  const [first] = backs;
  const note = first !== undefined && links.at(-1 - ((7 * first) % links.length))?.[0];
  const together = links.filter(([id]) => id === note).map(([, tag]) => tag);
  return backs.map((back, index) =>
    back < 5 && together.length > 0
      ? String(together[(back + index) % together.length])
      : idFor(model.given(tags), back),
  );
}

function parametersFor(model: Model, resource: Resource, drawn: DrawnList): ListParameters {
  const { after, before, members, tagBacks, nameBack, ...parameters } = drawn;
  const known = membersOf(resource);
  const isByChanges = parameters.order?.endsWith('updated');
  const greatest = isByChanges ? model.lastNumber() : (model.given(resource).at(-1) ?? 0);
  const keyFor = (share: number | undefined) =>
    share === undefined ? undefined : String(Math.floor((share * greatest) / 100));
  const named =
    nameBack === undefined ? undefined : model.list(tags, undefined).at(-1 - nameBack)?.name;
  return {
    ...parameters,
    include: [...new Set(members)].flatMap((index) => known[index] ?? []),
    after: keyFor(after),
    before: keyFor(before),
    tag_id: tagsFor(model, tagBacks),
    name: named === undefined ? undefined : String(named),
  };
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

/**
 * Plays a game of so many operations, with restarts on the same file between its rounds. The same
 * seed gives the same game.
 */
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
