// The service inside another program: the README's example, and a program that gets it wrong, are compiled and run where the
// package is installed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/engine.ts';
import { startRegistry } from '../support/registry.ts';
import { root } from '../support/sources.ts';

const run = promisify(execFile);
const registry = await startRegistry({ after });
const tree = fileURLToPath(root);

const WRONG = `
import { createApp } from 'notes-server';

// @ts-expect-error: where the data are kept has to be said.
createApp({});
// @ts-expect-error: no such option.
createApp({ db: ':memory:', prot: 3000 });
// @ts-expect-error: a number in digits.
createApp({ db: ':memory:', port: '3000' });
// @ts-expect-error: what a command does with several processes no program does.
createApp({ db: ':memory:', processes: 2 });
// @ts-expect-error: a service has no address before it listens.
createApp({ db: ':memory:' }).url;
`;

/** A project that has the package, a compiler and the types of Node; returns what compiles its files. */
async function projectWith(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'package.json'), '{"type":"module","allowScripts":{"sqlite3":true}}');
  await run('npm', ['install', 'notes-server'], { cwd: folder, env: registry });
  mkdirSync(join(folder, 'node_modules/@types'));
  for (const name of ['@types/node', 'undici-types']) {
    symlinkSync(join(tree, 'node_modules', name), join(folder, 'node_modules', name));
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const compile = (...args: string[]) =>
    run(join(tree, 'node_modules/.bin/tsc'), ['--strict', '--target', 'es2022', ...args], { cwd: folder });
  return { folder, compile };
}

function example(): string {
  const readme = readFileSync(new URL('README.md', root), 'utf8');
  return /```ts\n(import [^`]*'notes-server'[\s\S]*?)```/.exec(readme)?.[1] ?? assert.fail('the README has no example');
}

test('the example of the README compiles, runs, and lets its process end', async (t) => {
  const { folder, compile } = await projectWith(t, { 'client.test.ts': example() });
  await compile('--module', 'nodenext', '--types', 'node', 'client.test.ts');
  const { stdout, stderr } = await run(process.execPath, ['--test', '--test-reporter=tap', 'client.test.js'], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined },
  });
  assert.match(stdout, /^# pass [1-9]/m);
  assert.match(stdout, /^# fail 0$/m);
  assert.equal(stderr, '');
});

test('wrong options do not compile, however modules are resolved, and no other types are needed', async (t) => {
  const { compile } = await projectWith(t, { 'wrong.ts': WRONG });
  const checks = ['--noEmit', '--types', '', '--skipLibCheck', 'false', '--exactOptionalPropertyTypes'];
  for (const module of ['nodenext', 'node16']) await compile(...checks, '--module', module, 'wrong.ts');
  await compile(...checks, '--module', 'preserve', '--moduleResolution', 'bundler', 'wrong.ts');
});

test('the contract and the manifest can be imported', async (t) => {
  const { folder } = await projectWith(t, {
    'read.mjs': `
      import { createRequire } from 'node:module';
      const require = createRequire(import.meta.url);
      console.log(require('notes-server/openapi.json').openapi, require('notes-server/package.json').name);`,
  });
  const { stdout } = await run(process.execPath, ['read.mjs'], { cwd: folder });
  assert.equal(stdout, '3.1.1 notes-server\n');
});
