// One run: learns what has changed on both sides, decides, and acts. What cannot be done is left
// for the next run; only a service that does not answer ends it.
import { setTimeout as delay } from 'node:timers/promises';
import { ACTIONS, createAll } from './actions.ts';
import { Unavailable } from './client.ts';
import { SYNC_TIMES } from './effects.ts';
import { findFile, scan } from './folder.ts';
import { copyFile, recoverAside } from './places.ts';
import { type Item, type Look, lookAt, planFor, type World } from './plan.ts';
import type { Report } from './report.ts';
import { type Note, readAll, readChanges, readCursor, readNote } from './service.ts';

/** How runs go. */
export interface RunOptions {
  /** Which sides may be changed. */
  readonly writesHere: boolean;
  readonly writesThere: boolean;
  readonly isDry: boolean;
  readonly maxDeletions: number | undefined;
  readonly stop: AbortSignal;
}

const CONCURRENCY = 8;
const MAX_ROUNDS = 6;
const MAX_TOGETHER = { notes: 500, bytes: 700_000 };
/** To read more notes one by one takes longer than to list all. */
const MAX_SINGLE_READS = 500;
const MAX_HELD_CHARACTERS = 64 * 1_048_576;
/** Fewer deletions are never refused. */
const FEW_DELETIONS = 9;

const WRITES_HERE = ['get', 'delete here', 'conflict', 'move here'];
const WRITES_THERE = ['create', 'send', 'delete there', 'move there'];
const NEEDS_TEXT = ['get', 'compare', 'conflict'];

const isDeletion = ({ action }: Pick<Item, 'action'>) => action.startsWith('delete');

/** The runs in one folder. */
export class Runs {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #report: Report;
  /** The ids of notes to look at again in the next run. */
  #again = new Set<number>();

  constructor(world: World, options: RunOptions, report: Report) {
    this.#world = world;
    this.#options = options;
    this.#report = report;
  }

