// The rules of the architecture, checked on the graph of imports and on the lines of src/, and how
// large its parts may be.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/engine.ts';
import { closureOf, codeOf, root, type Source, sourceAt, sources } from '../support/sources.ts';

/** Whether a module is the one through which a feature is reached. */
const isDoor = (path: string) => path.endsWith('/feature.ts');

const doors = sources.filter(({ path }) => isDoor(path)).map(({ room }) => room);

/** Whether a module is the part of a feature in the schema, which one list of the core imports. */
const isPart = (path: string) => /^[\w-]+\/schema\.ts$/.test(path);

const PARTS_LIST = 'storage/schema/steps.ts';

/** The folders and modules directly below src/, from the top down. Imports never point up. */
const LAYERS = [
  ['main', 'library', 'build'],
  ['app', 'cli'],
  ['export'],
  ['commands', 'processes'],
  ['open'],
  // The features, and what several of them share.
  [...doors, 'joint-changes'],
  ['background'],
  ['feature'],
  ['contract', 'list-extension', 'pages', 'schema'],
  ['http', 'storage'],
  ['bounded-wait', 'characters', 'name', 'resources', 'suggestion', 'time', 'version'],
];

/** The core, which everyone reads who changes the service. */
const CORE = ['contract', 'feature', 'http', 'records', 'resources', 'storage'];

/** The modules that others import beside the doors. */
const BESIDE_DOORS = [
  // The documentation is built before its door can be loaded, which needs what is built.
  'docs/build.ts',
  // Options, the command `key` and processes know keys and limits.
  ...['guards/key-file.ts', 'guards/keys.ts', 'guards/rate-limit.ts'],
  // Lists of what is kept have the same links.
  'lists/query.ts',
  // The process itself has a log.
  ...['log/log.ts', 'log/pretty-line.ts'],
  // Commands fill and check the indexes without a service.
  'search/word-indexes.ts',
];

const SERVICE = ['main.ts', 'library.ts'];
const BUILD = 'build/build.ts';

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const layerOf = (room: string) => LAYERS.findIndex((rooms) => rooms.includes(room));
const layerAt = (path: string) => layerOf(isPart(path) ? 'storage' : roomOf(path));
const closureOfAll = (paths: readonly string[]) =>
  new Set(paths.flatMap((path) => [...closureOf(path)]));
const features = doors.filter((room) => !CORE.includes(room));
const roomOf = (path: string) => sourceAt(path).room;
const isOfFeature = (path: string) => features.includes(roomOf(path));
const isNode = (name: string) => name.startsWith('node:');

/** The imports of modules, as `src/module imports module`, that break a rule. */
function importsWhere(breaks: (importer: string, imported: string) => boolean): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter((target) => breaks(path, target))
      .map((target) => `src/${path} imports ${target}`),
  );
}

/** The modules for which `breaks` is true, as `src/module`. */
function modulesWhere(breaks: (source: Source) => boolean): string[] {
  return sources.filter(breaks).map(({ path }) => `src/${path}`);
}

/** The modules with a line of code that matches. */
function modulesWith(pattern: RegExp): string[] {
  return modulesWhere(({ lines }) => lines.some((line) => pattern.test(codeOf(line))));
}

/** The modules with a line of code that matches, if they are several. */
function severalWith(pattern: RegExp): string[] {
  const modules = modulesWith(pattern);
  return modules.length > 1 ? modules : [];
}

/**
 * The most that the core may have. Features grow in their folders. At least 3 % must be free: the
 * recipes of the guide to changes are carried out, too.
 */
const MAX_CORE = { files: 60, lines: 6_050 };

