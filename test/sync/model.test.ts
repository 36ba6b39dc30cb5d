// Random changes on both sides while runs break off between two effects: no text is lost that its
// owner did not replace or delete where it lay, and in the end all sides are the same.
import assert from 'node:assert/strict';
import { readdirSync, renameSync } from 'node:fs';
import { test } from 'node:test';
import { EFFECTS } from '../../src/sync/effects.ts';
import { between } from '../support/random.ts';
import { folderOf, type SyncedFolder, startSynced } from '../support/synced-folder.ts';

/** More of them are played where tests may take longer. */
const GAMES = Number(process.env.NOTES_TEST_GAMES ?? 1);

const PATHS = ['a.md', 'b.md', 'deep/a.md', 'deep/er/b.md', 'c.txt'];

const pick = <Value>(values: readonly Value[]): Value | undefined =>
  values[between(0, values.length - 1)];

/** The texts that must not be lost. */
class Owed {
  readonly texts = new Set<string>();
  #count = 0;

  /** Returns a new text, which takes the place of `old`. */
  make(old = ''): string {
    this.#count += 1;
    const text = `${old}text ${this.#count}\n`;
    this.texts.add(text);
    this.texts.delete(old);
    return text;
  }
  release(text = ''): void {
    this.texts.delete(text);
  }
}

function changeHere(synced: SyncedFolder, owed: Owed): void {
  const files = synced.files();
  const path = pick([...PATHS, ...Object.keys(files)]) ?? '';
  const old = files[path];
  const other = pick(PATHS) ?? '';
  switch (pick(['write', 'write', 'append', 'delete', 'move', 'blank'])) {
    case 'write':
      synced.write(path, owed.make());
      owed.release(old);
      return;
    case 'append':
      if (old !== undefined) synced.write(path, owed.make(old));
      return;
    case 'delete':
      if (old === undefined) return;
      synced.remove(path);
      owed.release(old);
      return;
    case 'blank':
      if (old === undefined) return;
      synced.write(path, '');
      owed.release(old);
      return;
    case 'move':
      if (old === undefined || path === other) return;
      owed.release(files[other]);
      synced.write(other, old);
      renameSync(synced.at(path), synced.at(other));
  }
}

async function changeThere({ service, notes, put }: SyncedFolder, owed: Owed): Promise<void> {
  const texts = await notes();
  const path = pick([...PATHS, ...Object.keys(texts)]) ?? '';
  const old = texts[path];
  const to = pick(PATHS) ?? '';
  const at = `/named/${path.split('/').map(encodeURIComponent).join('/')}`;
  switch (pick(['write', 'write', 'delete', 'move'])) {
    case 'write':
      await put(path, owed.make());
      owed.release(old);
      return;
    case 'delete':
      if (old === undefined) return;
      await service.request('DELETE', at);
      owed.release(old);
      return;
    case 'move':
      // A name that is taken is refused.
      if (old !== undefined) await service.request('PATCH', at, { json: { name: to } });
  }
}

/** Runs the command, and lets no effect happen from a random one on. */
async function runBroken(synced: SyncedFolder, meanwhile: () => void): Promise<void> {
  const before = EFFECTS.before;
  let left = between(0, 25);
  let isOver = false;
  EFFECTS.before = () => {
    if (left === 10) meanwhile();
    left -= 1;
    isOver ||= left < 0;
    if (isOver) throw new Error('killed');
  };
  try {
    await synced.sync();
  } finally {
    EFFECTS.before = before;
  }
}

async function play(folders: readonly SyncedFolder[]): Promise<void> {
  const owed = new Owed();
  const [first] = folders;
  assert.ok(first);
  for (let round = 0; round < 12; round += 1) {
    for (let change = between(0, 3); change > 0; change -= 1)
      changeHere(pick(folders) ?? first, owed);
    for (let change = between(0, 2); change > 0; change -= 1) await changeThere(first, owed);
    const synced = pick(folders) ?? first;
    await runBroken(synced, () => changeHere(synced, owed));
  }
  // Blank files are left; their owners delete them.
  for (const each of folders)
    for (const [path, text] of Object.entries(each.files())) if (text === '') each.remove(path);
  for (let round = 0; round < 4; round += 1) for (const each of folders) await each.sync();
  const notes = await first.notes();
  for (const each of folders) {
    assert.deepEqual(each.files(), notes);
    const { lines, warnings, status } = await each.sync();
    assert.deepEqual({ lines, warnings, status }, { lines: [], warnings: '', status: 0 });
    for (const place of ['aside', 'tmp'])
      assert.deepEqual(readdirSync(each.at(`.notes-sync/${place}`)), []);
  }
  const live = new Set(Object.values(notes));
  assert.deepEqual(
    [...owed.texts].filter((text) => !live.has(text)),
    [],
  );
}

for (const count of [1, 2, 3])
  test(`sync: random changes and runs that break off, ${count} folders`, async (t) => {
    for (let game = 0; game < GAMES; game += 1) {
      const synced = await startSynced(t);
      const others = Array.from({ length: count - 1 }, () => folderOf(t, synced.service));
      await play([synced, ...others]);
      await synced.service.close();
    }
  });
