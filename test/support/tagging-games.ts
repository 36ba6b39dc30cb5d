// Random batches of writes on notes, tags, tags on notes and comments, with keys, names and times,
// compared with a model that carries them out one after the other.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { soundnessQueries } from '../../src/commands/check.ts';
import type { Problem } from '../../src/http/problem.ts';
import { isOneOf, NEVER } from '../../src/records/condition.ts';
import type { Verdict } from '../../src/records/parts.ts';
import type { Stored } from '../../src/records/writes.ts';
import { comments } from '../../src/resources/comments.ts';
import { notes } from '../../src/resources/notes.ts';
import { tags } from '../../src/resources/tags.ts';
import type { Database } from '../../src/storage/database.ts';
import { createWriter } from '../../src/storage/writer.ts';
import type { RowTag } from '../../src/tags/bodies.ts';
import { createNoteTags } from '../../src/tags/note-tags.ts';
import { rows } from './databases.ts';
import { tableOf } from './tables.ts';

/** Returns the tables of notes, of tags and of tags on notes; their writes share batches. */
export function taggingTablesOf(database: Database) {
  const write = createWriter(database);
  return {
    notes: tableOf(notes, database, write),
    tags: tableOf(tags, database, write),
    comments: tableOf(comments, database, write),
    noteTags: createNoteTags(database, write),
  };
}

/** Returns the stored tags on notes in order, each as "NOTE-TAG". */
export async function storedNoteTags(database: Database): Promise<unknown[]> {
  const found = await rows(
    database,
    `SELECT note_id || '-' || tag_id AS pair FROM note_tags JOIN tags ON tags.id = tag_id
     ORDER BY note_id, tag_id`,
  );
  return found.map(({ pair }) => pair);
}

const id = (max: number) => fc.integer({ min: 1, max });
const name = fc.constantFrom('t', 'u', 'u\u0000', '\u{1d4b3}', '1', '[0,1]');
const given = fc.oneof(
  fc.uniqueArray(id(5), { maxLength: 4 }),
  fc.uniqueArray(name, { maxLength: 4 }),
);
const kindOf = <Kind extends string>(kind: Kind) => ({ kind: fc.constant(kind) });
const pair = { note: id(6), tag: id(5) };

const noteName = fc.constantFrom('n', 'm');
const condition = fc.constantFrom('none' as const, 'current' as const, 'never' as const);

const anyWrite = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...kindOf('tag'), ...pair }) },
  { weight: 3, arbitrary: fc.record({ ...kindOf('untag'), ...pair }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...kindOf('create'),
      sets: fc.array(given, { minLength: 1, maxLength: 3 }),
      key: fc.option(id(3)),
      name: fc.option(noteName),
      time: fc.option(fc.constantFrom(0, 1_000)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...kindOf('comment'),
      note: id(6),
      count: id(2),
      key: fc.option(id(3)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      ...kindOf('change'),
      note: id(6),
      given,
      title: fc.option(fc.constantFrom('x', 'y')),
      condition,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...kindOf('rename'),
      note: id(6),
      /** Undefined leaves the name. */
      name: fc.option(fc.option(noteName), { nil: undefined }),
      at: fc.option(noteName),
      added: fc.uniqueArray(name, { maxLength: 2 }),
      removed: fc.uniqueArray(name, { maxLength: 2 }),
      given: fc.option(given),
      title: fc.option(fc.constantFrom('x', 'y')),
      condition,
    }),
  },
  { weight: 1, arbitrary: fc.record(kindOf('createNote')) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('replaceNote'), note: id(6) }) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('removeNote'), note: id(6) }) },
  { weight: 2, arbitrary: fc.record({ ...kindOf('createTag'), name }) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('removeTag'), tag: id(5) }) },
);
type AnyWrite = typeof anyWrite extends fc.Arbitrary<infer T> ? T : never;
type Renaming = Extract<AnyWrite, { kind: 'rename' }>;

/** Games: batches of writes. */
export const taggingGames = fc.array(fc.array(anyWrite, { minLength: 1, maxLength: 14 }), {
  minLength: 1,
  maxLength: 8,
});

