// The rules of the architecture, checked on the graph of imports and on the lines of src/.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/engine.ts';
import { closureOf, codeOf, root, sourceAt, sources } from '../support/sources.ts';

/** The folders and modules directly below src/, from the top down. Imports never point up. */
const LAYERS = [
  ['main', 'library', 'build'],
  ['app', 'cli'],
  ['commands', 'concurrency', 'processes', 'routes'],
  ['contract', 'docs', 'guards', 'log', 'metrics'],
  ['http', 'storage'],
  ['resources', 'search', 'version'],
];

const SERVICE = ['main.ts', 'library.ts'];
const BUILD = 'build/build.ts';

/**
 * The module of the demonstrations that answers requests; the pool and the threads know no HTTP.
 */
const DEMONSTRATION_ROUTES = 'concurrency/demonstrations.ts';

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const layerOf = (room: string) => LAYERS.findIndex((rooms) => rooms.includes(room));
const closureOfAll = (paths: readonly string[]) =>
  new Set(paths.flatMap((path) => [...closureOf(path)]));
const isNode = (name: string) => name.startsWith('node:');

/** The imports of modules, as `src/module imports module`, that break a rule. */
function importsWhere(breaks: (importer: string, imported: string) => boolean): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter((target) => breaks(path, target))
      .map((target) => `src/${path} imports ${target}`),
  );
}

/**
 * The modules that import a package of that name, as `src/module imports package`, outside of
 * `places`.
 */
function packageOutside(name: string, places: RegExp): string[] {
  const users = sources.filter(
    ({ path, packages }) => packages.includes(name) && !places.test(path),
  );
  return users.map(({ path }) => `src/${path} imports ${name}`);
}

/** The modules with a line of code that matches. */
function modulesWith(pattern: RegExp): string[] {
  const found = sources.filter(({ lines }) => lines.some((line) => pattern.test(codeOf(line))));
  return found.map(({ path }) => `src/${path}`);
}

/** The modules with a line of code that matches, if they are several. */
function severalWith(pattern: RegExp): string[] {
  const modules = modulesWith(pattern);
  return modules.length > 1 ? modules : [];
}

/** Each rule with a function that returns where it is broken. */
const RULES: Readonly<Record<string, () => readonly string[]>> = {
  'every module is in a layer (add its folder to LAYERS)': () =>
    sources.filter(({ room }) => layerOf(room) === -1).map(({ path }) => `src/${path}`),

  'imports never point to a layer above': () =>
    importsWhere((path, target) => layerOf(sourceAt(path).room) > layerOf(sourceAt(target).room)),

  'there are no import cycles': () => importsWhere((path, target) => closureOf(target).has(path)),

  'http imports no other folder': () =>
    importsWhere(
      (path, target) => sourceAt(path).room === 'http' && sourceAt(target).room !== 'http',
    ),

  'storage and the threads know no HTTP': () =>
    importsWhere((path, target) => {
      const { room } = sourceAt(path);
      const rooms = [...closureOf(target)].map((each) => sourceAt(each).room);
      const isApart =
        room === 'storage' || (room === 'concurrency' && path !== DEMONSTRATION_ROUTES);
      return isApart && rooms.includes('http');
    }),

  'resources import nothing': () =>
    importsWhere(
      (path, target) =>
        sourceAt(path).room === 'resources' && sourceAt(target).room !== 'resources',
    ),

  'only storage/sqlite imports sqlite3': () => packageOutside('sqlite3', /^storage\/sqlite\//),

  'each package is imported in one folder': () => {
    const names = new Set(
      sources.flatMap(({ packages }) => packages.filter((name) => !isNode(name))),
    );
    return [...names].flatMap((name) => {
      const users = sources.filter(({ packages }) => packages.includes(name));
      const isSpread = new Set(users.map(({ room }) => room)).size > 1;
      return isSpread ? users.map(({ path }) => `src/${path} imports ${name}`) : [];
    });
  },

  'the service loads no build step': () => {
    const loaded = [...closureOfAll(SERVICE)];
    return loaded.filter((path) => sourceAt(path).room === 'build').map((path) => `src/${path}`);
  },

  'the service loads no package of the build': () =>
    [...closureOfAll(SERVICE)].flatMap((path) => {
      const foreign = sourceAt(path).packages.filter(
        (name) => !isNode(name) && !(name in dependencies),
      );
      return foreign.map((name) => `src/${path} imports ${name}`);
    }),

  'every module is used': () => {
    const used = closureOfAll([...SERVICE, BUILD]);
    return sources.filter(({ path }) => !used.has(path)).map(({ path }) => `src/${path}`);
  },

  'process.env is read in one file': () => severalWith(/\bprocess\.env\b|'node:process'/),

  'one file ends the process and uses its signals and streams': () =>
    // Signal 0 only asks whether a process exists.
    severalWith(
      /\bprocess\.(?:exit|exitCode|abort|reallyExit|on|once|std\w+\.write|kill(?!\(\w+, 0\)))\b/,
    ),

  // The code samples are texts.
  'nothing is written to the console': () =>
    modulesWith(/\bconsole\./).filter((path) => path !== 'src/docs/samples.ts'),

  'no code is made from strings': () => modulesWith(/\bnew Function\b|\beval\(|\bnode:vm\b/),
};

for (const [rule, findBroken] of Object.entries(RULES)) {
  test(`architecture: ${rule}`, () => {
    const broken = findBroken();
    assert.ok(broken.length === 0, `the rule "${rule}" is broken:\n${broken.join('\n')}`);
  });
}

test('architecture: importing a module does nothing', async (t) => {
  const modules = sources
    .filter(({ path }) => !path.endsWith('.d.ts'))
    .map(({ path }) => path.replace(/ts$/, 'js'));
  const packages = new Set(sources.flatMap((source) => source.packages));
  const script = `
    // Open handles and listeners, without the requests by which Node itself reads modules.
    const inventory = () => [
      ...process.getActiveResourcesInfo()
        .filter((each) => !/^FSReq|^CloseReq$|^FileHandle/.test(each)),
      ...process.eventNames().map((name) => process.listenerCount(name) + ' x ' + String(name)),
    ].sort().join(', ');
    // Packages may do what they like.
    for (const name of ${JSON.stringify([...packages])}) await import(name);
    const before = inventory();
    for (const path of ${JSON.stringify([...modules, 'contract/generated.js'])}) {
      await import(new URL(path, ${JSON.stringify(new URL('dist/src/', root).href)}));
      if (inventory() !== before) throw new Error('src/' + path + ' leaves behind ' + inventory());
    }`;
  // The script is in dist/, where packages are found, and runs in an empty folder, where files
  // would show.
  const program = new URL(`dist/import-everything-${process.pid}.mjs`, root);
  writeFileSync(program, script);
  t.after(() => rmSync(program));
  const folder = temporaryFolder(t);
  const args = [fileURLToPath(program)];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: folder,
    timeout: 30_000,
  });
  assert.deepEqual({ stdout, stderr }, { stdout: '', stderr: '' });
  assert.deepEqual(readdirSync(folder), []);
});
