// What a run will do: compares both sides of each path with what they were, and finds what was
// moved.
import { existsSync } from 'node:fs';
import { Unavailable } from './client.ts';
import { type Action, decide } from './decisions.ts';
import { SYNC_TIMES } from './effects.ts';
import { type File, type Folder, type Found, findFile, readText, type Scan } from './folder.ts';
import { faultInPath, isSynced, META } from './notes.ts';
import { metaPath } from './places.ts';
import { generationOf, type Note, type Service } from './service.ts';
import type { Base, State } from './state.ts';

/** Both sides, and what is known of them. */
export interface World extends Folder, Service {
  readonly state: State;
}

/** Both sides of a path, and what is to be done. A file that is as it was may be unread. */
export interface Look {
  readonly action: Action;
  readonly here: Found | { readonly kind: 'same'; readonly hash: string };
  readonly note: Note | undefined;
  readonly base: Base | undefined;
}

/** What is to be done at a path, or with what was at the path `from` and is moved. */
export interface Item {
  readonly path: string;
  /** The path of the file. */
  readonly real: string;
  readonly action: Action | 'move here' | 'move there';
  readonly file?: File | undefined;
  readonly note?: Note | undefined;
  /** Of the file. */
  readonly hash?: string | undefined;
  /** Why no file can have the path. */
  readonly fault?: string | undefined;
  readonly from?: Item;
}

/** Throws if a cursor or a tag is not of the service that the state is about. */
export function refuseExchange({ head }: State, mark: string): void {
  if (generationOf(mark) !== head.generation)
    throw new Unavailable('nothing more was done: the service was restored, or is another one');
}

/** Looks at both sides of a path; `file` is what is there, or why this can be no note. */
export function lookAt(
  world: World,
  path: string,
  file: File | string | undefined,
  note: Note | undefined,
): Look {
  const { state } = world;
  if (note?.etag) refuseExchange(state, note.etag);
  const { sent } = state.bases.get(path) ?? {};
  // A text whose answer was lost is what both sides had.
  if (sent !== undefined && note?.hash === sent.hash)
    state.remember(path, { id: note.id, etag: note.etag, ...sent });
  const here = lookHere(world, path, file);
  const base = state.bases.get(path);
  const isSame = note?.etag === base?.etag || (note?.hash ?? '') === base?.hash;
  const action = decide({
    isKnown: base?.hash !== undefined,
    here: here.kind,
    there: note ? (isSame ? 'same' : 'new') : 'none',
    areEqual: note?.hash && 'hash' in here ? note.hash === here.hash : undefined,
  });
  // Other members of the note have changed.
  if (action === 'none' && note && note.etag !== base?.etag)
    state.remember(path, { ...base, id: note.id, etag: note.etag });
  return { action, here, note, base };
}

function lookHere(world: World, path: string, file: File | string | undefined): Look['here'] {
  if (file === undefined) return { kind: 'none' };
  if (typeof file === 'string') return { kind: 'bad', why: file };
  const base = world.state.bases.get(path);
  const { hash, stat, at = 0 } = base ?? {};
  if (hash !== undefined && isAsRead(file, base)) return { kind: 'same', hash };
  const found = readText(world, file.real);
  if (found.kind !== 'new' || found.hash !== hash) return found;
  if (found.stat !== stat || found.at > at + SYNC_TIMES.racy)
    world.state.remember(path, { ...base, stat: found.stat, at: found.at });
  return { kind: 'same', hash };
}

/** Whether a file cannot have been written since it was read. */
function isAsRead(file: File | undefined, { stat, at = 0 }: Base = {}): boolean {
  return file !== undefined && stat === file.stat && file.mtimeMs < at - SYNC_TIMES.racy;
}

/** Returns what is to be done; what was moved is one item, and comes first. */
export function planFor(
  world: World,
  files: Scan['files'],
  notes: ReadonlyMap<string, Note>,
): Item[] {
  const { state } = world;
  const items: Item[] = [];
  const isCaseless = existsSync(metaPath(world, '..', META.toUpperCase()));
  const twins = new Map<string, string>();
  for (const path of new Set([...files.keys(), ...state.bases.keys(), ...notes.keys()])) {
    const file = files.get(path);
    const note = notes.get(path);
    const base = state.bases.get(path);
    if (!file && !isSynced(path, world)) {
      state.forget(path);
      continue;
    }
    const twin = (isCaseless && twins.get(path.toLowerCase())) || path;
    if (isCaseless) twins.set(path.toLowerCase(), twin);
    // Most paths are as they were.
    if (note && note.etag === base?.etag && base.hash && !base.sent && isAsRead(file, base))
      continue;
    const why = twin === path ? undefined : `only case tells it from ${twin}`;
    const fault = file ? undefined : (why ?? faultInPath(path, world));
    const found = !file && base ? findFile(world, path) : file;
    const { action, here } = lookAt(world, path, found, note);
    const hash = 'hash' in here ? here.hash : undefined;
    const item = { path, real: file?.real ?? path, action, file, note, hash, fault };
    if (action !== 'none') items.push(item);
  }
  return withMoves(world, items);
}

/** Joins a missing file and a new one with its text, and a missing note and one with its id. */
function withMoves({ state }: World, items: readonly Item[]): Item[] {
  const baseOf = ({ path }: Item): Base => state.bases.get(path) ?? {};
  // A file that cannot be read is not missing.
  const sides = items.filter(
    ({ file, note, action }) => !file !== !note && (file || action !== 'leave'),
  );
  const targets = sides.filter((item) => baseOf(item).hash === undefined && !item.fault);
  const sources = sides.filter((item) => baseOf(item).hash !== undefined && baseOf(item).id);
  const moves: Item[] = [];
  const isMoved = new Set<Item>();
  // Of several files with the same text, those belong together whose paths end alike.
  for (const segments of [2, 1, 0]) {
    const markOf = (path: string, id: number | undefined, hash: string | undefined) =>
      id ?? [hash, ...path.split('/').reverse().slice(0, segments)].join('/');
    const waiting = new Map<number | string, Item[]>();
    for (const from of sources.filter((each) => !isMoved.has(each))) {
      const { id, hash } = baseOf(from);
      const mark = markOf(from.path, from.file && id, hash);
      const others = waiting.get(mark);
      if (others) others.push(from);
      else waiting.set(mark, [from]);
    }
    for (const target of targets.filter((each) => !isMoved.has(each))) {
      const from = waiting.get(markOf(target.path, target.note?.id, target.hash))?.shift();
      if (!from) continue;
      for (const each of [from, target]) isMoved.add(each);
      moves.push({ ...target, action: from.note ? 'move there' : 'move here', from });
    }
  }
  return [...moves, ...items.filter((item) => !isMoved.has(item))];
}