class Model {
  readonly notes = new Map<number, Set<number>>();
  /** The names by id; ids increase. */
  readonly tags = new Map<number, string>();
  /** The notes that have changed since the tags of the batch were read. */
  readonly changed = new Set<number>();
  readonly #answers = new Map<number, { id: number; content: string }>();
  readonly names = new Map<string, number>();
  readonly #titles = new Map<number, string>();
  #lastNote = 0;
  #lastTag = 0;
  #lastComment = 0;

  noteTags(): string[] {
    const ordered = [...this.notes].sort(([one], [other]) => one - other);
    const inOrder = (set: Set<number>) => [...set].sort((one, other) => one - other);
    return ordered.flatMap(([note, set]) => inOrder(set).map((tag) => `${note}-${tag}`));
  }

  /** Returns where unknown ids are in the body of a request. */
  #missing(sets: readonly GivenTags[]): string[] {
    return sets.flatMap((set, row) =>
      set.flatMap((tag, index) =>
        typeof tag === 'string' || this.tags.has(tag) ? [] : [`#/${row}/tag_ids/${index}`],
      ),
    );
  }

  /** Returns the ids of tags; creates those with a new name. */
  #idsOf(set: GivenTags): number[] {
    return set.map((tag) => {
      if (typeof tag === 'number') return tag;
      const known = [...this.tags].find(([, name]) => name === tag);
      return known?.[0] ?? this.#createTag(tag);
    });
  }

  #createTag(name: string): number {
    this.#lastTag += 1;
    this.tags.set(this.#lastTag, name);
    return this.#lastTag;
  }

  perform(write: AnyWrite): unknown {
    switch (write.kind) {
      case 'tag':
      case 'untag': {
        const set = this.notes.get(write.note);
        const isTagged = set?.has(write.tag) ?? false;
        if (write.kind === 'untag') set?.delete(write.tag);
        else if (this.tags.has(write.tag)) set?.add(write.tag);
        if (!set) return 'no note';
        if (!this.tags.has(write.tag)) return 'no tag';
        return isTagged ? 'tagged' : 'untagged';
      }
      case 'create':
        return this.#create(write);
      case 'change': {
        if (!this.#admits(write)) return undefined;
        const missing = this.#missing([write.given]);
        if (missing.length > 0) return missing;
        const last = this.#lastTag;
        this.notes.set(write.note, new Set(this.#idsOf(write.given)));
        if (write.title !== null) this.#setTitle(write.note, write.title);
        return { id: write.note, ...this.#newSince(last) };
      }
      case 'rename':
        return this.#rename(write);
      case 'createNote':
        this.#lastNote += 1;
        this.notes.set(this.#lastNote, new Set());
        this.#setTitle(this.#lastNote, 'a');
        return this.#lastNote;
      case 'replaceNote':
        this.#setTitle(write.note, 'c');
        return this.notes.has(write.note);
      case 'removeNote':
        for (const [name, note] of this.names) if (note === write.note) this.names.delete(name);
        return this.notes.delete(write.note);
      case 'comment':
        return this.#comment(write);
      case 'createTag':
        return this.#createTag(write.name);
      case 'removeTag':
        for (const set of this.notes.values()) set.delete(write.tag);
        return this.tags.delete(write.tag);
    }
  }

  #admits({ note, condition }: Pick<Renaming, 'note' | 'condition'>): boolean {
    const isRefused = condition === 'current' && this.changed.has(note);
    return this.notes.has(note) && condition !== 'never' && !isRefused;
  }

  #rename(write: Renaming): unknown {
    const { note, at, name, given, title, added, removed } = write;
    if (!this.#admits(write) || (at !== null && this.names.get(at) !== note)) return undefined;
    const missing = this.#missing(given ? [given] : []);
    if (missing.length > 0) return missing;
    const [before = null] = [...this.names].find(([, each]) => each === note) ?? [];
    if (name !== undefined && name !== before) {
      if (name !== null && this.names.has(name)) return 'taken';
      this.changed.add(note);
      if (before !== null) this.names.delete(before);
      if (name !== null) this.names.set(name, note);
    }
    const last = this.#lastTag;
    if (given) this.notes.set(note, new Set(this.#idsOf(given)));
    else this.#retag(this.notes.get(note) ?? assert.fail(), added, removed);
    if (title !== null) this.#setTitle(note, title);
    return { id: note, ...this.#newSince(last) };
  }

  #retag(tags: Set<number>, added: readonly string[], removed: readonly string[]): void {
    const isNamed = (name: string) => (tag: number) => this.tags.get(tag) === name;
    for (const name of removed)
      if (!added.includes(name))
        for (const tag of [...tags].filter(isNamed(name))) tags.delete(tag);
    for (const name of added)
      if (![...tags].some(isNamed(name))) for (const tag of this.#idsOf([name])) tags.add(tag);
  }

  /** Returns the outcome of the tags that were created by name. */
  #newSince(last: number): object {
    const first = last + 1;
    if (this.#lastTag === last) return {};
    return { createdIds: { tag_id: this.#lastTag === first ? first : [first, this.#lastTag] } };
  }

  /** Only another title is a change. */
  #setTitle(note: number, title: string): void {
    if (this.#titles.get(note) !== title) this.changed.add(note);
    this.#titles.set(note, title);
  }

  /** Returns the outcome for a key that was used before. */
  #replayed(key: number | null, content: string): unknown {
    const known = key === null ? undefined : this.#answers.get(key);
    if (known && known.content !== content) return 'reused';
    return known && { id: known.id, isReplay: true };
  }

  #comment({ note, count, key }: Extract<AnyWrite, { kind: 'comment' }>): unknown {
    const content = `${note} ${count}`;
    const replayed = this.#replayed(key, content);
    if (replayed) return replayed;
    if (!this.notes.has(note)) return undefined;
    const id = this.#lastComment + 1;
    this.#lastComment += count;
    if (key !== null) this.#answers.set(key, { id, content });
    return { id, isReplay: false };
  }

  #create({ sets, key, name }: Extract<AnyWrite, { kind: 'create' }>): unknown {
    const content = JSON.stringify([sets, name]);
    const replayed = this.#replayed(key, content);
    if (replayed) return replayed;
    const missing = this.#missing(sets);
    if (missing.length > 0) return missing;
    if (name !== null && this.names.has(name)) return 'taken';
    if (name !== null) this.names.set(name, this.#lastNote + 1);
    const first = this.#lastNote + 1;
    const last = this.#lastTag;
    for (const [index, set] of sets.entries()) {
      this.#lastNote += 1;
      this.notes.set(this.#lastNote, new Set(this.#idsOf(set)));
      this.#setTitle(this.#lastNote, `${index}`);
    }
    if (key !== null) this.#answers.set(key, { id: first, content });
    return { id: first, isReplay: false, ...this.#newSince(last) };
  }
}

type GivenTags = readonly (number | string)[];

function rowTagsOf(sets: readonly GivenTags[]): RowTag[] {
  return sets.flatMap((set, row) => set.map((tag): RowTag => [row, tag]));
}

/** Returns the outcome of a refusal. */
function refused({ slug, extras: { errors = [] } }: Problem): unknown {
  if (errors[0]?.code === 'taken') return 'taken';
  return slug === 'idempotency-key-reused' ? 'reused' : errors.map(({ pointer }) => pointer);
}

/** Returns the outcome of a change that may have set the title. */
function changedNote(
  changed: (Partial<Stored> & Verdict) | undefined,
  title: string | null,
): unknown {
  if (!changed) return undefined;
  const { text, createdIds, refusal } = changed;
  if (refusal) return refused(refusal);
  const record = JSON.parse(String(text));
  if (title !== null) assert.equal(record.title, title);
  return { id: record.id, ...(createdIds && { createdIds }) };
}

/** Performs a write; `tagOf` returns the entity tag that a note had before the batch. */
async function perform(
  tables: ReturnType<typeof taggingTablesOf>,
  write: AnyWrite,
  tagOf: (note: number) => string,
): Promise<unknown> {
  const { notes, tags, noteTags } = tables;
  switch (write.kind) {
    case 'tag':
      return noteTags.add([write.note, write.tag]);
    case 'untag':
      return noteTags.remove([write.note, write.tag]);
    case 'create': {
      const { sets, key, name, time } = write;
      const tags = rowTagsOf(sets);
      const records = sets.map((_, index) => [`${index}`, 'b']);
      const created = await notes.createWith(records, {
        ...(key !== null && { once: { key: `${key}`, fingerprint: JSON.stringify([sets, name]) } }),
        ...(tags.length > 0 && { tags }),
        ...(name !== null && { name }),
        ...(time !== null && { times: sets.map(() => [time, time]) }),
      });
      const { tag, texts, refusal, ...outcome } = created ?? assert.fail();
      if (refusal) return refused(refusal);
      assert.equal(texts.length, sets.length);
      assert.match(tag, /^[0-9a-f]{8}-\d+$/);
      return outcome;
    }
    case 'change': {
      const { note, title, condition } = write;
      const values = [title, null];
      const admitted = { none: null, never: NEVER, current: isOneOf([tagOf(note)]) }[condition];
      const changed = await notes.changeTagged(note, values, rowTagsOf([write.given]), 0, admitted);
      return changedNote(changed, title);
    }
    case 'rename': {
      const { note, title, name, at, given, added, removed } = write;
      const admitted = { none: null, never: NEVER, current: isOneOf([tagOf(note)]) };
      const tags = given && rowTagsOf([given]);
      const parts = {
        ...(name !== undefined && { name }),
        ...(tags ? { tags } : { added, removed: removed.filter((each) => !added.includes(each)) }),
      };
      const change = notes.changeNamed(note, at, [title, null], parts, admitted[write.condition]);
      return changedNote(await change, title);
    }
    case 'comment': {
      const { note, count, key } = write;
      const records = Array.from({ length: count }, () => ['c']);
      const once = key === null ? undefined : { key: `${key}`, fingerprint: `${note} ${count}` };
      const created = await tables.comments.create(records, note, once);
      if (created?.refusal) return refused(created.refusal);
      return created && { id: created.id, isReplay: created.isReplay };
    }
    case 'createNote':
      return (await notes.create([['a', 'b']]))?.id;
    case 'replaceNote':
      return (await notes.change(write.note, ['c', 'b'])) !== undefined;
    case 'removeNote':
      return notes.remove(write.note);
    case 'createTag':
      return (await tags.create([[write.name]]))?.id;
    case 'removeTag':
      return tags.remove(write.tag);
  }
}

/** Plays a game on an empty database and compares each batch with the model. */
export async function playTaggingGame(
  database: Database,
  game: readonly (readonly AnyWrite[])[],
): Promise<void> {
  const tables = taggingTablesOf(database);
  const model = new Model();
  for (const batch of game) {
    model.changed.clear();
    const before = await Promise.all([1, 2, 3, 4, 5, 6].map((note) => tables.notes.read(note)));
    const outcomes = await Promise.all(
      batch.map((each) => perform(tables, each, (note) => before[note - 1]?.tag ?? 'none')),
    );
    assert.deepEqual(
      outcomes,
      batch.map((each) => model.perform(each)),
    );
    assert.deepEqual(await storedNoteTags(database), model.noteTags());
    const names = await rows(database, 'SELECT name, note_id FROM note_names');
    assert.deepEqual(new Map(names.map(({ name, note_id }) => [name, note_id])), model.names);
    const named = await rows(database, 'SELECT id, name FROM tags ORDER BY id');
    assert.deepEqual(
      named.map(({ id, name }) => [id, name]),
      [...model.tags],
    );
    await assertLogged(database, model.noteTags());
    for (const sql of soundnessQueries()) assert.deepEqual(await rows(database, sql), []);
  }
}

/** Asserts that the log leads to these tags on notes, and that numbers are used once. */
async function assertLogged(database: Database, noteTags: readonly string[]): Promise<void> {
  const logged = await rows(
    database,
    'SELECT number, type, id, other_id FROM changes ORDER BY number',
  );
  const current = new Set<string>();
  const records = new Set<string>();
  for (const { type, id: first, other_id: second } of logged) {
    const pair = `${first}-${second}`;
    if (String(type).endsWith('.created')) records.add(`${type} ${first}`);
    // Both are created first.
    if (type === 'note.tagged')
      for (const part of [`note.created ${first}`, `tag.created ${second}`])
        assert.ok(records.has(part), part);
    if (type === 'note.tagged') assert.ok(!current.has(pair) && current.add(pair), pair);
    if (type === 'note.untagged') assert.ok(current.delete(pair), pair);
    if (type === 'note.deleted') forget(current, (each) => each.startsWith(`${first}-`));
    if (type === 'tag.deleted') forget(current, (each) => each.endsWith(`-${first}`));
  }
  assert.deepEqual([...current].sort(), [...noteTags].sort());
}

function forget(pairs: Set<string>, isGone: (pair: string) => boolean): void {
  for (const pair of [...pairs]) if (isGone(pair)) pairs.delete(pair);
}
