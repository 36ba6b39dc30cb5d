// One run: learns what has changed on both sides, decides, and acts. What cannot be done is left
// for the next run; only a service that does not answer ends it.
import { setTimeout as delay } from 'node:timers/promises';
import { ACTIONS, createAll } from './actions.ts';
import { Unavailable } from './client.ts';
import { SYNC_TIMES } from './effects.ts';
import { findFile, scan, type Watched } from './folder.ts';
import { clearAside, putCopy, reasonOf } from './places.ts';
import { type Item, type Look, lookAt, planFor, refuseExchange, type World } from './plan.ts';
import type { Report } from './report.ts';
import { generationOf, type Note, readAll, readChanges, readCursor, readNote } from './service.ts';

/** A run in a folder. */
export interface Run extends World {
  readonly report: Report;
  /** Which sides may be changed. */
  readonly writesHere: boolean;
  readonly writesThere: boolean;
  readonly isDry: boolean;
  readonly maxDeletions: number | undefined;
  readonly stop: AbortSignal;
  readonly watched: Watched;
  /** The ids of notes to look at again in the next run. */
  readonly again: Set<number>;
}

const CONCURRENCY = 8;
const MAX_ROUNDS = 6;
const MAX_TOGETHER = { notes: 500, bytes: 300_000 };
/** To read more notes one by one takes longer than to list all. */
const MAX_SINGLE_READS = 500;
const MAX_HELD_CHARACTERS = 8 * 1_048_576;
/** Fewer deletions are never refused. */
const FEW_DELETIONS = 9;

const WRITES_HERE = ['get', 'delete here', 'conflict', 'move here'];
const WRITES_THERE = ['create', 'send', 'delete there', 'move there'];
const NEEDS_TEXT = ['get', 'compare', 'conflict'];

const isDeletion = ({ action }: Pick<Item, 'action'>) => action.startsWith('delete');

/** Brings both sides in step. */
export async function runOnce(run: Run): Promise<void> {
  const { report, state, stop } = run;
  const startMs = performance.now();
  const isKnown = (real: string, hash: string) => state.bases.get(real.normalize())?.hash === hash;
  report.begin();
  if (!run.isDry) clearAside(run, isKnown);
  const { notes, cursor } = await readNotes(run);
  const { files, faults } = scan(run, run.watched);
  for (const [real, why] of faults) report.left(real, why);
  const items = planFor(run, files, notes);
  refuseManyDeletions(run, items);
  report.expect(items.length);
  if (run.isDry) return act(run, items);
  await act(
    run,
    items.filter(({ from }) => from),
  );
  const others = items.filter(({ from }) => !from);
  const created = await createTogether(run, others);
  await act(
    run,
    others.filter((each) => !created.has(each) && !isDeletion(each)),
  );
  const deletions = others.filter(isDeletion);
  const leftMs = startMs + SYNC_TIMES.missing - performance.now();
  if (deletions.length > 0) await delay(Math.max(0, leftMs), undefined, { signal: stop });
  // In another service, notes are missing that nobody has deleted.
  if (deletions.length > 0) refuseExchange(state, await readCursor(run));
  if (state.isReplaced) throw new Error('the folder is another one by now');
  await act(run, deletions);
  await keepCursor(run, cursor, items.length > 0);
  report.end(countKnown(run));
}

/** Resolves with all notes as they are now, as far as it matters, and a cursor before that. */
async function readNotes(run: Run): Promise<{ notes: Map<string, Note>; cursor: string }> {
  const { cursor, extensions, again = [] } = run.state.head;
  const isUsable = extensions === extensionsOf(run) && again.length <= MAX_SINGLE_READS;
  const changes = isUsable && cursor !== undefined ? await readChanges(run, cursor) : undefined;
  if (!changes) return listNotes(run);
  run.state.confirm(changes.created);
  const found = new Map(changes.notes);
  for (const id of again) if (!found.has(id)) found.set(id, await readNote(run, id));
  const notes = new Map<string, Note>();
  for (const [path, { id, etag = '', hash }] of run.state.bases)
    if (id !== undefined && hash !== undefined && !found.has(id))
      notes.set(path, { id, path, etag });
  for (const note of found.values()) if (note) notes.set(note.path, note);
  return { notes, cursor: changes.cursor };
}

