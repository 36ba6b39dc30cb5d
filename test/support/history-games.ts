// Sends random changes, deletions, restores and erasures to a service and to a plain model of it:
// under conditions, with keys and in lines, too.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Answer, RequestParts } from './http.ts';
import { type Ended, isKept, keep } from './kept-versions.ts';
import { applyChange, assertSameRecords, type Records, readRecords } from './mirrored-records.ts';
import { expected } from './records.ts';

/** The service under test. */
export interface Opponent {
  request(method: string, path: string, parts?: RequestParts): Promise<Answer>;
}

interface Version extends Ended {
  readonly version: number;
  readonly title: string;
  readonly body: string;
}

interface Note {
  readonly id: number;
  etag: string;
  title: string;
  body: string;
  /** The JSON of its times. */
  times: string;
  name: string | null;
  tags: Set<number>;
  readonly comments: Map<number, string>;
  /** The oldest first. */
  versions: Version[];
}

const NAMES = ['log', 'a.b'];
const WORDS = ['milk', 'oats', '東京', 'Straße', 'zebra'];
const UNKNOWN = 99_999;
/** How many notes and tags there are at most. */
const MAX = 15;

const conditions = fc.record({
  name: fc.constantFrom('if-match' as const, 'if-none-match' as const),
  /** Which tag it names: any, that of the note, the same made weak, or that of no note. */
  kind: fc.constantFrom('*' as const, 'current' as const, 'weak' as const, 'other' as const),
});

const draws = fc.record({
  move: fc.nat(),
  condition: fc.option(conditions, { freq: 2 }),
  pick: fc.nat(),
  other: fc.nat(),
  title: fc.constantFrom(...WORDS),
  body: fc
    .array(fc.constantFrom(...WORDS, 'x', 'y'), { minLength: 1, maxLength: 4 })
    .map((words) => words.join(' ')),
});

type Draw = typeof draws extends fc.Arbitrary<infer Value> ? Value : never;

/** How frequent each move is. */
const MOVES = {
  ...{ create: 2, createOnce: 4, putNamed: 6, read: 3, put: 2, patch: 3, append: 1, rename: 3 },
  ...{ tag: 6, untag: 1, createTag: 1, removeTag: 2 },
  ...{
    comment: 2,
    changeComment: 1,
    removeComment: 1,
    remove: 6,
    restore: 7,
    erase: 1,
    eraseAll: 1,
  },
  ...{ eraseVersions: 1, revert: 1 },
};
const NAMED_MOVES = Object.entries(MOVES).flatMap(([name, times]) =>
  Array.from({ length: times }, () => name as keyof typeof MOVES),
);

/**
 * Plays `moves` of a seed, and compares everything now and then. A long game goes on, up to four
 * times as long, until all that is rare has happened. Resolves with what happened.
 */
export async function playHistory(
  opponent: Opponent,
  { seed, moves }: { readonly seed: number; readonly moves: number },
): Promise<string> {
  const game = new Game(opponent);
  await game.begin();
  const drawn = fc.sample(draws, { seed, numRuns: 4 * moves });
  const isComplete = () => moves < 500 || Object.values(game.counts).every((count) => count > 0);
  for (const [index, draw] of drawn.entries()) {
    if (index >= moves && isComplete()) break;
    const name = NAMED_MOVES[draw.move % NAMED_MOVES.length] ?? assert.fail();
    try {
      await game[name](draw);
      if (index % 50 === 49) await game.compare();
    } catch (error) {
      throw new Error(`seed ${seed}, move ${index}, ${name}`, { cause: error });
    }
  }
  await game.compare();
  // A long game without one of them would prove little.
  assert.ok(isComplete(), JSON.stringify(game.counts));
  return `seed ${seed}: ${JSON.stringify(game.counts)}`;
}

class Game implements Record<keyof typeof MOVES, (draw: Draw) => Promise<void>> {
  /** How often what is rare has happened. */
  readonly counts = {
    ...{ restored: 0, withoutName: 0, withFewerTags: 0, reverted: 0, erased: 0 },
    ...{ refused: 0, notModified: 0, replayed: 0, reused: 0 },
  };
  readonly #opponent: Opponent;
  readonly #notes = new Map<number, Note>();
  /** The latest deletion first. */
  #trash: Note[] = [];
  readonly #tags = new Set<number>();
  /** The creations with a key. */
  readonly #created: { readonly parts: RequestParts; readonly answer: Answer }[] = [];
  #followed: Records = new Map();
  #cursor = '';

