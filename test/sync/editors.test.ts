// Editors and other programs save files in their ways while runs go on: by the system calls of
// each, whose steps are divided at each effect of a run. What was saved is a note afterwards.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  openSync,
  readdirSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { test } from 'node:test';
import { EFFECTS, SYNC_TIMES } from '../../src/sync/effects.ts';
import { between } from '../support/random.ts';
import { type SyncedFolder, startSynced } from '../support/synced-folder.ts';

/** More places are tried where tests may take longer. */
const GAMES = Number(process.env.NOTES_TEST_GAMES ?? 1);

type Steps = readonly (() => void)[];

/** Returns the steps that truncate a file and write it in parts, as most programs do. */
function inPlace(file: string, text: string, flags = 'w'): Steps {
  let descriptor = 0;
  const half = Math.floor(text.length / 2);
  return [
    () => {
      descriptor = openSync(file, flags);
      if (flags === 'r+') ftruncateSync(descriptor);
    },
    () => writeSync(descriptor, text.slice(0, half)),
    () => {
      writeSync(descriptor, text.slice(half));
      closeSync(descriptor);
    },
  ];
}

/** Returns the steps of each way to save a text. */
const WAYS: Readonly<Record<string, (file: string, text: string) => Steps>> = {
  'vim with backupcopy=yes': (file, text) => [
    () => copyFileSync(file, `${file}~`),
    ...inPlace(file, text),
    () => unlinkSync(`${file}~`),
  ],
  'vim with backupcopy=no': (file, text) => [
    () => writeFileSync(file.replace(/[^/]*$/, '4913'), ''),
    () => unlinkSync(file.replace(/[^/]*$/, '4913')),
    () => renameSync(file, `${file}~`),
    ...inPlace(file, text),
    () => unlinkSync(`${file}~`),
  ],
  'VS Code': (file, text) => inPlace(file, text, 'r+'),
  'nano or Obsidian': (file, text) => [
    () => writeFileSync(file.replace(/([^/]*)$/, '.$1.swp'), 'nano'),
    ...inPlace(file, text),
    () => unlinkSync(file.replace(/([^/]*)$/, '.$1.swp')),
  ],
  'sed -i': (file, text) => [
    () => writeFileSync(file.replace(/[^/]*$/, 'sedX1yZ2w'), text),
    () => renameSync(file.replace(/[^/]*$/, 'sedX1yZ2w'), file),
  ],
  'an IDE with safe writes': (file, text) => [
    () => writeFileSync(`${file}___jb_tmp___`, text),
    () => renameSync(file, `${file}___jb_old___`),
    () => renameSync(`${file}___jb_tmp___`, file),
    () => unlinkSync(`${file}___jb_old___`),
  ],
  'git checkout': (file, text) => [() => unlinkSync(file), ...inPlace(file, text)],
};

/** Where a run is interrupted: before its nth effect, or while a missing file is waited for. */
type Place = number | 'wait';

/** Runs the command and takes the steps there, or else after it. */
async function syncWhile(synced: SyncedFolder, place: Place, steps: Steps): Promise<void> {
  const { before } = EFFECTS;
  const { missing } = SYNC_TIMES;
  let isOver = false;
  let next = 0;
  const once = () => {
    if (isOver) return;
    isOver = true;
    try {
      for (; next < steps.length; next += 1) steps[next]?.();
    } catch (error) {
      // The file is away for a moment: the program says so, and its user saves again.
      assert.equal(Object(error).code, 'ENOENT');
    }
  };
  let count = 0;
  EFFECTS.before = () => {
    if (count === place) once();
    count += 1;
  };
  Object.defineProperty(SYNC_TIMES, 'missing', {
    configurable: true,
    get() {
      if (place === 'wait') once();
      return missing;
    },
  });
  try {
    await synced.sync();
  } finally {
    EFFECTS.before = before;
    Object.defineProperty(SYNC_TIMES, 'missing', { value: missing, writable: true });
  }
  for (; next < steps.length; next += 1) steps[next]?.();
}

/** Saves a text while a run goes on, which begins after `done` steps; the note may have changed. */
async function save(
  synced: SyncedFolder,
  way: string,
  done: number,
  place: Place,
  hasNew: boolean,
) {
  const at = `${way} ${done} ${place}`;
  const path = `deep/${at} ${randomUUID()}.md`;
  const [saved, there] = [`${path} saved\n`, `${path} there\n`];
  synced.write(path, at);
  await synced.sync();
  const { id } = await synced.note(path);
  const steps = WAYS[way]?.(synced.at(path), saved) ?? [];
  for (const step of steps.slice(0, done)) step();
  if (hasNew) await synced.put(path, there);
  await syncWhile(synced, place, steps.slice(done));
  for (let run = 0; run < 2; run += 1) await synced.sync();
  const notes = await synced.notes();
  assert.deepEqual(synced.files(), notes, at);
  const live = Object.values(notes);
  assert.ok(live.includes(saved), `${at}: ${JSON.stringify(live)}`);
  if (!hasNew) {
    assert.equal(notes[path], saved, at);
    if (place === 'wait') assert.equal((await synced.note(path)).id, id, at);
  } else if (!live.includes(there)) {
    // The program has replaced it.
    const versions = await synced.service.request('GET', `/notes/${id}/versions?fields=body`);
    assert.ok(
      versions.json.items.some(({ body }: { body: string }) => body === there),
      at,
    );
  }
  const { lines, warnings, status } = await synced.sync();
  assert.deepEqual({ lines, warnings, status }, { lines: [], warnings: '', status: 0 }, at);
  assert.deepEqual(readdirSync(synced.at('.notes-sync/aside')), [], at);
  return steps.length;
}

for (const way of Object.keys(WAYS))
  for (const hasNew of [false, true])
    test(`sync: ${way} saves during a run${hasNew ? ' that gets a new text' : ''}`, async (t) => {
      const synced = await startSynced(t);
      for (let done = 0, steps = 1; done < steps; done += 1) {
        for (let game = 0; game < GAMES; game += 1)
          steps = await save(synced, way, done, hasNew ? between(0, 8) : 'wait', hasNew);
        for (const path of Object.keys(synced.files())) synced.remove(path);
        await synced.sync('--max-delete', '1000');
      }
    });
