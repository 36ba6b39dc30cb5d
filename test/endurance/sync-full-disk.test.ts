// The command `sync` in a folder on a disk that is full.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MAX_BODY_LENGTH } from '../../src/contract/generated.js';
import { runInProcess } from '../support/in-process-command.ts';
import { replaceInFs, systemError } from '../support/other-file-systems.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { fill, NO_MOUNT, smallDisk } from '../support/small-disk.ts';
import { folderOf, startSynced } from '../support/synced-folder.ts';

/** Runs that bring both sides in step. */
const QUIET_RUNS = 3;

/** How many bytes are free when the disk is full. */
const FREE = [0, 4_096, 8_192, 32_768, 65_536, 131_072];

test('sync: on a full disk no text is lost, and the next runs bring both in step', async (t) => {
  const disk = smallDisk(t);
  if (!disk) return skipLoudly(t, NO_MOUNT);
  const service = await startService(t);
  const { put: replace, notes } = folderOf(t, service);
  const at = (path: string) => join(disk, 'notes', path);
  const run = () => runInProcess(['sync', at('.'), service.url]);
  mkdirSync(at('.'));
  for (const left of FREE) {
    writeFileSync(at('a.md'), `a ${left}`);
    writeFileSync(at('b.md'), `b ${left}`);
    await run();
    writeFileSync(at('b.md'), `here ${left}`);
    writeFileSync(at('c.md'), `created ${left}`);
    const large = `${left} `.padEnd(MAX_BODY_LENGTH, '.');
    for (const name of ['a.md', 'd.md', 'e/f.md']) await replace(name, large);
    await replace('b.md', `there ${left}`);
    const filling = fill(disk, left);
    await run().catch(() => {});
    rmSync(filling);
    for (let count = 0; count < QUIET_RUNS; count += 1) assert.equal((await run()).status, 0);
    const texts = await notes();
    for (const [path, text] of Object.entries(texts))
      assert.equal(readFileSync(at(path), 'utf8'), text);
    const live = new Set(Object.values(texts));
    for (const text of [large, `here ${left}`, `there ${left}`, `created ${left}`])
      assert.ok(live.has(text), text.slice(0, 20));
    for (const place of ['aside', 'tmp'])
      assert.deepEqual(readdirSync(at(`.notes-sync/${place}`)), []);
    assert.equal((await run()).output, '');
    for (const path of Object.keys(texts)) rmSync(at(path));
    assert.equal((await run()).status, 0);
    rmSync(at('.notes-sync/trash'), { recursive: true });
  }
});

test('sync: a disk that is full at any call loses nothing', async (t) => {
  const synced = await startSynced(t);
  let left = Number.POSITIVE_INFINITY;
  const refuse =
    (original: (...args: never[]) => unknown) =>
    (path: never, ...rest: never[]) => {
      if (String(path).includes('.notes-sync') && left-- <= 0) throw systemError('ENOSPC');
      return original(path, ...rest);
    };
  replaceInFs(t, { openSync: refuse, appendFileSync: refuse, mkdirSync: refuse, linkSync: refuse });
  for (let full = 0, isOver = false; !isOver; full += 1) {
    const [a, b, c] = [`a ${full}`, `b ${full}`, `c ${full}`];
    for (const path of ['a.md', 'b.md']) synced.write(path, path);
    await synced.sync();
    synced.write('a.md', a);
    await synced.put('a.md', b);
    await synced.put('b.md', c);
    left = full;
    await synced.sync();
    isOver = left > 0;
    left = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 2; run += 1) await synced.sync();
    const files = synced.files();
    assert.deepEqual(files, await synced.notes());
    for (const text of [a, b, c])
      assert.ok(Object.values(files).includes(text), `${full}: ${text}`);
  }
});
