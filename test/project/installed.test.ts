// The package as its users get it: packed, and brought by npm in each of its ways, with the install script of sqlite3 and
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
import { startRegistry } from '../support/registry.ts';

const registry = await startRegistry({ after });

/** What withholds install scripts in every version of npm; from 12 on they are withheld without it. */
const WITHHELD = { npm_config_ignore_scripts: 'true' };

/** What npm takes for the place of global commands where another one was given when they were installed. */
const elsewhere = (folder: string) => ({ npm_config_prefix: join(folder, 'elsewhere') });

/** The package that is installed again: here the registry has it by its name. */
const again = (command: string) => command.replace(/PACKAGE$/, 'notes-server');

type Test = Parameters<typeof startCommand>[0];

/** Returns a function that runs commands of a shell in `folder`, where npm installs from the registry of these tests. */
function shellIn(folder: string) {
  const environment = { ...registry, npm_config_prefix: join(folder, 'a prefix') };
  return async (command: string, more: NodeJS.ProcessEnv = {}) =>
    promisify(execFile)('sh', ['-c', command], { cwd: folder, env: { ...environment, ...more } });
}

/** Asserts that nothing of the service is missing. */
async function assertServes(t: Test, launcher: string): Promise<void> {
  const command = startCommand(t, ['--port', '0'], { launcher });
  const url = await command.ready();
  for (const path of ['/notes', '/docs', '/docs/swagger-ui.css', '/openapi.json', '/problems/not-found', '/health']) {
    assert.equal((await request(url, 'GET', path)).status, 200, path);
  }
  assert.equal((await request(url, 'POST', '/counter/increment', { json: { workers: 2, count: 2 } })).status, 200);
  assert.equal((await stop(command)).status, 0);
}

/** The command that the one line of a refused start says to run. */
function commandIn(stderr: string, reason: RegExp): string {
  assert.match(stderr, reason);
  return (
    /^notes-server: [^\n]*\. (?:Run|Install its package again): (npm [^\n]+)\n$/.exec(stderr)?.[1] ??
    assert.fail(stderr)
  );
}

/** The same, of a launcher that is started here. */
async function remedyOf(t: Test, launcher: string, reason: RegExp): Promise<string> {
  const ending = await runCommand(t, ['--port', '0'], { launcher });
  assertRefused(ending, 1, reason);
  return commandIn(ending.stderr, reason);
}

test('in a project it serves, once the command that is told has brought the binding', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'node_modules/.bin/notes-server');
  await shell('npm init --yes && npm install notes-server', WITHHELD);
  const remedy = await remedyOf(t, launcher, /sqlite3 has no binding that works here/);
  assert.ok(remedy.startsWith(`npm --prefix "${folder}" pkg set`), remedy);
  // From another folder, and with the setting that withheld the script still there.
  await shell(`cd / && ${remedy}`, WITHHELD);
  await assertServes(t, launcher);
});

test('in a project from which packages have gone, the command that is told brings them back', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'node_modules/.bin/notes-server');
  await shell('npm init --yes && npm pkg set --json allowScripts.sqlite3=true && npm install notes-server');
  // The one is loaded with the program, the other when it is wanted.
  for (const name of ['sqlite3', 'prom-client']) {
    rmSync(join(folder, 'node_modules', name), { recursive: true });
    const remedy = await remedyOf(t, launcher, /it is not completely installed/);
    await shell(`cd / && ${remedy}`);
    await assertServes(t, launcher);
  }
});

test('as a global command it serves, at once where the script is allowed', async (t) => {
  const folder = temporaryFolder(t);
  await shellIn(folder)('npm install --global --allow-scripts=sqlite3 notes-server');
  await assertServes(t, join(folder, 'a prefix/bin/notes-server'));
});

test('as a global command it serves, once the command that is told has brought the binding', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'a prefix/bin/notes-server');
  await shell('npm install --global notes-server', WITHHELD);
  const remedy = await remedyOf(t, launcher, /sqlite3 has no binding that works here/);
  await shell(remedy, { ...WITHHELD, ...elsewhere(folder) });
  await assertServes(t, launcher);
});

test('as a global command from which a package has gone, it is told what brings it back', async (t) => {
  const folder = temporaryFolder(t);
  const shell = shellIn(folder);
  const launcher = join(folder, 'a prefix/bin/notes-server');
  await shell('npm install --global --allow-scripts=sqlite3 notes-server');
  rmSync(join(folder, 'a prefix/lib/node_modules/notes-server/node_modules/sqlite3'), { recursive: true });
  const remedy = await remedyOf(t, launcher, /it is not completely installed/);
  await shell(again(remedy), elsewhere(folder));
  await assertServes(t, launcher);
});

test('by npx it runs, once the command that is told has brought the binding', async (t) => {
  const shell = shellIn(temporaryFolder(t));
  const { stderr } = await shell('npx --yes notes-server --version || true', WITHHELD);
  await shell(commandIn(stderr, /sqlite3 has no binding that works here/), WITHHELD);
  const { stdout } = await shell('npx --yes notes-server --version');
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  assert.equal(stdout, `${version}\n`);
});