/** The line in which the body of a function, a method or a loop begins. */
const BODY_START = /(?:\)(?:: .+)?|=>) \{$/;

/** The functions with more than `most` lines, found by the indentation of their braces. */
function functionsOver(most: number): string[] {
  return sources.flatMap(({ path, lines }) =>
    lines.flatMap((line, start) => {
      if (!BODY_START.test(codeOf(line))) return [];
      const brace = `${/^ */.exec(line)?.[0]}}`;
      const length = 2 + lines.slice(start + 1).findIndex((each) => each.startsWith(brace));
      return length > most ? [`src/${path}:${start + 1}: ${length} lines: ${line.trim()}`] : [];
    }),
  );
}

/** The lines with more than `most` characters in these files, as `folder/path:line: length`. */
function linesOver(most: number, folder: string, files: readonly Lines[]): string[] {
  return files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) =>
      [...line].length > most ? [`${folder}/${path}:${index + 1}: ${[...line].length}`] : [],
    ),
  );
}

type Lines = Pick<Source, 'path' | 'lines'>;

/** The modules of test/. */
function testFiles(): Lines[] {
  const paths = readdirSync(new URL('test/', root), { recursive: true, encoding: 'utf8' });
  const own = paths.filter((path) => path.endsWith('.ts') && !path.includes('node_modules'));
  return own.map((path) => {
    const text = readFileSync(new URL(`test/${path}`, root), 'utf8');
    return { path, lines: text.split('\n') };
  });
}

