// The packed service as npm installs it in each of its ways, with the install script of sqlite3 and
// without it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { assertRefused, runCommand, startCommand, stop } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { RESOLUTIONS, testLibrary } from '../support/library-user.ts';
import { startRegistry } from '../support/registry.ts';
import { root } from '../support/sources.ts';

const run = promisify(execFile);
const registry = await startRegistry({ after });

/** Withholds install scripts in every version of npm; npm 12 and later withhold them by default. */
const WITHHELD = { npm_config_ignore_scripts: 'true' };

/** Makes npm look for global commands in another folder than that of their installation. */
const elsewhere = (folder: string) => ({ npm_config_prefix: join(folder, 'elsewhere') });

/** The registry knows the package of a reinstallation by its name. */
const again = (command: string) => command.replace(/PACKAGE$/, 'notes-server');

type Test = Parameters<typeof startCommand>[0];

/**
 * Returns a function that runs shell commands in `folder`, where npm installs from the registry of
 * these tests.
 */
function shellIn(folder: string) {
  const environment = { ...registry, npm_config_prefix: join(folder, 'a prefix') };
  return async (command: string, more: NodeJS.ProcessEnv = {}) =>
    run('sh', ['-c', command], { cwd: folder, env: { ...environment, ...more } });
}

/** Asserts that the installed service is complete. */
async function assertServes(t: Test, launcher: string): Promise<void> {
  const command = startCommand(t, ['--port', '0'], { launcher });
  const url = await command.ready();
  for (const path of [
    ...['/notes', '/docs', '/docs/swagger-ui.css', '/openapi.json', '/problems/not-found'],
    '/health',
  ]) {
    assert.equal((await request(url, 'GET', path)).status, 200, path);
  }
  const json = { workers: 2, count: 2 };
  assert.equal((await request(url, 'POST', '/counter/increment', { json })).status, 200);
  assert.equal((await stop(command)).status, 0);
}

/** Returns the command that a refused start recommends in its one line. */
function commandIn(stderr: string, reason: RegExp): string {
  assert.match(stderr, reason);
  const [, command] =
    /^notes-server: [^\n]*\. (?:Run|Install its package again): (npm [^\n]+)\n$/.exec(stderr) ?? [];
  return command ?? assert.fail(stderr);
}

/** Starts a launcher that has to refuse, and returns the command that it recommends. */
async function remedyOf(t: Test, launcher: string, reason: RegExp): Promise<string> {
  const ending = await runCommand(t, ['--port', '0'], { launcher });
  assertRefused(ending, 1, reason);
  return commandIn(ending.stderr, reason);
}

testLibrary(
  'installation: library',
  (cwd) => run('npm', ['install', 'notes-server'], { cwd, env: registry }),
  RESOLUTIONS,
);

test('installation: a project without the binding is repaired', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'node_modules/.bin/notes-server');
  await shell('npm init --yes && npm install notes-server', WITHHELD);
  const remedy = await remedyOf(t, launcher, /sqlite3 has no working binding/);
  assert.ok(remedy.startsWith(`npm --prefix "${folder}" pkg set`), remedy);
  // The command works from another folder, and while scripts are still withheld.
  await shell(`cd / && ${remedy}`, WITHHELD);
  await assertServes(t, launcher);
});

test('installation: a project without a package is repaired', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'node_modules/.bin/notes-server');
  await shell(
    'npm init --yes && npm pkg set --json allowScripts.sqlite3=true && npm install notes-server',
  );
  // The service loads one with the program and the other on demand.
  for (const name of ['sqlite3', 'prom-client']) {
    rmSync(join(folder, 'node_modules', name), { recursive: true });
    const remedy = await remedyOf(t, launcher, /the installation is incomplete/);
    await shell(`cd / && ${remedy}`);
    await assertServes(t, launcher);
  }
});

test('installation: a global command serves', async (t) => {
  const folder = temporaryFolder(t);
  await shellIn(folder)('npm install --global --allow-scripts=sqlite3 notes-server');
  await assertServes(t, join(folder, 'a prefix/bin/notes-server'));
});

test('installation: a global command without the binding is repaired', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'a prefix/bin/notes-server');
  await shell('npm install --global notes-server', WITHHELD);
  const remedy = await remedyOf(t, launcher, /sqlite3 has no working binding/);
  await shell(remedy, { ...WITHHELD, ...elsewhere(folder) });
  await assertServes(t, launcher);
});

test('installation: a global command without a package is repaired', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'a prefix/bin/notes-server');
  await shell('npm install --global --allow-scripts=sqlite3 notes-server');
  rmSync(join(folder, 'a prefix/lib/node_modules/notes-server/node_modules/sqlite3'), {
    recursive: true,
  });
  const remedy = await remedyOf(t, launcher, /the installation is incomplete/);
  await shell(again(remedy), elsewhere(folder));
  await assertServes(t, launcher);
});

test('installation: npx runs once the binding is there', async (t) => {
  const shell = shellIn(temporaryFolder(t));
  const { stderr } = await shell('npx --yes notes-server --version || true', WITHHELD);
  await shell(commandIn(stderr, /sqlite3 has no working binding/), WITHHELD);
  const { stdout } = await shell('npx --yes notes-server --version');
  const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  assert.equal(stdout, `${version}\n`);
});