  constructor(opponent: Opponent) {
    this.#opponent = opponent;
  }

  async begin(): Promise<void> {
    this.#cursor = (await this.#request(200, 'GET', '/changes')).json.next;
  }

  #request(status: number, method: string, path: string, json?: object): Promise<Answer> {
    return this.#send(status, method, path, json ? { json } : {});
  }

  async #send(status: number, method: string, path: string, parts: RequestParts): Promise<Answer> {
    const answer = await this.#opponent.request(method, path, parts);
    const sent = `${method} ${path} ${JSON.stringify(parts)}`;
    assert.equal(answer.status, status, `${sent}: ${answer.text}`);
    return answer;
  }

  /** Sends a request to a note under the drawn condition; resolves with its success, if any. */
  async #sendTo(
    note: Note | undefined,
    { condition }: Draw,
    [success, method, path]: readonly [status: number, method: string, path: string],
    json?: object,
  ): Promise<Answer | undefined> {
    const parts = json ? { json } : {};
    if (!note || !condition) {
      const answer = await this.#send(note ? success : 404, method, path, parts);
      return note && answer;
    }
    const { name, kind } = condition;
    const { etag } = note;
    const tag = { '*': '*', current: etag, weak: `W/${etag}`, other: '"00000000-1"' }[kind];
    const isKnown = kind !== 'other' && (kind !== 'weak' || name === 'if-none-match');
    const isRefused = isKnown === (name === 'if-none-match');
    const isNotModified = isRefused && isKnown && method === 'GET';
    const status = isNotModified ? 304 : isRefused ? 412 : success;
    const answer = await this.#send(status, method, path, { ...parts, headers: { [name]: tag } });
    this.counts.notModified += Number(isNotModified);
    this.counts.refused += Number(status === 412);
    if (!isRefused) return answer;
    assert.equal(answer.headers.etag, etag);
    return undefined;
  }

  /** The id of a note, mostly of one that exists, and the note. */
  #target({ pick }: Draw): [id: number, note: Note | undefined] {
    const live = [...this.#notes.keys()];
    const ids = [...live, ...live, ...live, ...this.#trash.map(({ id }) => id), UNKNOWN];
    const id = ids[pick % ids.length] ?? UNKNOWN;
    return [id, this.#notes.get(id)];
  }

  /** The id of a note in the trash, mostly, and the note. */
  #deleted(draw: Draw): [id: number, note: Note | undefined] {
    const [id] = draw.other % 6 === 0 ? this.#target(draw) : [];
    const wanted = id ?? this.#trash[draw.pick % this.#trash.length]?.id ?? UNKNOWN;
    return [wanted, this.#trash.find((each) => each.id === wanted)];
  }

  async create(draw: Draw): Promise<void> {
    if (this.#notes.size >= MAX) return this.remove(draw);
    const { title, body } = draw;
    const tags = [...this.#tags].filter((id) => (draw.other >> (id % 8)) & 1);
    const answer = await this.#request(201, 'POST', '/notes', { title, body, tag_ids: tags });
    await this.#add(answer.json.id, draw, { name: null, tags });
    assert.equal(answer.headers.etag, this.#notes.get(answer.json.id)?.etag);
  }

  /** Creates one or two notes with a key, or sends the key of an earlier creation again. */
  async createOnce(draw: Draw): Promise<void> {
    if (this.#notes.size >= MAX) return this.remove(draw);
    const { title, body, pick, other } = draw;
    const lines = Array.from({ length: 1 + (other % 2) }, () => JSON.stringify({ title, body }));
    const type = { 'content-type': lines.length > 1 ? 'application/x-ndjson' : 'application/json' };
    const earlier = this.#created[other % this.#created.length];
    if (earlier && pick % 3 === 0) {
      const { status, text, headers } = await this.#send(201, 'POST', '/notes', earlier.parts);
      const { status: first, text: sent, headers: before } = earlier.answer;
      assert.deepEqual([status, text], [first, sent]);
      assert.deepEqual([headers.etag, headers.location], [before.etag, before.location]);
      assert.equal(headers['idempotent-replayed'], 'true');
      this.counts.replayed += 1;
      return;
    }
    if (earlier && pick % 3 === 1) {
      const parts = { ...earlier.parts, body: `${earlier.parts.body}\n` };
      const { json } = await this.#send(422, 'POST', '/notes', parts);
      assert.match(json.type, /\/idempotency-key-reused$/);
      this.counts.reused += 1;
      return;
    }
    const parts = { body: lines.join('\n'), headers: { ...type, 'idempotency-key': randomUUID() } };
    const answer = await this.#send(201, 'POST', '/notes', parts);
    this.#created.push({ parts, answer });
    const records: { id: number }[] = [answer.json].flat();
    assert.deepEqual(
      records,
      lines.map((_, line) => expected({ id: (records[0]?.id ?? 0) + line, title, body })),
    );
    for (const { id } of records) await this.#add(id, draw, { name: null, tags: [] });
  }

  async #add(
    id: number,
    { title, body }: Draw,
    { name, tags }: { name: string | null; tags: number[] },
  ): Promise<void> {
    this.#notes.set(id, {
      ...{ id, title, body, name, tags: new Set(tags), ...(await this.#stateOf(id)) },
      ...{ comments: new Map(), versions: [] },
    });
  }

  async #stateOf(id: number): Promise<Pick<Note, 'etag' | 'times'>> {
    const path = `/notes/${id}?fields=id&include=times`;
    const { text, headers } = await this.#request(200, 'GET', path);
    return { etag: String(headers.etag), times: text };
  }

  async read(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const answer = await this.#sendTo(note, draw, [200, 'GET', `/notes/${id}`]);
    if (!note || !answer) return;
    assert.deepEqual(answer.json, expected({ id, title: note.title, body: note.body }));
    assert.equal(answer.headers.etag, note.etag);
  }

  async putNamed(draw: Draw): Promise<void> {
    const { pick, title, body } = draw;
    const name = NAMES[pick % NAMES.length] ?? '';
    const holder = [...this.#notes.values()].find((each) => each.name === name);
    const text = { title, body };
    const answer = await this.#request(holder ? 200 : 201, 'PUT', `/named/${name}`, text);
    if (holder) await this.#changed(holder, draw, answer);
    else await this.#add(answer.json.id, draw, { name, tags: [] });
  }

  put = (draw: Draw) =>
    this.#change(draw, 'PUT', { title: draw.title, body: draw.body }, () => draw);

  patch = (draw: Draw) =>
    this.#change(draw, 'PATCH', { body: draw.body }, ({ title }) => ({ ...draw, title }));

  append = (draw: Draw) =>
    this.#change(
      draw,
      'POST',
      { text: draw.title },
      ({ title, body }) => ({ title, body: `${body}\n${draw.title}` }),
      '/append',
    );

  async #change(
    draw: Draw,
    method: string,
    json: object,
    textOf: (note: Note) => Pick<Note, 'title' | 'body'>,
    suffix = '',
  ): Promise<void> {
    const [id, note] = this.#target(draw);
    const answer = await this.#sendTo(note, draw, [200, method, `/notes/${id}${suffix}`], json);
    if (note && answer) await this.#changed(note, textOf(note), answer);
  }

  async #changed(
    note: Note,
    { title, body }: Pick<Note, 'title' | 'body'>,
    { headers, json }: Answer,
  ): Promise<void> {
    assert.deepEqual(json, expected({ id: note.id, title, body }));
    const state = await this.#stateOf(note.id);
    const [from = 0, replacedAt = 0] = [note, state].map(({ times }) =>
      Date.parse(JSON.parse(times).updated_at),
    );
    const isChanged = title !== note.title || body !== note.body;
    if (isChanged && isKept(note.versions, note.versions.at(-1), [from, replacedAt])) {
      const { etag, title, body } = note;
      keep(note.versions, { version: numberOf(etag), title, body, replacedAt });
    }
    assert.equal(headers.etag, state.etag);
    // What changes nothing leaves tag and times as they are.
    if (isChanged) assert.notEqual(state.etag, note.etag);
    else assert.deepEqual(state, { etag: note.etag, times: note.times });
    Object.assign(note, { title, body, ...state });
  }

  /** A name that another note has is refused, after the condition; its own one changes nothing. */
  async rename(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const name = [...NAMES, null][draw.other % (NAMES.length + 1)] ?? null;
    const others = [...this.#notes.values()].filter((each) => each !== note);
    const isTaken = name !== null && others.some((each) => each.name === name);
    const call = [isTaken ? 422 : 200, 'PATCH', `/notes/${id}`] as const;
    const answer = await this.#sendTo(note, draw, call, { name });
    if (!note || !answer || isTaken) return;
    const state = await this.#stateOf(id);
    assert.equal(answer.headers.etag, state.etag);
    if (name === note.name) assert.deepEqual(state, { etag: note.etag, times: note.times });
    else assert.notEqual(state.etag, note.etag);
    Object.assign(note, { name, ...state });
  }

  async tag(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const tag = [...this.#tags][draw.other % this.#tags.size] ?? UNKNOWN;
    const isThere = note && this.#tags.has(tag);
    await this.#request(isThere ? 204 : 404, 'PUT', `/notes/${id}/tags/${tag}`);
    if (isThere) note.tags.add(tag);
  }

  async untag(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const tag = [...this.#tags][draw.other % this.#tags.size] ?? UNKNOWN;
    const isThere = note?.tags.delete(tag);
    await this.#request(isThere ? 204 : 404, 'DELETE', `/notes/${id}/tags/${tag}`);
  }

  async createTag(draw: Draw): Promise<void> {
    if (this.#tags.size >= MAX) return this.removeTag(draw);
    const { json } = await this.#request(201, 'POST', '/tags', { name: draw.title });
    this.#tags.add(json.id);
  }

  async removeTag({ pick }: Draw): Promise<void> {
    const tag = [...this.#tags][pick % this.#tags.size] ?? UNKNOWN;
    await this.#request(this.#tags.delete(tag) ? 204 : 404, 'DELETE', `/tags/${tag}`);
    for (const note of this.#notes.values()) note.tags.delete(tag);
  }

  async comment(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const { body } = draw;
    const path = `/notes/${id}/comments`;
    const { json } = await this.#request(note ? 201 : 404, 'POST', path, { body });
    note?.comments.set(json.id, body);
  }

  async changeComment(draw: Draw): Promise<void> {
    const [path, id, comments] = this.#commentOf(draw);
    const { body } = draw;
    await this.#request(comments ? 200 : 404, 'PUT', path, { body });
    comments?.set(id, body);
  }

  async removeComment(draw: Draw): Promise<void> {
    const [path, id, comments] = this.#commentOf(draw);
    await this.#request(comments ? 204 : 404, 'DELETE', path);
    comments?.delete(id);
  }

  #commentOf(draw: Draw): [path: string, id: number, comments: Note['comments'] | undefined] {
    const [noteId, note] = this.#target(draw);
    const ids = [...(note?.comments.keys() ?? [])];
    const id = ids[draw.other % ids.length] ?? UNKNOWN;
    const path = `/notes/${noteId}/comments/${id}`;
    return [path, id, note?.comments.has(id) ? note.comments : undefined];
  }

  async remove(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const answer = await this.#sendTo(note, draw, [204, 'DELETE', `/notes/${id}`]);
    if (!note || !answer) return;
    this.#notes.delete(id);
    this.#trash.unshift(note);
  }

  /** Sends the request twice at once: it succeeds once. */
  async restore(draw: Draw): Promise<void> {
    const [id, note] = this.#deleted(draw);
    const path = `/trash/${id}/restore`;
    const answers = await Promise.all([1, 2].map(() => this.#opponent.request('POST', path)));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [note ? 200 : 404, 404], path);
    const answer = answers.find(({ status }) => status === 200);
    if (!note || !answer) return;
    this.#trash = this.#trash.filter((each) => each !== note);
    const isTaken = [...this.#notes.values()].some(({ name }) => name === note.name);
    const tags = [...note.tags].filter((tag) => this.#tags.has(tag));
    this.counts.restored += 1;
    this.counts.withoutName += Number(isTaken && note.name !== null);
    this.counts.withFewerTags += Number(tags.length < note.tags.size);
    const etag = String(answer.headers.etag);
    assert.ok(numberOf(etag) > numberOf(note.etag), 'the tag is new');
    Object.assign(note, { etag, tags: new Set(tags), name: isTaken ? null : note.name });
    assert.deepEqual(answer.json, expected({ id, title: note.title, body: note.body }));
    assert.equal(answer.headers.location, `/notes/${id}`);
    this.#notes.set(id, note);
    assert.equal((await this.#stateOf(id)).times, note.times);
  }

  async erase(draw: Draw): Promise<void> {
    const [id, note] = this.#deleted(draw);
    await this.#request(note ? 204 : 404, 'DELETE', `/trash/${id}`);
    this.counts.erased += Number(note !== undefined);
    this.#trash = this.#trash.filter((each) => each !== note);
  }

  async eraseAll({ other }: Draw): Promise<void> {
    if (other % 4 > 0) return;
    await this.#request(204, 'DELETE', '/trash');
    this.#trash = [];
  }

  async eraseVersions(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    await this.#request(note ? 204 : 404, 'DELETE', `/notes/${id}/versions`);
    if (note) Object.assign(note, { versions: [] });
  }

  async revert(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const found = note?.versions[draw.other % note.versions.length];
    const json = { version: found?.version ?? UNKNOWN };
    const status = found ? 200 : note ? 422 : 404;
    const answer = await this.#request(status, 'POST', `/notes/${id}/restore`, json);
    this.counts.reverted += Number(status === 200);
    if (note && found) await this.#changed(note, found, answer);
  }

  /** Asserts that the service has what the model has, and that the changes lead there. */
  async compare(): Promise<void> {
    const live = [...this.#notes.values()].sort((one, other) => one.id - other.id);
    assert.deepEqual(
      await this.#all('/notes?include=tag_ids,name'),
      live.map(({ id, title, body, tags, name }) =>
        expected({ id, title, body, tag_ids: [...tags].sort((a, b) => a - b), name }),
      ),
    );
    assert.deepEqual(
      await this.#all('/trash?fields=id,title,body'),
      this.#trash.map(({ id, title, body }) => ({ id, title, body })),
    );
    for (const { id, comments, versions } of live) {
      const path = `/notes/${id}/versions`;
      const shown = versions.map(({ replacedAt, ...text }) => text).toReversed();
      assert.deepEqual(await this.#all(`${path}?fields=version,title,body`), shown, path);
      assert.deepEqual(
        await this.#all(`/notes/${id}/comments?fields=id,body`),
        Array.from(comments, ([id, body]) => ({ id, body })),
      );
    }
    for (const note of this.#trash) await this.#request(404, 'GET', `/notes/${note.id}/versions`);
    await this.#compareLists(live);
    await this.#follow();
  }

  async #compareLists(live: readonly Note[]): Promise<void> {
    const assertListed = async (query: string, has: (note: Note) => boolean) =>
      assert.deepEqual(
        await this.#all(`/notes?order=id&fields=id&${query}`),
        live.filter(has).map(({ id }) => ({ id })),
        query,
      );
    for (const word of WORDS)
      await assertListed(`q=${encodeURIComponent(word)}`, ({ title, body }) =>
        `${title} ${body}`.includes(word),
      );
    for (const { id, notes_count } of await this.#all('/tags?include=notes_count')) {
      assert.equal(notes_count, live.filter(({ tags }) => tags.has(id)).length);
      await assertListed(`tag_id=${id}`, ({ tags }) => tags.has(id));
    }
  }

  /** Reads a list page by page. */
  async #all(path: string) {
    const items = [];
    for (;;) {
      const separator = path.includes('?') ? '&' : '?';
      const page = `${path}${separator}limit=7&offset=${items.length}`;
      const { json } = await this.#request(200, 'GET', page);
      items.push(...json.items);
      if (json.items.length < 7 || items.length === json.total) {
        assert.equal(items.length, json.total, page);
        return items;
      }
    }
  }

  async #follow(): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const path = `/changes?include=record&limit=100&since=${this.#cursor}`;
      const { json } = await this.#request(200, 'GET', path);
      for (const change of json.items) applyChange(this.#followed, change);
      this.#cursor = json.next;
      hasMore = json.more;
    }
    const stored = await readRecords((path) => this.#request(200, 'GET', path));
    assertSameRecords(this.#followed, stored);
  }
}

function numberOf(etag: string): number {
  return Number(/-(\d+)"/.exec(etag)?.[1]);
}
