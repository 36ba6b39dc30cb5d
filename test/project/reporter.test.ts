// The report of a test run says what a developer needs, and no more.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/engine.ts';
import { root } from '../support/sources.ts';

const REPORTER = fileURLToPath(new URL('test/support/reporter.mjs', root));

/** Runs a file of tests, one of which fails in line 3, and returns the report. */
function reportOf(folder: string): string {
  const text = `import assert from 'node:assert/strict'; import { test } from 'node:test';
test('passes', () => {});
test('fails', () => assert.equal(7, 0, 'Add the field to the guide.'));
test('outer', (t) => t.test('inner', () => { throw new Error('lost'); }));
test('fails elsewhere', async () => (await import('./lib/module.mjs')).fail());
`;
  writeFileSync(join(folder, 'some.test.mjs'), text);
  mkdirSync(join(folder, 'lib'));
  writeFileSync(join(folder, 'lib/module.mjs'), `export const fail = () => JSON.parse('');\n`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', `--test-reporter=${REPORTER}`, 'some.test.mjs'];
  return spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' }).stdout;
}

test('reporter: a failure shows its message and its position, without a spinner', (t) => {
  const report = reportOf(temporaryFolder(t));
  assert.match(report, /^✓ passes/m);
  assert.match(report, /^ {2}1 passed$/m);
  assert.ok(!report.includes('\r'), 'no line of a spinner');
  assert.match(report, /^fails\n {2}at some\.test\.mjs:3:\d+\n {2}Add the field to the guide\.$/m);
  assert.match(report, /^inner\n(?: {2}at some\.test\.mjs:4:\d+\n)+ {2}lost$/m);
  assert.doesNotMatch(report, /^outer$/m, 'only its subtest has a reason');
});

test('reporter: an error of a module shows its place there, too', (t) => {
  const places = String.raw`lib/module\.mjs:1:\d+\n {2}at some\.test\.mjs:5:\d+\n {2}Unexpected`;
  assert.match(reportOf(temporaryFolder(t)), new RegExp(`^fails elsewhere\n {2}at ${places}`, 'm'));
});

test('reporter: the position is that in the source, where there is a source map', (t) => {
  const folder = temporaryFolder(t);
  // Maps the first column of line 3 to line 1, column 1 of the source.
  const map = { version: 3, sources: ['../some.test.ts'], names: [], mappings: ';;AAAA;AACA' };
  writeFileSync(join(folder, 'some.test.mjs.map'), JSON.stringify(map));
  const report = reportOf(folder);
  assert.match(report, /^fails\n {2}at \.\.\/some\.test\.ts:1:1$/m);
  assert.match(report, /^in file '.*\/some\.test\.ts', line 1, column 1$/m);
});

test('reporter: a place without tests is named in one line', () => {
  const args = ['test/run.mjs', 'time.test.js', 'nowhere', 'servce/lists'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: fileURLToPath(root),
    encoding: 'utf8',
  });
  assert.deepEqual([status, stdout], [1, '']);
  assert.equal(stderr, 'There are no tests in nowhere, servce/lists (see README.md).\n');
});
