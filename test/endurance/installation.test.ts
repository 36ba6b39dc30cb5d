// The packed service as npm installs it in each of its ways, with the install script of sqlite3 and
// without it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { describeVersion } from '../../src/version.ts';
import { assertRefused, assertServes, runCommand, type startCommand } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { RESOLUTIONS, testLibrary } from '../support/library-user.ts';
import { startRegistry } from './registry.ts';

const run = promisify(execFile);
const registry = await startRegistry({ after });

/** Withholds install scripts in every version of npm; npm 12 and later withhold them by default. */
const WITHHELD = { npm_config_ignore_scripts: 'true' };

const [LOCAL, GLOBAL] = ['node_modules/.bin/notes-server', 'a prefix/bin/notes-server'];

type Test = Parameters<typeof startCommand>[0];

function shellIn(folder: string) {
  const environment = { ...registry, npm_config_prefix: join(folder, 'a prefix') };
  return async (command: string, more: NodeJS.ProcessEnv = {}) =>
    run('sh', ['-c', command], { cwd: folder, env: { ...environment, ...more } });
}

function commandIn(stderr: string, reason: RegExp): string {
  assert.match(stderr, reason);
  const [, command] =
    /^notes-server: [^\n]*\. (?:Run|Install its package again): (npm [^\n]+)\n$/.exec(stderr) ?? [];
  return command ?? assert.fail(stderr);
}

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

test('installation: a global command serves', async (t) => {
  const folder = temporaryFolder(t);
  await shellIn(folder)('npm install --global --allow-scripts=sqlite3 notes-server');
  await assertServes(t, join(folder, GLOBAL));
});

const MANIFEST = 'npm init --yes && npm pkg set --json allowScripts.sqlite3=true';
const GLOBAL_PACKAGES = 'a prefix/lib/node_modules/notes-server/node_modules';

const DAMAGED: readonly (readonly [launcher: string, install: string, ...packages: string[]])[] = [
  [LOCAL, 'npm init --yes && npm install notes-server'],
  [LOCAL, `${MANIFEST} && npm install notes-server`, 'node_modules/sqlite3'],
  [GLOBAL, 'npm install --global notes-server'],
  [
    GLOBAL,
    'npm install --global --allow-scripts=sqlite3 notes-server',
    `${GLOBAL_PACKAGES}/sqlite3`,
  ],
];

for (const [path, install, ...packages] of DAMAGED) {
  const kind = path === LOCAL ? 'project' : 'global command';
  const [missing, reason, scripts] =
    packages.length > 0
      ? (['a package', /the installation is incomplete/, {}] as const)
      : (['the binding', /sqlite3 has no working binding/, WITHHELD] as const);
  test(`installation: a ${kind} without ${missing} is repaired`, async (t) => {
    const folder = temporaryFolder(t);
    const shell = shellIn(folder);
    const launcher = join(folder, path);
    await shell(install, scripts);
    for (const removed of packages.length > 0 ? packages : [undefined]) {
      if (removed) rmSync(join(folder, removed), { recursive: true });
      const remedy = await remedyOf(t, launcher, reason);
      if (path === LOCAL && !removed)
        assert.ok(remedy.startsWith(`npm --prefix "${folder}" pkg set`), remedy);
      // It works from another folder, where npm looks for global commands in another place, and
      // while scripts are still withheld. The registry knows the package by its name.
      const command = `cd / && ${remedy.replace(/PACKAGE$/, 'notes-server')}`;
      await shell(command, { ...scripts, npm_config_prefix: join(folder, 'elsewhere') });
      await assertServes(t, launcher);
    }
  });
}

test('installation: npx runs once the binding is there', async (t) => {
  const shell = shellIn(temporaryFolder(t));
  const { stderr } = await shell('npx --yes notes-server check none.db || true', WITHHELD);
  await shell(commandIn(stderr, /sqlite3 has no working binding/), WITHHELD);
  await assert.rejects(shell('npx --yes notes-server check none.db'), /there is no such file/);
  const { stdout } = await shell('npx --yes notes-server --version');
  assert.equal(stdout, `${describeVersion()}\n`);
});
