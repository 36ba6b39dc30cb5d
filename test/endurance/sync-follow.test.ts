// The command `sync --follow` in two folders of a service, while owners change texts and move
// folders: each change arrives, although no look finds what the watches have not told, and no text
// is lost. NOTES_TEST_SEED=n makes the same changes again, but events may come in another order.
import assert from 'node:assert/strict';
import { existsSync, renameSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { createRandom } from '../support/mutations.ts';
import { Owners } from '../support/owners.ts';
import { folderOf, type SyncedFolder, shareService } from '../support/synced-folder.ts';
import { until } from '../support/until.ts';

const SEEDS = process.env.NOTES_TEST_SEED
  ? [Number(process.env.NOTES_TEST_SEED)]
  : [1, 2, 3, 4, 5, Date.now() % 2 ** 31];

const ROUNDS = 100;
const MAX_PAUSE_MS = 30;
const FOLDERS = ['deep', 'deep/er', 'new', 'new/er'];

const start = await shareService({ after });

/** Follows a folder until the end of the test; returns where its warnings are. */
function follow(t: TestContext, { folder, service, prefix }: SyncedFolder, warnings: string[]) {
  const stopping = new AbortController();
  const args = ['sync', folder, service.url, '--folder', prefix, '--follow', '--max-delete', '99'];
  const onWarning = (line: string) => void warnings.push(line);
  const ended = runInProcess(args, { stop: stopping.signal, onWarning });
  t.after(() => {
    stopping.abort();
    return ended;
  });
}

function moveFolder({ at }: SyncedFolder, from: string, to: string): void {
  if (existsSync(at(from)) && !existsSync(at(to)) && !`${to}/`.startsWith(`${from}/`))
    if (existsSync(at(`${to}/..`))) renameSync(at(from), at(to));
}

for (const seed of SEEDS)
  test('sync: --follow brings all changes of texts and folders to all sides', async (t) => {
    const { look } = SYNC_TIMES;
    SYNC_TIMES.look = 2 ** 30;
    t.after(() => {
      SYNC_TIMES.look = look;
    });
    const random = createRandom(seed);
    const { below, oneIn, pick } = random;
    const first = start(t);
    const folders = [first, folderOf(t, first.service, first.prefix)];
    const trace: string[] = [];
    const owners = new Owners(random, first.prefix, (line) => trace.push(line));
    for (const each of folders) follow(t, each, trace);
    for (let round = 0; round < ROUNDS; round += 1) {
      const kind = pick(['there', 'folder', 'here', 'here']);
      if (kind === 'there') await owners.changeThere(first.service);
      else if (kind === 'folder') moveFolder(pick(folders), pick(FOLDERS), pick(FOLDERS));
      else owners.changeHere(pick(folders));
      if (oneIn(2)) await delay(below(MAX_PAUSE_MS));
    }
    let nudges = 0;
    const inStep = async () => {
      // They are left until their owners delete them.
      for (const each of folders)
        for (const [path, text] of Object.entries(each.files()))
          if (text.trim() === '') each.remove(path);
      // A run leaves what changed meanwhile to the next one.
      nudges += 1;
      await first.put('nudge.md', `${nudges}`);
      await until(() => folders.every((each) => each.files()['nudge.md'] === `${nudges}`));
      const notes = await first.notes();
      return folders.every((each) => isDeepStrictEqual(each.files(), notes));
    };
    try {
      await until(inStep);
      const live = new Set(Object.values(await first.notes()));
      assert.deepEqual(
        [...owners.owed].filter((text) => !live.has(text)),
        [],
      );
    } catch (error) {
      const sides = [await first.notes(), ...folders.map((each) => each.files())];
      (error as Error).message += `\nNOTES_TEST_SEED=${seed}\n${trace.join('\n')}`;
      (error as Error).message += `\n${JSON.stringify(sides, null, 1)}`;
      throw error;
    }
  });
