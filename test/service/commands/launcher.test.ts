// bin/notes-server itself: it works from any place, and says what to do about an old Node and an
// incomplete installation.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import {
  assertRefused,
  assertServes,
  LAUNCHER,
  preload,
  runCommand,
} from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const PACKAGES = ['sqlite3', 'bindings', 'file-uri-to-path', 'lru-cache', 'birpc'].map(
  (name) => `node_modules/${name}`,
);

/** Returns a folder, with a space in its name, that holds copies of these parts of the project. */
function treeOf(test: TestContext, ...parts: string[]): string {
  const tree = join(temporaryFolder(test), 'a tree');
  for (const part of ['bin', 'package.json', ...parts]) {
    cpSync(join(root, part), join(tree, part), {
      recursive: true,
      filter: (path) => !/(sqlite3\/(build|deps)|\.map|\.d\.ts)$/.test(path),
    });
  }
  mkdirSync(join(tree, 'node_modules'), { recursive: true });
  return tree;
}

/** Gives a tree the packages that the service needs at run time. */
function linkDependencies(tree: string): void {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies))
    symlinkSync(join(root, 'node_modules', name), join(tree, 'node_modules', name));
}

const launcherOf = (tree: string) => ({ launcher: join(tree, 'bin/notes-server') });

/** Asserts that the command of the tree fails, and that its one line ends with `remedy`. */
async function assertRemedy(t: TestContext, tree: string, remedy: string): Promise<void> {
  const ending = await runCommand(t, [], launcherOf(tree));
  const reason =
    remedy === 'ci' ? /: the installation is incomplete\. / : /: sqlite3 has no working binding /;
  assertRefused(ending, 1, reason);
  assert.ok(ending.stderr.endsWith(` Run: npm --prefix "${tree}/" ${remedy}\n`), ending.stderr);
}

/** Asserts that a program can catch the error of the library of the tree, and gets one line. */
async function assertLibraryRemedy(tree: string): Promise<void> {
  const library = JSON.stringify(pathToFileURL(join(tree, 'dist/src/library.js')));
  const program = `import(${library}).catch((error) => console.log(error.message))`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--eval', program]);
  assert.match(stdout, /^sqlite3 has no working binding .* Run: npm .* pnpm approve-builds\n$/);
  assert.equal(stderr, '');
}

test('launcher: executable through a link from another folder', async (t) => {
  const link = join(temporaryFolder(t), 'notes');
  symlinkSync(LAUNCHER, link);
  const { stdout } = await promisify(execFile)(link, ['--version'], { cwd: temporaryFolder(t) });
  assert.match(stdout, /^\d+\.\d+\.\d+(?: \([0-9a-f]+(?:-dirty)?\))?\n$/);
});

test('launcher: runs with only the dependencies of package.json', async (t) => {
  const tree = treeOf(t, 'dist/src', 'schemas');
  linkDependencies(tree);
  await assertServes(t, launcherOf(tree).launcher);
});

test('launcher: a fresh clone, and a build without its packages, need npm ci', async (t) => {
  for (const parts of [[], ['dist/src']]) await assertRemedy(t, treeOf(t, ...parts), 'ci');
});

test('launcher: an older Node is told what it takes before anything is loaded', async (t) => {
  // There is no dist/: a version that is new enough fails only there.
  const parts = launcherOf(treeOf(t));
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const needed = engines.node.replace('>=', '');
  const [major = 0, minor = 0] = needed.split('.').map(Number);
  for (const [version, isOld] of [
    [`${major}.${minor - 1}.9`, true],
    [`${major - 1}.${minor + 1}.0`, true],
    [`${needed}.0`, false],
    ['100.1.0-pre', false],
  ] as const) {
    const versions = `{ value: { ...process.versions, node: '${version}' } }`;
    const fake = `Object.defineProperty(process, 'versions', ${versions})`;
    const text = `Node.js ${version} is too old: it takes ${needed} or later\n`;
    const reason = isOld
      ? RegExp(`: ${text.replaceAll('.', '\\.')}$`)
      : /installation is incomplete/;
    assertRefused(await runCommand(t, [], { ...parts, node: preload(fake) }), 1, reason);
  }
});

test('launcher: a missing or damaged binding of sqlite3 is rebuilt', async (t) => {
  const tree = treeOf(t, 'dist/src', ...PACKAGES);
  const remedy = 'rebuild --ignore-scripts=false sqlite3';
  await assertRemedy(t, tree, remedy);
  await assertLibraryRemedy(tree);
  mkdirSync(join(tree, 'node_modules/sqlite3/build'));
  writeFileSync(join(tree, 'node_modules/sqlite3/build/node_sqlite3.node'), 'no library');
  await assertRemedy(t, tree, remedy);
  await assertLibraryRemedy(tree);
});

test('launcher: pnpm, and Yarn without node_modules, have remedies of their own', async (t) => {
  const project = temporaryFolder(t);
  const place = join(project, 'node_modules/notes-server');
  cpSync(treeOf(t, 'dist/src', ...PACKAGES), place, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{}');
  writeFileSync(join(project, 'pnpm-lock.yaml'), '');
  const pnp = preload("Object.defineProperty(process.versions, 'pnp', { value: '3' })");
  const pnpm = `pnpm --dir "${project}"`;
  const build = 'npm pkg set --json dependenciesMeta.sqlite3.built=true && yarn install';
  const ways = [
    [launcherOf(place), `${pnpm} approve-builds sqlite3`, `${pnpm} install`],
    [{ ...launcherOf(place), node: pnp }, build, 'yarn install'],
  ] as const;
  const assertRun = async (way: (typeof ways)[number][0], remedy: string) =>
    assertRefused(await runCommand(t, [], way), 1, new RegExp(` Run: ${remedy}\n$`));
  for (const [way, binding] of ways) await assertRun(way, binding);
  rmSync(join(place, 'node_modules/bindings'), { recursive: true });
  for (const [way, , packages] of ways) await assertRun(way, packages);
});

for (const missing of ['dist/src/contract/generated.js', 'node_modules/bindings']) {
  test(`launcher: a missing ${missing} needs npm ci`, async (t) => {
    const tree = treeOf(t, 'dist/src', ...PACKAGES);
    rmSync(join(tree, missing), { recursive: true });
    await assertRemedy(t, tree, 'ci');
  });
}

test('launcher: a low limit on open files is named', async (t) => {
  // From version 22 on, Node starts the service with 40.
  for (const limit of ['24', '32']) {
    const script = `ulimit -n ${limit}; "$0" --port 0 || echo $?`;
    // Coverage would need files, and variables of the tests are unknown to the service.
    const env = { PATH: process.env.PATH, NODE_V8_COVERAGE: '' };
    const parts = { cwd: temporaryFolder(t), timeout: 60_000, env };
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script, LAUNCHER], parts);
    assert.equal(stdout, '1\n', limit);
    assert.match(stderr, /^notes-server: the limit on open files is too low: raise it [^\n]+\n$/);
  }
});

for (const missing of ['dist/src/docs/drawings.html', 'schemas/openapi.json']) {
  test(`launcher: a missing ${missing} is named`, async (t) => {
    const tree = treeOf(t, 'dist/src', 'schemas');
    linkDependencies(tree);
    rmSync(join(tree, missing));
    assertRefused(await runCommand(t, [], launcherOf(tree)), 1, new RegExp(missing));
  });
}
