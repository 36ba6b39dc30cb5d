// Sends random deletions, restores, erasures and changes to a service and to a plain model of it.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Answer, RequestParts } from './http.ts';
import { applyChange, assertSameRecords, type Records, readRecords } from './mirrored-records.ts';

/** The service under test. */
export interface Opponent {
  request(method: string, path: string, parts?: RequestParts): Promise<Answer>;
  /** Lets ten minutes pass, after which the next change of a text keeps a version. */
  age(): Promise<void>;
}

interface Version {
  readonly version: number;
  readonly title: string;
  readonly body: string;
}

interface Note {
  readonly id: number;
  /** That of its tag. */
  number: number;
  title: string;
  body: string;
  /** The JSON of its times. */
  times: string;
  name: string | null;
  tags: Set<number>;
  readonly comments: Map<number, string>;
  /** The latest first. */
  versions: Version[];
  /** Whether a version was kept in the last ten minutes. */
  isRecent: boolean;
}

const NAMES = ['log', 'a.b'];
const WORDS = ['milk', 'oats', '東京', 'Straße', 'zebra'];
const UNKNOWN = 99_999;
/** How many notes and tags there are at most. */
const MAX = 15;

const draws = fc.record({
  move: fc.nat(),
  pick: fc.nat(),
  other: fc.nat(),
  title: fc.constantFrom(...WORDS),
  body: fc.array(fc.constantFrom(...WORDS, 'x', 'y'), { minLength: 1, maxLength: 4 }),
});

