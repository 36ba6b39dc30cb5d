// File systems that have no links, take names that differ by case for one, or refuse what root may;
// and a kernel that watches nothing more.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { follow } from '../../src/sync/follow.ts';
import { temporaryFolder } from '../support/engine.ts';
import { ignoreSpelling, replaceInFs, systemError } from '../support/other-file-systems.ts';
import { setLimits } from '../support/overload.ts';
import { shareService, syncWith } from '../support/synced-folder.ts';
import { until } from '../support/until.ts';

const start = await shareService({ after });

test('sync: a file system without hard links', async (t) => {
  replaceInFs(t, {
    linkSync: () => () => {
      throw systemError('EPERM');
    },
  });
  const synced = start(t);
  for (const path of ['a.md', 'b.md', 'c.md', 'd.md']) synced.write(path, path);
  await synced.sync();
  await synced.put('a.md', 'a2');
  synced.write('b.md', 'b here');
  await synced.put('b.md', 'b there');
  await synced.put('new/e.md', 'e');
  await synced.rename('c.md', 'moved.md');
  await synced.erase('d.md');
  let isTaken = false;
  const ran = await syncWith(synced, (effect, what) => {
    if (isTaken || effect !== 'place' || what !== 'a.md') return;
    isTaken = true;
    synced.write('a.md', 'a here');
  });
  assert.equal(ran.status, 0);
  const files = synced.files();
  assert.deepEqual(files, await synced.notes());
  const texts = ['a here', 'a2', 'b here', 'b there', 'c.md', 'e'];
  assert.deepEqual(Object.values(files).sort(), texts);
  assert.deepEqual((await synced.sync()).lines, []);
  // What somebody writes where a text is about to be put stays.
  await synced.put('new/f.md', 'f');
  let isWritten = false;
  await syncWith(synced, (effect, what) => {
    if (isWritten || effect !== 'place' || what !== 'new/f.md') return;
    isWritten = true;
    synced.write(what, 'f here');
  });
  for (const text of ['f', 'f here']) assert.ok(Object.values(synced.files()).includes(text), text);
});

test('sync: of two names that differ by case, one is left where files have none', async (t) => {
  const synced = start(t);
  ignoreSpelling(t, synced.folder);
  synced.write('Milk.md', 'Milk');
  await synced.sync();
  await synced.put('milk.md', 'other');
  const { warnings, status } = await synced.sync();
  assert.deepEqual([warnings, status], ['left milk.md: only case tells it from Milk.md\n', 1]);
  synced.write('milk.md', 'changed');
  await synced.sync();
  assert.deepEqual(synced.files(), { 'Milk.md': 'changed' });
  assert.deepEqual(await synced.notes(), { 'Milk.md': 'changed', 'milk.md': 'other' });
  // Without the other one, its own name is free.
  await synced.erase('Milk.md');
  for (let run = 0; run < 3; run += 1) await synced.sync();
  assert.deepEqual(synced.files(), { 'milk.md': 'other' });
  assert.equal((await synced.sync()).status, 0);
});

test('sync: a file is renamed to other case where files have none', async (t) => {
  const synced = start(t);
  ignoreSpelling(t, synced.folder);
  for (const path of ['milk.md', 'deep/oat.md']) synced.write(path, path);
  await synced.sync();
  const { id } = await synced.note('milk.md');
  renameSync(synced.at('milk.md'), synced.at('x'));
  renameSync(synced.at('x'), synced.at('Milk.md'));
  await synced.sync();
  assert.equal((await synced.note('Milk.md')).id, id);
  await synced.rename('deep/oat.md', 'deep/Oat.md');
  for (let run = 0; run < 2; run += 1) await synced.sync();
  assert.deepEqual(synced.files(), { 'Milk.md': 'milk.md', 'deep/Oat.md': 'deep/oat.md' });
  assert.deepEqual(await synced.notes(), synced.files());
  assert.equal((await synced.sync()).status, 0);
});

test('sync: names that the file system spells in another form', async (t) => {
  const synced = start(t);
  ignoreSpelling(t, synced.folder, (name) => name.normalize('NFD'));
  synced.write('Küche/Öl.md', 'a');
  await synced.put('Küche/Über.md', 'b');
  await synced.sync();
  const form = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([path, text]) => [path.normalize(), text]));
  const texts = { 'Küche/Öl.md': 'a', 'Küche/Über.md': 'b' };
  assert.deepEqual([form(synced.files()), await synced.notes()], [texts, texts]);
  assert.deepEqual((await synced.sync()).lines, []);
  await synced.put('Küche/Über.md', 'b2');
  synced.write('Küche/Öl.md', 'a2');
  await synced.sync();
  const changed = { 'Küche/Öl.md': 'a2', 'Küche/Über.md': 'b2' };
  assert.deepEqual([form(synced.files()), await synced.notes()], [changed, changed]);
  synced.remove('Küche/Über.md');
  assert.equal((await synced.sync()).lines[0], 'delete there Küche/Über.md');
  assert.deepEqual((await synced.sync()).lines, []);
});

