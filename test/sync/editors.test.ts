// Editors and other programs save files in their ways while runs go on, each with its system calls:
// some of them before a run, the others between two effects of it. What was saved is a note then.
import assert from 'node:assert/strict';
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
import { after, test } from 'node:test';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { setLimits } from '../support/overload.ts';
import { between } from '../support/random.ts';
import { type SyncedFolder, shareService, syncWith } from '../support/synced-folder.ts';

/** More places are tried where tests may take longer. */
const GAMES = Number(process.env.NOTES_TEST_GAMES ?? 1);

const start = await shareService({ after });

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

/** A program that saves a text in a file of its own, and has begun to do so. */
class Program {
  readonly path: string;
  readonly saved: string;
  readonly there: string;
  readonly #steps: Steps;
  #next = 0;

  constructor(synced: SyncedFolder, way: string, done: number) {
    this.path = `${way} ${done}/a.md`;
    this.saved = `${this.path} saved\n`;
    this.there = `${this.path} there\n`;
    this.#steps = WAYS[way]?.(synced.at(this.path), this.saved) ?? [];
  }

  get steps(): number {
    return this.#steps.length;
  }

  /** Takes further steps. If its file is away, it says so, and its user saves again later. */
  go(end = this.steps): void {
    try {
      for (; this.#next < end; this.#next += 1) this.#steps[this.#next]?.();
    } catch (error) {
      assert.equal(Object(error).code, 'ENOENT');
    }
  }
}

/** Starts each program as often as it has steps, which has then taken one more each time. */
async function startPrograms(synced: SyncedFolder): Promise<readonly Program[]> {
  const programs = Object.keys(WAYS).flatMap((way) => {
    const { steps } = new Program(synced, way, 0);
    return Array.from(
      { length: steps },
      (_, done) => [done, new Program(synced, way, done)] as const,
    );
  });
  for (const [, { path }] of programs) synced.write(path, path);
  await synced.sync();
  for (const [done, program] of programs) program.go(done);
  return programs.map(([, program]) => program);
}

/** Lets all programs end, and asserts that both sides come to rest with what they saved. */
async function assertSaved(synced: SyncedFolder, programs: readonly Program[]): Promise<void> {
  for (const program of programs) program.go();
  for (let run = 0; run < 2; run += 1) await synced.sync();
  const notes = await synced.notes();
  assert.deepEqual(synced.files(), notes);
  const live = Object.values(notes);
  for (const { saved } of programs) assert.ok(live.includes(saved), `${saved}${live.join('')}`);
  const { lines, warnings, status } = await synced.sync();
  assert.deepEqual({ lines, warnings, status }, { lines: [], warnings: '', status: 0 });
  assert.deepEqual(readdirSync(synced.at('.notes-sync/aside')), []);
}

test('sync: programs save while a run waits for files that are missing', async (t) => {
  const { missing } = SYNC_TIMES;
  t.after(() => Object.defineProperty(SYNC_TIMES, 'missing', { value: missing, writable: true }));
  const synced = start(t);
  const programs = await startPrograms(synced);
  const notes = () => Promise.all(programs.map(({ path }) => synced.note(path)));
  const before = await notes();
  Object.defineProperty(SYNC_TIMES, 'missing', {
    configurable: true,
    get() {
      for (const program of programs) program.go();
      return missing;
    },
  });
  await synced.sync();
  await assertSaved(synced, programs);
  for (const [index, { id, body }] of (await notes()).entries())
    assert.deepEqual([id, body], [before[index]?.id, programs[index]?.saved]);
});

test('sync: programs save during a run that gets new texts', async (t) => {
  for (let game = 0; game < GAMES; game += 1) {
    const synced = start(t);
    const programs = await startPrograms(synced);
    for (const { path, there } of programs) await synced.put(path, there);
    // The number of the effect, from the first of its file on; 0 is the first of the run.
    const left = new Map(programs.map((program) => [program, between(0, 4)]));
    const begun = new Set<Program>();
    await syncWith(synced, (_, what) => {
      for (const [program, count] of left) {
        if (what.includes(program.path)) begun.add(program);
        const now = begun.has(program) ? count - 1 : count;
        left.set(program, now);
        if (now === 0) program.go();
      }
    });
    await assertSaved(synced, programs);
    const live = Object.values(await synced.notes());
    for (const { path, there } of programs)
      if (!live.includes(there)) assert.ok((await versionsOf(synced, path)).includes(there), there);
  }
});

/** Resolves with the texts that the note of a path had. */
async function versionsOf(synced: SyncedFolder, path: string): Promise<readonly string[]> {
  const { id } = await synced.note(path);
  const { json } = await synced.service.request('GET', `/notes/${id}/versions?fields=body`);
  return json.items.map(({ body }: { body: string }) => body);
}

test('sync: what a program writes into a file that was replaced earlier is a copy', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a\n');
  await synced.sync();
  const log = openSync(synced.at('a.md'), 'a');
  await synced.put('a.md', 'there');
  setLimits(t, SYNC_TIMES, { aside: 60_000 });
  for (let run = 0; run < 3; run += 1) await synced.sync();
  writeSync(log, 'later\n');
  await synced.sync();
  assert.deepEqual(Object.values(synced.files()), ['a\nlater\n', 'there']);
  assert.deepEqual(await synced.notes(), synced.files());
  // What was replaced is no reason to bring back what its owner has deleted since.
  await synced.put('a.md', 'other');
  await synced.sync();
  synced.write('a.md', 'there');
  await synced.sync();
  synced.remove('a.md');
  assert.equal((await synced.sync()).lines[0], 'delete there a.md');
  assert.equal(readdirSync(synced.at('.notes-sync/aside')).length, 1);
  setLimits(t, SYNC_TIMES, { aside: 0 });
  await synced.sync();
  assert.deepEqual(readdirSync(synced.at('.notes-sync/aside')), []);
  closeSync(log);
});