interface Draw {
  readonly pick: number;
  readonly other: number;
  readonly text: { readonly title: string; readonly body: string };
}

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
  for (const [index, { move, title, body, ...draw }] of drawn.entries()) {
    if (index >= moves && isComplete()) break;
    const [name, play] = game.moves[move % game.moves.length] ?? assert.fail();
    try {
      await play({ ...draw, text: { title, body: body.join(' ') } });
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

class Game {
  /** How often what is rare has happened. */
  readonly counts = { restored: 0, withoutName: 0, withFewerTags: 0, reverted: 0, erased: 0 };
  readonly #opponent: Opponent;
  readonly #notes = new Map<number, Note>();
  /** The latest deletion first. */
  #trash: Note[] = [];
  readonly #tags = new Set<number>();
  #followed: Records = new Map();
  #cursor = '';

  constructor(opponent: Opponent) {
    this.#opponent = opponent;
  }

  async begin(): Promise<void> {
    this.#cursor = (await this.#request(200, 'GET', '/changes')).json.next;
  }

  /** The moves, some of which are more frequent. */
  get moves(): readonly (readonly [string, (draw: Draw) => Promise<unknown>])[] {
    const often = { create: 3, putNamed: 6, removeTag: 2, tag: 6, remove: 6, restore: 6, age: 2 };
    const all = {
      create: (draw: Draw) => this.#create(draw),
      putNamed: (draw: Draw) => this.#putNamed(draw),
      put: (draw: Draw) => this.#change(draw, 'PUT', '', draw.text, () => draw.text),
      patch: ({ text: { body }, ...draw }: Draw) =>
        this.#change(draw, 'PATCH', '', { body }, ({ title }) => ({ title, body })),
      append: ({ text: { title: text }, ...draw }: Draw) =>
        this.#change(draw, 'POST', '/append', { text }, ({ title, body }) => ({
          title,
          body: `${body}\n${text}`,
        })),
      tag: (draw: Draw) => this.#tag(draw, 'PUT'),
      untag: (draw: Draw) => this.#tag(draw, 'DELETE'),
      createTag: (draw: Draw) => this.#createTag(draw),
      removeTag: (draw: Draw) => this.#removeTag(draw),
      comment: (draw: Draw) => this.#comment(draw),
      changeComment: (draw: Draw) => this.#changeComment(draw),
      removeComment: (draw: Draw) => this.#removeComment(draw),
      remove: (draw: Draw) => this.#remove(draw),
      restore: (draw: Draw) => this.#restore(draw, 1),
      restoreTwice: (draw: Draw) => this.#restore(draw, 2),
      erase: (draw: Draw) => this.#erase(draw),
      eraseAll: ({ other }: Draw) => this.#eraseAll(other),
      eraseVersions: (draw: Draw) => this.#eraseVersions(draw),
      revert: (draw: Draw) => this.#revert(draw),
      age: () => this.#age(),
    };
    return Object.entries(all).flatMap((each) =>
      Array.from({ length: often[each[0] as keyof typeof often] ?? 1 }, () => each),
    );
  }

  async #request(status: number, method: string, path: string, json?: object): Promise<Answer> {
    const parts = json ? { json } : {};
    const answer = await this.#opponent.request(method, path, parts);
    assert.equal(
      answer.status,
      status,
      `${method} ${path} ${JSON.stringify(json)}: ${answer.text}`,
    );
    return answer;
  }

  /** The id of a note, mostly of one that exists, and the note. */
  #target({ pick }: Pick<Draw, 'pick'>): [id: number, note: Note | undefined] {
    const live = [...this.#notes.keys()];
    const ids = [...live, ...live, ...live, ...this.#trash.map(({ id }) => id), UNKNOWN];
    const id = ids[pick % ids.length] ?? UNKNOWN;
    return [id, this.#notes.get(id)];
  }

  /** The id of a note in the trash, mostly, and the note. */
  #deleted({ pick, other }: Draw): [id: number, note: Note | undefined] {
    const [id] = other % 6 === 0 ? this.#target({ pick }) : [];
    const note = this.#trash[pick % this.#trash.length];
    const wanted = id ?? note?.id ?? UNKNOWN;
    return [wanted, this.#trash.find((each) => each.id === wanted)];
  }

  async #create(draw: Draw): Promise<void> {
    if (this.#notes.size >= MAX) return this.#remove(draw);
    const tags = [...this.#tags].filter((id) => (draw.other >> (id % 8)) & 1);
    const answer = await this.#request(201, 'POST', '/notes', { ...draw.text, tag_ids: tags });
    await this.#add(answer, draw, { name: null, tags });
  }

  async #add(answer: Answer, { text }: Draw, given: { name: string | null; tags: number[] }) {
    const id = Number(answer.headers.location?.split('/').at(-1));
    const note: Note = {
      ...{ id, ...text, ...given, number: numberOf(answer), tags: new Set(given.tags), times: '' },
      ...{ comments: new Map(), versions: [], isRecent: false },
    };
    this.#notes.set(id, note);
    note.times = await this.#timesOf(id);
  }

  async #timesOf(id: number): Promise<string> {
    const { text } = await this.#request(200, 'GET', `/notes/${id}?fields=id&include=times`);
    return text;
  }

  async #putNamed(draw: Draw): Promise<void> {
    const name = NAMES[draw.pick % NAMES.length] ?? '';
    const holder = [...this.#notes.values()].find((each) => each.name === name);
    const answer = await this.#request(holder ? 200 : 201, 'PUT', `/named/${name}`, draw.text);
    if (holder) await this.#changed(holder, draw.text, answer);
    else await this.#add(answer, draw, { name, tags: [] });
  }

  async #change(
    draw: Pick<Draw, 'pick'>,
    method: string,
    suffix: string,
    json: object,
    textOf: (note: Note) => Draw['text'],
  ): Promise<void> {
    const [id, note] = this.#target(draw);
    const answer = await this.#request(note ? 200 : 404, method, `/notes/${id}${suffix}`, json);
    if (note) await this.#changed(note, textOf(note), answer);
  }

  async #changed(note: Note, { title, body }: Draw['text'], answer: Answer): Promise<void> {
    if (!note.isRecent && (title !== note.title || body !== note.body)) {
      note.versions.unshift({ version: note.number, title: note.title, body: note.body });
      note.isRecent = true;
    }
    Object.assign(note, { title, body, number: numberOf(answer) });
    assert.deepEqual(answer.json, { id: note.id, title, body });
    note.times = await this.#timesOf(note.id);
  }

  async #tag(draw: Draw, method: 'PUT' | 'DELETE'): Promise<void> {
    const [id, note] = this.#target(draw);
    const tag = [...this.#tags][draw.other % this.#tags.size] ?? UNKNOWN;
    const isThere = note && (method === 'PUT' ? this.#tags.has(tag) : note.tags.has(tag));
    await this.#request(isThere ? 204 : 404, method, `/notes/${id}/tags/${tag}`);
    if (method === 'DELETE') note?.tags.delete(tag);
    else if (isThere) note.tags.add(tag);
  }

  async #createTag(draw: Draw): Promise<void> {
    if (this.#tags.size >= MAX) return this.#removeTag(draw);
    const { json } = await this.#request(201, 'POST', '/tags', { name: draw.text.title });
    this.#tags.add(json.id);
  }

  async #removeTag({ pick }: Draw): Promise<void> {
    const tag = [...this.#tags][pick % this.#tags.size] ?? UNKNOWN;
    await this.#request(this.#tags.delete(tag) ? 204 : 404, 'DELETE', `/tags/${tag}`);
    for (const note of this.#notes.values()) note.tags.delete(tag);
  }

  async #comment(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const { body } = draw.text;
    const { json } = await this.#request(note ? 201 : 404, 'POST', `/notes/${id}/comments`, {
      body,
    });
    note?.comments.set(json.id, body);
  }

  async #changeComment(draw: Draw): Promise<void> {
    const [path, id, note] = this.#commentOf(draw);
    const { body } = draw.text;
    await this.#request(note ? 200 : 404, 'PUT', path, { body });
    note?.comments.set(id, body);
  }

  async #removeComment(draw: Draw): Promise<void> {
    const [path, id, note] = this.#commentOf(draw);
    await this.#request(note ? 204 : 404, 'DELETE', path);
    note?.comments.delete(id);
  }

  #commentOf(draw: Draw): [path: string, id: number, note: Note | undefined] {
    const [noteId, note] = this.#target(draw);
    const ids = [...(note?.comments.keys() ?? [])];
    const id = ids[draw.other % ids.length];
    const path = `/notes/${noteId}/comments/${id ?? UNKNOWN}`;
    return [path, id ?? UNKNOWN, id === undefined ? undefined : note];
  }

  async #remove(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    await this.#request(note ? 204 : 404, 'DELETE', `/notes/${id}`);
    if (!note) return;
    this.#notes.delete(id);
    this.#trash.unshift(note);
  }

  /** Sends the request several times at once: it succeeds once. */
  async #restore(draw: Draw, times: number): Promise<void> {
    const [id, note] = this.#deleted(draw);
    const path = `/trash/${id}/restore`;
    const requests = Array.from({ length: times }, () => this.#opponent.request('POST', path));
    const answers = await Promise.all(requests);
    const restored = answers.filter(({ status }) => status === 200);
    const statuses = answers.map(({ status }) => status).sort();
    const others = Array.from({ length: times - Number(note !== undefined) }, () => 404);
    assert.deepEqual(statuses, note ? [200, ...others] : others, path);
    const [answer] = restored;
    if (!note || !answer) return;
    this.#trash = this.#trash.filter((each) => each !== note);
    const isTaken = [...this.#notes.values()].some(({ name }) => name === note.name);
    const tags = [...note.tags].filter((tag) => this.#tags.has(tag));
    this.counts.restored += 1;
    this.counts.withoutName += Number(isTaken && note.name !== null);
    this.counts.withFewerTags += Number(tags.length < note.tags.size);
    if (isTaken) note.name = null;
    note.tags = new Set(tags);
    const number = numberOf(answer);
    assert.ok(number > note.number, 'the tag is new');
    note.number = number;
    assert.deepEqual(answer.json, { id, title: note.title, body: note.body });
    assert.equal(answer.headers.location, `/notes/${id}`);
    this.#notes.set(id, note);
    assert.equal(await this.#timesOf(id), note.times);
  }

  async #erase(draw: Draw): Promise<void> {
    const [id, note] = this.#deleted(draw);
    await this.#request(note ? 204 : 404, 'DELETE', `/trash/${id}`);
    this.counts.erased += Number(note !== undefined);
    this.#trash = this.#trash.filter((each) => each !== note);
  }

  async #eraseAll(other: number): Promise<void> {
    if (other % 4 > 0) return;
    await this.#request(204, 'DELETE', '/trash');
    this.#trash = [];
  }

  async #eraseVersions(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    await this.#request(note ? 204 : 404, 'DELETE', `/notes/${id}/versions`);
    if (note) Object.assign(note, { versions: [], isRecent: false });
  }

  async #revert(draw: Draw): Promise<void> {
    const [id, note] = this.#target(draw);
    const found = note?.versions[draw.other % note.versions.length];
    const json = { version: found?.version ?? UNKNOWN };
    const status = found ? 200 : note ? 422 : 404;
    const answer = await this.#request(status, 'POST', `/notes/${id}/restore`, json);
    this.counts.reverted += Number(status === 200);
    if (note && found) await this.#changed(note, found, answer);
  }

  async #age(): Promise<void> {
    await this.#opponent.age();
    for (const note of [...this.#notes.values(), ...this.#trash]) note.isRecent = false;
  }

  /** Asserts that the service has what the model has, and that the changes lead there. */
  async compare(): Promise<void> {
    const live = [...this.#notes.values()].sort((one, other) => one.id - other.id);
    const textsOf = ({ id, title, body }: Note) => ({ id, title, body });
    assert.deepEqual(
      await this.#all('/notes?include=tag_ids,name'),
      live.map((note) => ({
        ...{ ...textsOf(note), tag_ids: [...note.tags].sort((a, b) => a - b), name: note.name },
      })),
    );
    assert.deepEqual(await this.#all('/trash?fields=id,title,body'), this.#trash.map(textsOf));
    for (const note of live) {
      const comments = await this.#all(`/notes/${note.id}/comments?fields=id,body`);
      assert.deepEqual(
        comments,
        Array.from(note.comments, ([id, body]) => ({ id, body })),
      );
      const path = `/notes/${note.id}/versions`;
      assert.deepEqual(await this.#all(`${path}?fields=version,title,body`), note.versions, path);
    }
    for (const note of this.#trash) await this.#request(404, 'GET', `/notes/${note.id}/versions`);
    await this.#compareLists(live);
    await this.#follow();
  }

  async #compareLists(live: readonly Note[]): Promise<void> {
    const idsOf = (items: readonly { readonly id: number }[]) => items.map(({ id }) => id);
    for (const word of WORDS) {
      const items = await this.#all(`/notes?order=id&q=${encodeURIComponent(word)}`);
      const found = live.filter(({ title, body }) => `${title} ${body}`.includes(word));
      assert.deepEqual(idsOf(items), idsOf(found), word);
    }
    for (const tag of await this.#all('/tags?include=notes_count')) {
      const tagged = live.filter(({ tags }) => tags.has(tag.id));
      assert.equal(tag.notes_count, tagged.length);
      assert.deepEqual(idsOf(await this.#all(`/notes?tag_id=${tag.id}`)), idsOf(tagged));
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

function numberOf({ headers }: Answer): number {
  return Number(/-(\d+)"/.exec(String(headers.etag))?.[1]);
}