  /** Brings both sides in step; resolves with the folders, which can be watched. */
  async run(): Promise<readonly string[]> {
    const startMs = performance.now();
    this.#again = new Set();
    this.#report.begin();
    const { notes, cursor } = await this.#readNotes();
    const scanned = scan(this.#world);
    for (const [real, why] of scanned.faults) this.#report.left(real, why);
    const items = planFor(this.#world, scanned, notes);
    this.#refuseManyDeletions(items);
    this.#report.expect(items.length);
    if (this.#options.isDry) {
      for (const { action, path } of items) this.#report.say(`would ${action} ${path}`);
      return scanned.folders;
    }
    await this.#act(items.filter(({ from }) => from));
    const others = items.filter(({ from }) => !from);
    const created = await this.#createTogether(others.filter(({ action }) => action === 'create'));
    await this.#act(others.filter((each) => !created.has(each) && !isDeletion(each)));
    const deletions = others.filter(isDeletion);
    const leftMs = startMs + SYNC_TIMES.missing - performance.now();
    if (deletions.length > 0 && leftMs > 0)
      await delay(leftMs, undefined, { signal: this.#options.stop });
    await this.#act(deletions);
    await this.#keepCursor(cursor, items.length > 0);
    recoverAside(this.#world, () => true);
    this.#report.end(this.#world.state.bases.size);
    return scanned.folders;
  }

  /** Resolves with all notes as they are now, as far as it matters, and a cursor before that. */
  async #readNotes(): Promise<{ notes: Map<string, Note>; cursor: string }> {
    const { state } = this.#world;
    const { cursor, again = [] } = state.head;
    const isUsable = cursor !== undefined && again.length <= MAX_SINGLE_READS;
    const changes = isUsable ? await readChanges(this.#world, cursor) : undefined;
    if (!changes) return this.#listNotes(cursor);
    state.confirm(changes.created);
    const found = new Map(changes.notes);
    for (const id of again) if (!found.has(id)) found.set(id, await readNote(this.#world, id));
    const notes = new Map<string, Note>();
    for (const [path, { id, etag = '', hash }] of state.bases)
      if (id !== undefined && hash !== undefined && !found.has(id))
        notes.set(path, { id, path, etag });
    for (const note of found.values()) if (note) notes.set(note.path, note);
    return { notes, cursor: changes.cursor };
  }

  async #listNotes(known: string | undefined) {
    const cursor = await readCursor(this.#world);
    if (known !== undefined && isOfAnother(cursor, known)) {
      this.#world.state.forgetAll();
      this.#report.tell(
        'The service was restored, or is another one: nothing is deleted, and both texts stay.',
      );
    }
    const notes = new Map<string, Note>();
    let held = 0;
    for await (const { body = '', ...note } of readAll(this.#world)) {
      held += body.length;
      notes.set(note.path, held > MAX_HELD_CHARACTERS ? note : { ...note, body });
    }
    return { notes, cursor };
  }

  #refuseManyDeletions(items: readonly Item[]): void {
    const known = [...this.#world.state.bases.values()].filter(({ hash }) => hash !== undefined);
    const deletions = items.filter((each) => isDeletion(each) && !this.#mustWait(each.action));
    const most = this.#options.maxDeletions ?? Math.max(FEW_DELETIONS, known.length / 2);
    if (deletions.length <= most) return;
    const what = `${deletions.length} of ${known.length} files would be deleted`;
    const example = `${deletions[0]?.action} ${deletions[0]?.path}`;
    throw new Error(
      `nothing was done: ${what} (${example}); to do so, say --max-delete ${deletions.length}`,
    );
  }

  #mustWait(action: string): boolean {
    const { writesHere, writesThere } = this.#options;
    if (WRITES_HERE.includes(action)) return !writesHere;
    return WRITES_THERE.includes(action) && !writesThere;
  }

  /** Creates many notes at once; resolves with their items. */
  async #createTogether(items: readonly Item[]): Promise<ReadonlySet<Item>> {
    const groups: Item[][] = [];
    let bytes = 0;
    for (const item of this.#mustWait('create') ? [] : items) {
      const last = groups.at(-1);
      const { size = 0 } = item.file ?? {};
      bytes += size;
      if (last && last.length < MAX_TOGETHER.notes && bytes < MAX_TOGETHER.bytes) last.push(item);
      else {
        groups.push([item]);
        bytes = size;
      }
    }
    const created = new Set<Item>();
    for (const group of groups) {
      this.#options.stop.throwIfAborted();
      if (group.length === 1 || !(await createAll(this.#world, group))) continue;
      for (const item of group) {
        created.add(item);
        this.#report.done('create', item.path);
      }
    }
    return created;
  }

  /** Carries items out, several at a time. */
  async #act(items: readonly Item[]): Promise<void> {
    const waiting = items.values();
    const work = async () => {
      for (const item of waiting) {
        this.#options.stop.throwIfAborted();
        await this.#attempt(item);
      }
    };
    // All must have come to rest before the run ends.
    const ends = await Promise.allSettled(Array.from({ length: CONCURRENCY }, work));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #attempt(item: Item): Promise<void> {
    try {
      await (item.from ? this.#move(item) : this.#settle(item));
    } catch (error) {
      if (error instanceof Unavailable || this.#options.stop.aborted) throw error;
      this.#leave(item, (error as Error).message);
    }
  }

  #leave({ path, real, note }: Item, why: string): void {
    this.#report.left(real, why);
    this.#lookAgainAt(note?.id, this.#world.state.bases.get(path)?.id);
  }

  #lookAgainAt(...ids: readonly (number | undefined)[]): void {
    for (const id of ids) if (id !== undefined) this.#again.add(id);
  }

  /** Moves what has another path on the other side; what else has changed comes after that. */
  async #move(item: Item): Promise<void> {
    const { path, action, from, file } = item;
    const look = lookAt(this.#world, path, file, item.note);
    if (this.#mustWait(action)) return this.#wait(action, path, item.note?.id, from?.note?.id);
    if (!(await ACTIONS[action]?.(this.#world, item, look))) throw new Error('it keeps changing');
    this.#report.done(action, `${from?.path} -> ${path}`);
    const note = item.note ?? (await readNote(this.#world, path));
    await this.#settle({ ...item, note });
  }

  #wait(action: string, path: string, ...ids: readonly (number | undefined)[]): void {
    this.#report.say(`waits: ${action} ${path}`);
    this.#lookAgainAt(...ids);
  }

  /** Brings one path in step; looks at both sides again if they are not as they were. */
  async #settle(item: Item): Promise<void> {
    const { path, real } = item;
    let { file, note } = item;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      let look = lookAt(this.#world, path, file ?? findFile(this.#world, real), note);
      if (NEEDS_TEXT.includes(look.action) && note?.body === undefined) {
        note = await readNote(this.#world, path);
        look = lookAt(this.#world, path, file ?? findFile(this.#world, real), note);
      }
      if (await this.#perform(item, look)) return;
      file = undefined;
      note = await readNote(this.#world, path);
    }
    throw new Error('it keeps changing');
  }

  async #perform(item: Item, look: Look): Promise<boolean> {
    const { path, fault } = item;
    const { here, note, base, action } = look;
    if (action === 'none') return true;
    if (action === 'leave' || (action === 'get' && fault !== undefined)) {
      this.#report.left(item.real, ('why' in here ? here.why : fault) ?? '');
      if (note?.etag !== base?.etag) this.#lookAgainAt(note?.id);
      return true;
    }
    // A deletion that was not planned has not been looked at twice.
    if (isDeletion(look) && !isDeletion(item)) this.#lookAgainAt(base?.id);
    else if (this.#mustWait(action)) this.#wait(action, path, note?.id, base?.id);
    else if (action === 'conflict') return this.#keepBoth(item, look);
    else if (await ACTIONS[action]?.(this.#world, item, look)) this.#report.done(action, path);
    else return false;
    return true;
  }

  /** Gives the text from here another path, and that of the service its own. */
  async #keepBoth(item: Item, look: Look): Promise<boolean> {
    const { hash } = { hash: '', ...look.here };
    // First, so that the text has a path whatever happens then.
    const real = copyFile(this.#world, item.real, hash);
    if (real === undefined || !(await ACTIONS.get?.(this.#world, item, look))) return false;
    this.#report.done('conflict', `${item.path} -> ${real}`);
    const path = real.normalize();
    const note = await readNote(this.#world, path);
    await this.#settle({ path, real, action: 'create', note });
    return true;
  }

  /** Keeps the cursor behind the changes of this run, and what others changed meanwhile. */
  async #keepCursor(cursor: string, hasActed: boolean): Promise<void> {
    const { state } = this.#world;
    const changes = hasActed ? await readChanges(this.#world, cursor) : undefined;
    if (changes) {
      state.confirm(changes.created);
      const known = new Map([...state.bases.values()].map(({ id, etag }) => [id, etag]));
      for (const [id, note] of changes.notes) if (note?.etag !== known.get(id)) this.#again.add(id);
    }
    const again = this.#again.size > 0 ? { again: [...this.#again] } : {};
    state.save({ cursor: changes?.cursor ?? cursor, ...again });
  }
}

/** Whether a cursor is that of another log than `known`, or of an earlier state of it. */
function isOfAnother(cursor: string, known: string): boolean {
  const [generation, number] = cursor.split('-');
  const [knownGeneration, knownNumber] = known.split('-');
  return generation !== knownGeneration || Number(number) < Number(knownNumber);
}
