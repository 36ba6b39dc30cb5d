// The arrows of the architecture, asserted from what the modules of src/ import and touch.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/engine.ts';
import { closureOf, codeOf, root, type Source, sources } from '../support/sources.ts';

/** The rooms of the house, from the door inwards. A module that stands in src/ itself is a room of its own. */
const ROOMS: Record<string, readonly string[]> = {
  'build.ts': ['contract', 'docs'],
  'main.ts': [
    ...[
      'app.ts',
      'command-line.ts',
      'commands',
      'log',
      'log.ts',
      'option-values.ts',
      'options.ts',
      'processes',
      'storage',
    ],
  ],
  'library.ts': ['app.ts', 'log.ts', 'option-values.ts', 'options.ts'],
  'command-line.ts': ['option-values.ts', 'options.ts', 'storage'],
  'options.ts': ['guards', 'log.ts', 'option-values.ts'],
  'option-values.ts': ['storage'],
  'log.ts': ['log'],
  log: [],
  'app.ts': [
    ...['collections', 'concurrency', 'guards', 'http', 'storage'],
    ...['docs.ts', 'health.ts', 'log.ts', 'metrics.ts', 'options.ts', 'problems.ts', 'processes'],
  ],
  'docs.ts': ['contract', 'docs', 'http'],
  'health.ts': ['contract', 'http', 'storage'],
  'metrics.ts': ['contract', 'http', 'metrics', 'storage'],
  metrics: [],
  'problems.ts': ['contract', 'docs', 'http'],
  commands: ['collections', 'contract', 'storage'],
  collections: ['contract', 'http', 'storage'],
  concurrency: ['contract', 'http'],
  guards: ['http'],
  processes: ['guards', 'log.ts', 'metrics', 'storage'],
  contract: ['http'],
  docs: ['http'],
  http: [],
  storage: [],
};

/** What a room may take of another, where it may not take all. */
const DOORS: Record<string, readonly string[]> = {
  'main.ts -> storage': ['storage/check.ts', 'storage/database.ts'],
  'app.ts -> processes': ['processes/siblings.ts'],
  'processes -> guards': ['guards/keys.ts', 'guards/rate-limit.ts'],
  'processes -> storage': ['storage/batcher.ts', 'storage/database.ts'],
  'command-line.ts -> storage': ['storage/open.ts', 'storage/rqlite-address.ts'],
  'option-values.ts -> storage': ['storage/rqlite-address.ts'],
  'options.ts -> guards': ['guards/keys.ts'],
  'commands -> contract': ['contract/record.ts'],
  'collections -> storage': ['storage/shape.ts', 'storage/table.ts'],
  'health.ts -> storage': ['storage/database.ts'],
  'metrics.ts -> storage': ['storage/batcher.ts'],
  'build.ts -> contract': ['contract/compile.ts'],
  'build.ts -> docs': ['docs/bundle.ts'],
  'docs -> http': ['http/problem.ts'],
  'contract -> http': ['http/dispatch.ts', 'http/problem.ts', 'http/reply.ts'],
};

/** Packages beside Node's own modules, and the only modules that may import them. */
const PACKAGES: Record<string, readonly string[]> = {
  sqlite3: ['storage/sqlite.ts', 'storage/sqlite-connection.ts'],
  'prom-client': ['metrics.ts', 'metrics/process.ts', 'metrics/together.ts'],
  ajv: ['contract/compile.ts'],
  'ajv/dist/2020.js': ['contract/compile.ts'],
  'ajv/dist/standalone/index.js': ['contract/compile.ts'],
  esbuild: ['contract/compile.ts'],
};

const roomOf = (path: string) => (path.includes('/') ? (path.split('/')[0] ?? '') : path);

/** The modules with a line of code that matches. */
function modulesWith(pattern: RegExp): string[] {
  return sources.filter(({ lines }) => lines.some((line) => pattern.test(codeOf(line)))).map(({ path }) => path);
}

function assertArrows({ path, imports }: Source): void {
  const room = roomOf(path);
  const allowed = ROOMS[room];
  assert.ok(allowed, `src/${path} is in no room of the architecture`);
  for (const target of imports) {
    const other = roomOf(target);
    if (other === room) continue;
    assert.ok(allowed.includes(other), `src/${path} must not import ${target}`);
    const door = DOORS[`${room} -> ${other}`];
    assert.ok(!door || door.includes(target), `src/${path} may take ${door} of ${other}, not ${target}`);
  }
}