async function listNotes(run: Run) {
  const cursor = await readCursor(run);
  const generation = generationOf(cursor);
  const { cursor: known = cursor, generation: before = generation } = run.state.head;
  const [number, least] = [cursor, known].map((each) => Number(each.split('-')[1]));
  if (generation !== before || Number(number) < Number(least)) {
    run.state.forgetAll();
    run.report.warn(
      'The service was restored, or is another one: nothing is deleted, and both texts stay.',
    );
  }
  // Before the first text of this service is noted, as the run may break off.
  run.state.save({ ...run.state.head, generation });
  const notes = new Map<string, Note>();
  let held = 0;
  for await (const { body = '', ...note } of readAll(run)) {
    held += body.length;
    notes.set(note.path, held > MAX_HELD_CHARACTERS ? note : { ...note, body });
  }
  return { notes, cursor };
}

function refuseManyDeletions(run: Run, items: readonly Item[]): void {
  const known = countKnown(run);
  const deletions = items.filter((each) => isDeletion(each) && !mustWait(run, each.action));
  const [first] = deletions;
  const count = deletions.length;
  if (!first || count <= (run.maxDeletions ?? Math.max(FEW_DELETIONS, known / 2))) return;
  const what = `${count} of ${known} files would be deleted (${first.action} ${first.path})`;
  throw new Error(`nothing was done: ${what}; to do so, say --max-delete ${count}`);
}

/** Returns how many files have been in step. */
function countKnown({ state }: Run): number {
  return [...state.bases.values()].filter(({ hash }) => hash !== undefined).length;
}

function needsText(run: Run, action: string): boolean {
  const needs = run.isDry ? action === 'compare' : NEEDS_TEXT.includes(action);
  return needs && !mustWait(run, action);
}

function mustWait({ writesHere, writesThere }: Run, action: string): boolean {
  if (WRITES_HERE.includes(action)) return !writesHere;
  return WRITES_THERE.includes(action) && !writesThere;
}

/** Creates many notes at once; resolves with their items. */
async function createTogether(run: Run, items: readonly Item[]): Promise<ReadonlySet<Item>> {
  const groups: Item[][] = [[]];
  let bytes = 0;
  for (const item of items.filter(({ action }) => action === 'create')) {
    bytes += item.file?.size ?? 0;
    const last = groups.at(-1) ?? [];
    if (last.push(item) < MAX_TOGETHER.notes && bytes < MAX_TOGETHER.bytes) continue;
    groups.push([]);
    bytes = 0;
  }
  const created = new Set<Item>();
  for (const group of mustWait(run, 'create') ? [] : groups) {
    run.stop.throwIfAborted();
    if (group.length < 2 || !(await createAll(run, group))) continue;
    for (const item of group) {
      created.add(item);
      run.report.done('create', item.path);
    }
  }
  return created;
}