test('sync: what cannot be read is left, and is never missing', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'deep/b.md']) synced.write(path, path);
  await synced.sync();
  let hidden = 'a.md';
  const refuse =
    (original: (...args: never[]) => unknown) =>
    (path: never, ...rest: never[]) => {
      if (String(path).endsWith(hidden)) throw systemError('EACCES');
      return original(path, ...rest);
    };
  replaceInFs(t, { readFileSync: refuse, readdirSync: refuse });
  synced.write('a.md', 'a2');
  const file = await synced.sync();
  assert.deepEqual([file.warnings, file.status], ['left a.md: it cannot be read: EACCES\n', 1]);
  await synced.put('a.md', 'a3');
  assert.equal((await synced.sync()).status, 1);
  // All else goes on, and nothing counts as missing or moved.
  hidden = 'deep';
  await synced.put('deep/b.md', 'b2');
  synced.write('c.md', 'deep/b.md');
  const folder = await synced.sync();
  assert.equal(folder.status, 1);
  assert.match(folder.lines[0] ?? '', /^conflict a\.md|^create c\.md/);
  const why = 'it cannot be read: EACCES';
  assert.match(folder.warnings, new RegExp(`^left deep: ${why}\nleft deep/b.md: ${why}\n`));
  hidden = '/nothing';
  await synced.sync();
  assert.deepEqual(Object.values(synced.files()).sort(), ['a2', 'a3', 'b2', 'deep/b.md']);
});

test('sync: what cannot be taken away is left, with a reason that stays the same', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  await synced.put('a.md', 'there');
  let code = 'EACCES';
  replaceInFs(t, {
    renameSync: (original) => (from: never, to: never) => {
      if (!String(from).endsWith('/a.md')) return original(from, to);
      throw Object.assign(systemError(`${code}: denied, rename '${to}'`), {
        code,
        syscall: 'rename',
      });
    },
  });
  const denied = await synced.sync();
  assert.deepEqual([denied.warnings, denied.status], ['left a.md: EACCES: denied\n', 1]);
  assert.deepEqual(readdirSync(synced.at('.notes-sync/tmp')), []);
  code = 'EXDEV';
  const { warnings } = await synced.sync();
  assert.equal(warnings, 'left a.md: it is on another file system\n');
});

test('sync: a file that cannot move to its new path stays at the old one', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  await synced.rename('a.md', 'locked/a.md');
  const refuse = (original: (...args: never[]) => unknown) => (from: never, to: never) => {
    if (String(to).endsWith('/locked/a.md')) throw systemError('EACCES');
    return original(from, to);
  };
  replaceInFs(t, { linkSync: refuse, copyFileSync: refuse });
  assert.equal((await synced.sync()).status, 1);
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
});

test('sync: --follow watches the other folders if one cannot be read', async (t) => {
  const { watch } = await import('node:fs');
  const quiet = temporaryFolder(t);
  const watched: string[] = [];
  replaceInFs(t, {
    watch: () => (path: string) => {
      if (path === 'locked') throw systemError('EACCES');
      watched.push(path);
      return watch(quiet);
    },
  });
  const warnings: string[] = [];
  const stopping = new AbortController();
  await follow({
    at: (path) => path,
    run: async (folders) => {
      for (const folder of ['locked', 'open']) folders.watch(folder);
      stopping.abort();
    },
    listen: async () => {},
    warn: (line) => warnings.push(line),
    stop: stopping.signal,
  });
  assert.deepEqual({ watched, warnings }, { watched: ['open'], warnings: [] });
});

test('sync: --follow looks from time to time if it cannot watch', async (t) => {
  setLimits(t, SYNC_TIMES, { lookUnwatched: 1 });
  const quiet = temporaryFolder(t);
  const { watch } = await import('node:fs');
  for (const fails of ['at once', 'later', 'run'] as const) {
    let runs = 0;
    const warnings: string[] = [];
    const stopping = new AbortController();
    const error = systemError('ENOSPC');
    replaceInFs(t, {
      watch: () => () => {
        if (fails === 'at once') throw error;
        const watcher = watch(quiet);
        if (fails === 'later') setImmediate(() => watcher.emit('error', error));
        return watcher;
      },
    });
    const following = follow({
      at: (path) => path,
      run: async (watched) => {
        runs += 1;
        for (const folder of ['', 'deep']) watched.watch(folder);
        if (fails === 'run') throw error;
      },
      listen: (_) => delay(60_000, undefined, { signal: stopping.signal }),
      warn: (line) => warnings.push(line),
      stop: stopping.signal,
    });
    await until(() => runs > 3);
    stopping.abort();
    await following;
    assert.deepEqual(warnings.length, 1, fails);
    assert.match(warnings[0] ?? '', fails === 'run' ? /: ENOSPC/ : /cannot watch: ENOSPC/);
  }
});

test('sync: what was taken away comes back, whatever its folder has become', async (t) => {
  const synced = start(t);
  const outside = start(t);
  await synced.sync();
  synced.write('.notes-sync/aside/-1/linked/a.md', 'a');
  synced.write('.notes-sync/aside/-2/b.txt/b.md', 'b');
  symlinkSync(outside.folder, synced.at('linked'));
  synced.write('b.txt', 'file');
  await synced.sync();
  assert.deepEqual(await synced.notes(), { 'a.md': 'a', 'b.md': 'b', 'b.txt': 'file' });
  assert.deepEqual(outside.files(), {});
});

test('sync: names that are not UTF-8 are left, and named', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  const bytesOf = (name: string) =>
    Buffer.concat([Buffer.from(`${synced.folder}/${name}`), Buffer.of(0xe9)]);
  mkdirSync(bytesOf('caf'));
  writeFileSync(Buffer.concat([bytesOf('b'), Buffer.from('.md')]), 'b');
  const { lines, warnings, status } = await synced.sync();
  assert.deepEqual([lines[0], status], ['create a.md', 1]);
  const why = 'its name is not UTF-8';
  assert.deepEqual(warnings.split('\n').sort(), [
    '',
    `left b\ufffd.md: ${why}`,
    `left caf\ufffd: ${why}`,
  ]);
});