test('dependencies point one way', () => {
  assert.ok(sources.length > 30);
  for (const source of sources) assertArrows(source);
});

test('there are no cycles', () => {
  for (const { path, imports } of sources) {
    for (const target of imports)
      assert.ok(!closureOf(target).has(path), `src/${path} and ${target} import each other`);
  }
});

test('every module is used, by the service or by the build', () => {
  const used = new Set(['main.ts', 'library.ts', 'build.ts'].flatMap((path) => [...closureOf(path)]));
  assert.deepEqual(
    sources.map(({ path }) => path).filter((path) => !used.has(path)),
    [],
  );
});

test('what the build does is no part of the service', () => {
  const loaded = new Set([...closureOf('main.ts'), ...closureOf('library.ts')]);
  for (const path of ['build.ts', 'contract/compile.ts', 'docs/bundle.ts']) assert.ok(!loaded.has(path), path);
});

test('packages are imported where they belong and nowhere else', () => {
  for (const { path, packages } of sources) {
    for (const name of packages) {
      if (!name.startsWith('node:')) assert.ok(PACKAGES[name]?.includes(path), `src/${path} must not import ${name}`);
    }
  }
});

test('the environment is read by the options alone, which are handed it by main.ts', () => {
  assert.deepEqual(modulesWith(/\benv\b/), ['main.ts']);
  assert.deepEqual(modulesWith(/process\.env\b(?!\);)/), []);
  assert.deepEqual(modulesWith(/parseCommand\(process\.argv\.slice\(2\), process\.env\)/), ['main.ts']);
  assert.deepEqual(modulesWith(/: NodeJS\.ProcessEnv\b/), ['command-line.ts', 'options.ts']);
});

test('main.ts alone ends the process, minds its signals and writes to its streams', () => {
  // Signal 0 ends nothing: it asks whether there is such a process.
  const ends = /process\.(?:abort|kill(?!\(\w+, 0\))|reallyExit)\b/;
  const rules = [/process\.exit\b/, /process\.exitCode\b/, ends, /process\.on\b/];
  for (const rule of [...rules, /process\.std(?:out|err)\.write\b/]) {
    assert.deepEqual(
      modulesWith(rule).filter((path) => path !== 'main.ts'),
      [],
      String(rule),
    );
  }
  assert.deepEqual(modulesWith(/\bconsole\./), []);
});

test('no schema is compiled and no code is made of strings', () => {
  assert.deepEqual(modulesWith(/\bnew Function\b|\beval\(|\bnode:vm\b/), []);
});

test('importing a module does nothing: it prints nothing, writes nothing, and keeps nothing open', async (t) => {
  const modules = sources.filter(({ path }) => !path.endsWith('.d.ts')).map(({ path }) => path.replace(/ts$/, 'js'));
  const packages = new Set(sources.flatMap((source) => source.packages));
  const script = `
    // Open handles and listeners, without the requests by which Node reads the modules themselves.
    const inventory = () => [
      ...process.getActiveResourcesInfo().filter((each) => !/^FSReq|^CloseReq$|^FileHandle/.test(each)),
      ...process.eventNames().map((name) => process.listenerCount(name) + ' x ' + String(name)),
    ].sort().join(', ');
    // What Node and the packages do is not ours to forbid.
    for (const name of ${JSON.stringify([...packages])}) await import(name);
    const before = inventory();
    for (const path of ${JSON.stringify([...modules, 'contract/generated.js'])}) {
      await import(new URL(path, ${JSON.stringify(new URL('dist/src/', root).href)}));
      if (inventory() !== before) throw new Error(path + ' leaves behind some of ' + inventory());
    }`;
  // As a file in dist/, so that the packages are found; run in a folder where whatever is written would show.
  const program = new URL('dist/import-everything.mjs', root);
  writeFileSync(program, script);
  t.after(() => rmSync(program));
  const folder = temporaryFolder(t);
  const args = [fileURLToPath(program)];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 30_000 });
  assert.deepEqual({ stdout, stderr }, { stdout: '', stderr: '' });
  assert.deepEqual(readdirSync(folder), []);
});
