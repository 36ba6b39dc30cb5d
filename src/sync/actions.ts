// How actions are carried out. Each returns whether both sides were as it expected them; if not,
// nothing has changed, and the caller looks at them again.

import { fileAt, readText } from './folder.ts';
import { describe, titleFor } from './notes.ts';
import { moveFile, putText, removeFile } from './places.ts';
import type { Item, Look, World } from './plan.ts';
import { changeNote, createNotes, deleteNote, readNote } from './service.ts';

type Perform = (world: World, item: Item, look: Look) => Promise<boolean> | boolean;

/** The actions at the path of an item. */
export const ACTIONS: Readonly<Record<string, Perform>> = {
  forget({ state }, { path }) {
    state.forget(path);
    return true;
  },

  adopt({ state }, { path }, { here, note, base }) {
    if (here.kind !== 'new' || !note) return false;
    const { text, hash, stat, at } = here;
    state.remember(path, { id: note.id, etag: note.etag, hash, stat, at, ...describe(text, base) });
    return true;
  },

  create: (world, item) => createAll(world, [item]),

  async send(world, { path }, { here, base, note }) {
    if (here.kind !== 'new' || !note) return false;
    const { text, hash, stat, at } = here;
    const described = describe(text, base);
    const before = base?.tags ?? [];
    const added = described.tags.filter((tag) => !before.includes(tag));
    const removed = before.filter((tag) => !described.tags.includes(tag));
    // If the answer is lost, this tells that the text there is the one from here.
    world.state.remember(path, { ...base, sent: { hash, ...described } });
    const change = {
      body: text,
      ...(described.title !== base?.title && { title: described.title }),
      ...(added.length > 0 && { add_tags: added }),
      ...(removed.length > 0 && { remove_tags: removed }),
    };
    const etag = await changeNote(world, path, change, note.etag);
    if (etag === undefined) return false;
    world.state.remember(path, { id: note.id, etag, hash, stat, at, ...described });
    return true;
  },

  async 'delete there'(world, { path }, { note }) {
    if (!note || !(await deleteNote(world, path, note.etag))) return false;
    world.state.forget(path);
    return true;
  },

  async 'delete here'(world, { path, real }, { base }) {
    if (await readNote(world, path)) return false;
    if (base?.hash === undefined || !removeFile(world, real, base.hash)) return false;
    world.state.forget(path);
    return true;
  },

  async get(world, { path, real }, { here, note, base }) {
    if (note?.body === undefined || note.hash === undefined) return false;
    const { id, etag, hash, body } = note;
    const expected = here.kind === 'none' ? undefined : here.hash;
    const needsCopy = here.kind === 'new';
    if (!(await putText(world, real, body, { expected, needsCopy }))) return false;
    // Before the look, so that what somebody writes meanwhile is noticed.
    const at = Date.now();
    const stat = fileAt(world, real)?.stat ?? '';
    world.state.remember(path, { id, etag, hash, stat, at, ...describe(body, base) });
    return true;
  },

  async 'move there'(world, { path, from }) {
    const base = from && world.state.bases.get(from.path);
    if (!base || !from?.note) return false;
    const { etag } = from.note;
    const moved = await changeNote(world, from.path, { name: `${world.prefix}${path}` }, etag);
    if (moved === undefined) return false;
    world.state.remember(path, etag === base.etag ? { ...base, etag: moved } : base);
    world.state.forget(from.path);
    return true;
  },

  'move here'(world, { path, from }) {
    const base = from && world.state.bases.get(from.path);
    if (!base || !moveFile(world, from.real, path)) return false;
    world.state.remember(path, base);
    world.state.forget(from.path);
    return true;
  },
};

/** Creates the notes of files, or none if a file is no text any more, or a path is not free. */
export async function createAll(world: World, items: readonly Item[]): Promise<boolean> {
  const drafts = items.flatMap(({ path, real }) => {
    const found = readText(world, real);
    if (found.kind !== 'new') return [];
    const { text, hash, stat, at } = found;
    const described = describe(text);
    const { title = titleFor(path), tags } = described;
    const base = { hash, stat, at, ...described };
    return [{ path, text, title, tags, base, sent: { hash, ...described } }];
  });
  if (drafts.length < items.length) return false;
  world.state.rememberAll(drafts.map(({ path, sent }) => [path, { sent }]));
  const ids = await createNotes(world, drafts);
  if (!ids) return false;
  world.state.rememberAll(
    drafts.map(({ path, base }, index) => [path, { id: Number(ids[index]), ...base }]),
  );
  return true;
}