/** Carries items out, several at a time. */
async function act(run: Run, items: readonly Item[]): Promise<void> {
  const waiting = withTexts(run, items);
  const work = async () => {
    for await (const item of waiting) {
      run.stop.throwIfAborted();
      await attempt(run, item);
    }
  };
  // All must have come to rest before the run ends.
  const ends = await Promise.allSettled(Array.from({ length: CONCURRENCY }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Yields items; if many need the texts of their notes, these come from the list of all. */
async function* withTexts(run: Run, items: readonly Item[]): AsyncGenerator<Item> {
  const isReady = ({ action, note }: Item) => note?.body !== undefined || !needsText(run, action);
  const ready = items.filter(isReady);
  if (items.length - ready.length <= MAX_SINGLE_READS) return yield* items;
  yield* ready;
  const others = new Map(items.filter((item) => !isReady(item)).map((item) => [item.path, item]));
  for await (const note of readAll(run)) {
    const item = others.get(note.path);
    if (item && others.delete(note.path)) yield { ...item, note };
  }
  yield* others.values();
}

async function attempt(run: Run, item: Item): Promise<void> {
  try {
    await (item.from ? move(run, item, item.from) : settle(run, item));
  } catch (error) {
    if (error instanceof Unavailable || run.stop.aborted) throw error;
    run.report.left(item.real, reasonOf(error as Error));
    lookAgainAt(run, item.note?.id, run.state.bases.get(item.path)?.id);
  }
}

function lookAgainAt({ again }: Run, ...ids: readonly (number | undefined)[]): void {
  for (const id of ids) if (id !== undefined) again.add(id);
}

/** Moves what has another path on the other side; what else has changed comes after that. */
async function move(run: Run, item: Item, from: Item): Promise<void> {
  const { path, action } = item;
  const look = lookAt(run, path, item.file, item.note);
  const line = `${from.path} -> ${path}`;
  if (mustWait(run, action)) return wait(run, action, line, item.note?.id, from.note?.id);
  if (run.isDry) return run.report.undone('would', action, line);
  if (!(await ACTIONS[action]?.(run, item, look))) throw new Error('it keeps changing');
  run.report.done(action, line);
  await settle(run, { ...item, note: item.note ?? (await readNote(run, path)) });
}

function wait(run: Run, action: string, path: string, ...ids: readonly (number | undefined)[]) {
  run.report.undone('waits:', action, path);
  lookAgainAt(run, ...ids);
}

/** Brings one path in step; looks at both sides again if they are not as they were. */
async function settle(run: Run, item: Item): Promise<void> {
  const { path, real } = item;
  let { file, note } = item;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    let look = lookAt(run, path, file ?? findFile(run, real), note);
    if (needsText(run, look.action) && note?.body === undefined) {
      note = await readNote(run, path);
      look = lookAt(run, path, file ?? findFile(run, real), note);
    }
    if (await perform(run, item, look)) return;
    file = undefined;
    note = await readNote(run, path);
  }
  throw new Error('it keeps changing');
}

async function perform(run: Run, item: Item, look: Look): Promise<boolean> {
  const { path, fault } = item;
  const { here, note, base, action } = look;
  if (action === 'none') return true;
  if (action === 'leave' || (action === 'get' && fault !== undefined)) {
    run.report.left(item.real, ('why' in here ? here.why : fault) ?? '');
    if (note?.etag !== base?.etag) lookAgainAt(run, note?.id);
    return true;
  }
  // A deletion that was not planned has not been looked at twice.
  if (isDeletion(look) && !isDeletion(item)) lookAgainAt(run, note?.id, base?.id);
  else if (mustWait(run, action)) wait(run, action, path, note?.id, base?.id);
  else if (run.isDry) run.report.undone('would', action, path);
  else if (action === 'conflict') return keepBoth(run, item, look);
  else if (await ACTIONS[action]?.(run, item, look)) run.report.done(action, path);
  else return false;
  return true;
}

/** Gives the text from here another path, and that of the service its own. */
async function keepBoth(run: Run, item: Item, look: Look): Promise<boolean> {
  if (look.here.kind !== 'new') return false;
  // First, so that the text has a path whatever happens then.
  const real = await putCopy(run, item.real, look.here.text);
  if (real === undefined || !(await ACTIONS.get?.(run, item, look))) return false;
  run.report.done('conflict', `${item.path} -> ${real}`);
  run.report.warn(`${item.path} has the text of the service, and ${real} the one from here`);
  const path = real.normalize();
  await settle(run, { path, real, action: 'create', note: await readNote(run, path) });
  return true;
}

/** Keeps the cursor behind the changes of this run, and what others changed meanwhile. */
async function keepCursor(run: Run, cursor: string, hasActed: boolean): Promise<void> {
  const { state } = run;
  const changes = hasActed ? await readChanges(run, cursor) : undefined;
  if (changes) {
    state.confirm(changes.created);
    const known = new Map<number | undefined, string>();
    // A note that was moved meanwhile may be at two paths.
    for (const [path, { id, etag }] of state.bases)
      known.set(id, known.has(id) ? '' : `${etag} ${path}`);
    for (const [id, note] of changes.notes)
      if (known.get(id) !== (note && `${note.etag} ${note.path}`)) run.again.add(id);
  }
  const again = run.again.size > 0 ? { again: [...run.again] } : {};
  const next = changes?.cursor ?? cursor;
  const extensions = extensionsOf(run);
  state.save({ generation: generationOf(next), cursor: next, extensions, ...again });
}

function extensionsOf({ extensions }: Run): string {
  return [...extensions].sort().join(' ');
}