/** Each rule with a function that returns where it is broken. */
const RULES: Readonly<Record<string, () => readonly string[]>> = {
  'every module is in a layer (add its folder to LAYERS)': () =>
    modulesWhere(({ room }) => layerOf(room) === -1),

  'imports never point to a layer above': () =>
    importsWhere((path, target) => layerAt(path) > layerAt(target)),

  'the core imports no feature, but one list their parts of the schema': () =>
    importsWhere((path, target) => {
      const isListed = path === PARTS_LIST && isPart(target);
      return CORE.includes(roomOf(path)) && isOfFeature(target) && !isListed;
    }),

  'parts of the schema depend on resources alone': () =>
    importsWhere((path, target) => isPart(path) && roomOf(target) !== 'resources'),

  'others reach a feature through its door': () =>
    importsWhere(
      (path, target) =>
        roomOf(path) !== roomOf(target) &&
        isOfFeature(target) &&
        !isDoor(target) &&
        path !== PARTS_LIST &&
        !BESIDE_DOORS.includes(target),
    ),

  'there are no import cycles': () => importsWhere((path, target) => closureOf(target).has(path)),

  // Folders inside a room, too: what http/body takes from http/ does not need http/body.
  'what a folder imports from outside does not import that folder': () =>
    importsWhere((path, target) => {
      const folder = `${posix.dirname(path)}/`;
      const isInside = (each: string) => each.startsWith(folder) && !isPart(each);
      return !isInside(target) && [...closureOf(target)].some(isInside);
    }),

  'http imports no other folder': () =>
    importsWhere((path, target) => {
      return roomOf(path) === 'http' && target.includes('/') && roomOf(target) !== 'http';
    }),

  'storage and the threads know no HTTP': () =>
    importsWhere((path, target) => {
      const knowsNone = ['storage', 'concurrency'].includes(roomOf(path)) && !isDoor(path);
      return knowsNone && [...closureOf(target)].map(roomOf).includes('http');
    }),

  'resources import nothing': () =>
    importsWhere((path, target) => roomOf(path) === 'resources' && roomOf(target) !== 'resources'),

  'only storage/sqlite imports sqlite3': () =>
    modulesWhere(({ path, packages }) => {
      return packages.includes('sqlite3') && !path.startsWith('storage/sqlite/');
    }),

  'each package is imported in one folder, except for one that is a collection': () => {
    const names = new Set(
      sources.flatMap(({ packages }) => packages.filter((name) => !isNode(name))),
    );
    names.delete('lru-cache');
    return [...names].flatMap((name) => {
      const users = sources.filter(({ packages }) => packages.includes(name));
      const isSpread = new Set(users.map(({ room }) => room)).size > 1;
      return isSpread ? users.map(({ path }) => `src/${path} imports ${name}`) : [];
    });
  },

  'the service loads no build step': () =>
    [...closureOfAll(SERVICE)].filter((path) => /\bbuild(?:\/|\.ts)/.test(path)),

  'the service loads no package of the build': () =>
    [...closureOfAll(SERVICE)].flatMap((path) => {
      const foreign = sourceAt(path).packages.filter(
        (name) => !isNode(name) && !(name in dependencies),
      );
      return foreign.map((name) => `src/${path} imports ${name}`);
    }),

  'the command for a folder is a client: it needs neither storage nor server': () =>
    importsWhere(
      (importer, imported) =>
        roomOf(importer) === 'sync' &&
        !/^sync\/|^(?:characters|name|contract\/generated\.d)\.ts$/.test(imported),
    ),

  'every module is used': () => {
    const used = closureOfAll([...SERVICE, BUILD]);
    return modulesWhere(({ path }) => !used.has(path));
  },

  'process.env is read in one file': () =>
    severalWith(/\bprocess\.env\b|(?<!import \{ nextTick \} from )'node:process'/),

  'one file ends the process and uses its signals and streams': () =>
    // Signal 0 only asks whether a process exists.
    severalWith(
      /\bprocess\.(?:exit|exitCode|abort|reallyExit|on|once|std\w+\.write|kill(?!\(\w+, 0\)))\b/,
    ),

  // The code samples are texts.
  'nothing is written to the console': () =>
    modulesWith(/\bconsole\./).filter((path) => path !== 'src/docs/samples.ts'),

  'no folder has more than 16 files': () => {
    const folders = sources.map(({ path }) => posix.dirname(path));
    const countIn = (folder: string) => folders.filter((each) => each === folder).length;
    const large = [...new Set(folders)].filter((each) => countIn(each) > 16);
    return large.map((folder) => `src/${folder} has ${countIn(folder)} files`);
  },

  'no file has more than 300 lines': () =>
    sources
      .filter(({ lines }) => lines.length > 300)
      .map(({ path, lines }) => `src/${path} has ${lines.length} lines`),

  'the core does not grow (lower the bound if it has become smaller)': () => {
    const core = sources.filter(({ room }) => [...CORE, 'app'].includes(room));
    const lines = core.reduce((sum, each) => sum + each.lines.length, 0);
    const isOver = core.length > MAX_CORE.files || lines > MAX_CORE.lines;
    return isOver ? [`the core has ${lines} lines in ${core.length} files`] : [];
  },

  'no function has more than 60 lines': () => functionsOver(60),

  'no line has more than 100 columns, in test/ too': () => [
    ...linesOver(100, 'src', sources),
    ...linesOver(100, 'test', testFiles()),
  ],

  'tests send signals to other processes through one function': () =>
    // A negative id names a group that the test has started, and its own id a process has.
    testFiles()
      .filter(({ path }) => path !== 'support/processes.ts')
      .filter(({ lines }) =>
        lines.some((line) => /(?<!\.)\bprocess\.kill\((?!-|process\.pid\b).*,/.test(line)),
      )
      .map(({ path }) => `test/${path}`),

  'no code is made from strings': () => modulesWith(/\bnew Function\b|\beval\(|\bnode:vm\b/),
};

test('architecture: the measure of functions sees those of the service', () => {
  assert.ok(functionsOver(30).length > 0);
});

for (const [rule, findBroken] of Object.entries(RULES)) {
  test(`architecture: ${rule}`, () => {
    const broken = findBroken();
    assert.ok(broken.length === 0, `the rule "${rule}" is broken:\n${broken.join('\n')}`);
  });
}

test('architecture: importing a module does nothing', async (t) => {
  const modules = sources.map(({ path }) => path.replace(/(?:\.d)?\.ts$/, '.js'));
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
    for (const path of ${JSON.stringify(modules)}) {
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
