// bin/notes-server itself: it works from wherever it is started, and tells what mends an incomplete installation.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assertRefused, LAUNCHER, runCommand, startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** A folder, with a space in its name, that holds copies of these parts of the project: a tree of its own. */
function treeOf(test: TestContext, ...parts: string[]): string {
  const tree = join(temporaryFolder(test), 'a tree');
  for (const part of ['bin', 'package.json', ...parts]) {
    cpSync(join(root, part), join(tree, part), {
      recursive: true,
      filter: (path) => !/sqlite3\/(build|deps)$/.test(path),
    });
  }
  return tree;
}

const launcherOf = (tree: string) => ({ launcher: join(tree, 'bin/notes-server') });

test('it runs through a symlink from another folder, where its database goes', async (t) => {
  const link = join(temporaryFolder(t), 'notes');
  symlinkSync(LAUNCHER, link);
  const command = startCommand(t, ['--port', '0'], { launcher: link });
  assert.equal((await request(await command.ready(), 'GET', '/health')).status, 200);
  assert.equal((await stop(command)).status, 0);
});

test('it is executable by itself', async () => {
  const { stdout } = await promisify(execFile)(LAUNCHER, ['--version']);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test('it runs with no packages but those that it says it needs', async (t) => {
  const tree = treeOf(t, 'dist/src', 'schemas');
  mkdirSync(join(tree, 'node_modules'));
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    symlinkSync(join(root, 'node_modules', name), join(tree, 'node_modules', name));
  }
  const command = startCommand(t, ['--port', '0'], launcherOf(tree));
  const url = await command.ready();
  for (const path of ['/notes', '/docs', '/docs/swagger-ui.css', '/openapi.json', '/problems/not-found']) {
    assert.equal((await request(url, 'GET', path)).status, 200, path);
  }
  assert.equal((await stop(command)).status, 0);
});

test('a fresh clone is told how to install it', async (t) => {
  const tree = treeOf(t);
  const reason = new RegExp(`not completely installed\\. Run: npm --prefix "${tree}/" ci\\n$`);
  assertRefused(await runCommand(t, [], launcherOf(tree)), 1, reason);
});

test('a tree whose build did not come to its end is told the same', async (t) => {
  const tree = treeOf(t, 'dist/src', 'node_modules/sqlite3', 'node_modules/bindings', 'node_modules/file-uri-to-path');
  rmSync(join(tree, 'dist/src/contract/generated.js'));
  assertRefused(await runCommand(t, [], launcherOf(tree)), 1, /Run: npm --prefix ".*" ci\n$/);
});

test('a built tree without its packages is told the same', async (t) => {
  assertRefused(await runCommand(t, [], launcherOf(treeOf(t, 'dist/src'))), 1, /Run: npm --prefix ".*" ci\n$/);
});

test('where npm withheld the build of sqlite3, the command that makes up for it is told', async (t) => {
  const tree = treeOf(t, 'dist/src', 'node_modules/sqlite3', 'node_modules/bindings', 'node_modules/file-uri-to-path');
  const ending = await runCommand(t, [], launcherOf(tree));
  assertRefused(ending, 1, new RegExp(`Run: npm --prefix "${tree}/" rebuild --ignore-scripts=false sqlite3\\n$`));
});

test('where the binding of sqlite3 does not fit, the same command is told', async (t) => {
  const tree = treeOf(t, 'dist/src', 'node_modules/sqlite3', 'node_modules/bindings', 'node_modules/file-uri-to-path');
  mkdirSync(join(tree, 'node_modules/sqlite3/build'));
  writeFileSync(join(tree, 'node_modules/sqlite3/build/node_sqlite3.node'), 'no library');
  assertRefused(
    await runCommand(t, [], launcherOf(tree)),
    1,
    /Run: npm --prefix ".*" rebuild --ignore-scripts=false sqlite3\n$/,
  );
});

for (const missing of ['dist/src/docs/assets/page.css', 'schemas/openapi.json']) {
  test(`a tree without ${missing} ends with one line that names it`, async (t) => {
    const tree = treeOf(t, 'dist/src', 'schemas');
    mkdirSync(join(tree, 'node_modules'));
    symlinkSync(join(root, 'node_modules/sqlite3'), join(tree, 'node_modules/sqlite3'));
    rmSync(join(tree, missing));
    assertRefused(await runCommand(t, [], launcherOf(tree)), 1, new RegExp(missing));
  });
}
