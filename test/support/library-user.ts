// Installs the package as a user does, and there compiles and runs the example of the guide and an
// incorrect program.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from './engine.ts';
import { root } from './sources.ts';

const run = promisify(execFile);
const tree = fileURLToPath(root);

const WRONG = `
import { createApp } from 'notes-server';

// @ts-expect-error: the option db is required.
createApp({});
// @ts-expect-error: no such option.
createApp({ db: ':memory:', prot: 3000 });
// @ts-expect-error: the port is a number.
createApp({ db: ':memory:', port: '3000' });
// @ts-expect-error: only the command can use several processes.
createApp({ db: ':memory:', processes: 2 });
// @ts-expect-error: a service has no address before it listens.
createApp({ db: ':memory:' }).url;
`;

/** Brings the package into `node_modules` of a folder that has a package.json. */
type Install = (folder: string) => unknown;

const NODE = ['--module', 'nodenext'];

/** The ways to resolve modules that TypeScript has for a package with exports. */
export const RESOLUTIONS = [
  NODE,
  ['--module', 'node16'],
  ['--module', 'preserve', '--moduleResolution', 'bundler'],
];

/** Registers the tests of the library, in projects into which `install` has brought the package. */
export function testLibrary(feature: string, install: Install, resolutions = [NODE]): void {
  test(`${feature}: the example of the guide compiles, runs and ends`, async (t) => {
    const { folder, compile } = await projectWith(t, install, 'client.test.ts', example());
    await compile(...NODE, '--types', 'node', '--skipLibCheck', 'client.test.ts');
    const { stdout, stderr } = await run(
      process.execPath,
      ['--test', '--test-reporter=tap', 'client.test.js'],
      { cwd: folder, env: { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined } },
    );
    assert.match(stdout, /^# pass [1-9]/m);
    assert.match(stdout, /^# fail 0$/m);
    assert.equal(stderr, '');
  });

  test(`${feature}: wrong options do not compile`, async (t) => {
    const { compile } = await projectWith(t, install, 'wrong.ts', WRONG);
    // Without the types of Node: those of the library need no others.
    const checks = ['--noEmit', '--skipLibCheck', 'false', '--exactOptionalPropertyTypes'];
    for (const resolution of resolutions)
      await compile(...checks, '--types', '', ...resolution, 'wrong.ts');
  });

  test(`${feature}: the contract and the manifest can be imported`, async (t) => {
    const program = `
      import { createRequire } from 'node:module';
      const require = createRequire(import.meta.url);
      const { name } = require('notes-server/package.json');
      console.log(require('notes-server/openapi.json').openapi, name);`;
    const { folder } = await projectWith(t, install, 'read.mjs', program);
    const { stdout } = await run(process.execPath, ['read.mjs'], { cwd: folder });
    assert.equal(stdout, '3.1.1 notes-server\n');
  });
}

async function projectWith(t: TestContext, install: Install, name: string, text: string) {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'package.json'), '{"type":"module","allowScripts":{"sqlite3":true}}');
  await install(folder);
  mkdirSync(join(folder, 'node_modules/@types'));
  for (const each of ['@types/node', 'undici-types']) {
    symlinkSync(join(tree, 'node_modules', each), join(folder, 'node_modules', each));
  }
  writeFileSync(join(folder, name), text);
  const compile = (...args: string[]) =>
    run(
      join(tree, 'node_modules/.bin/tsc'),
      ['--strict', '--target', 'es2022', '--lib', 'es2022', ...args],
      { cwd: folder },
    );
  return { folder, compile };
}

function example(): string {
  const guide = readFileSync(new URL('src/docs/guides/testing-clients.md', root), 'utf8');
  const [, text] = /```ts\n(import [^`]*'notes-server'[\s\S]*?)```/.exec(guide) ?? [];
  return text ?? assert.fail('the guide has no example');
}
