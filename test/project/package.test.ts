// The manifest, the lock file and the packed files agree with each other and with the code.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { commitOf, removeStale } from '../../src/build/build.ts';
import { temporaryFolder } from '../support/engine.ts';
import { closureOf, root } from '../support/sources.ts';
import { guide, sectionOf, textOf } from './documents.ts';

const manifest = JSON.parse(textOf('package.json'));
const lock = JSON.parse(textOf('package-lock.json'));
/** The entries of the lock file by their path; that of the project itself has none. */
const locked: [path: string, entry: Readonly<Record<string, string>>][] = Object.entries(
  lock.packages,
);
const wanted: Readonly<Record<string, string>> = {
  ...manifest.dependencies,
  ...manifest.devDependencies,
};

test('build: removes the output of sources that are gone, and nothing else', async (t) => {
  const folder = temporaryFolder(t);
  const [output, source] = ['dist', 'src'].map((name) => join(folder, name));
  for (const place of [output, source]) mkdirSync(join(`${place}`, 'inner'), { recursive: true });
  const write = (...names: string[]) => {
    for (const name of names) writeFileSync(join(folder, name), '');
  };
  write('src/inner/kept.ts', 'dist/inner/made.js');
  for (const name of ['kept', 'gone'])
    write(...['js', 'js.map', 'd.ts'].map((ending) => `dist/inner/${name}.${ending}`));
  await removeStale(pathToFileURL(`${output}/`), pathToFileURL(`${source}/`));
  const left = readdirSync(join(folder, 'dist/inner'));
  assert.deepEqual(left.sort(), ['kept.d.ts', 'kept.js', 'kept.js.map', 'made.js']);
});

test('build: names the commit of a checkout, and says if files differ from it', (t) => {
  const outer = temporaryFolder(t);
  const inner = join(outer, 'inner');
  const gitIn = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd,
      encoding: 'utf8',
    });
  const commit = (folder: string) => {
    gitIn(folder, 'init', '--quiet');
    writeFileSync(join(folder, 'file'), folder);
    gitIn(folder, 'add', 'file');
    gitIn(folder, 'commit', '--quiet', '--message=a');
    return gitIn(folder, 'rev-parse', '--short', 'HEAD').trim();
  };
  mkdirSync(inner);
  // The repository of something else, in which the project lies.
  commit(outer);
  const project = pathToFileURL(`${inner}/`);
  assert.equal(commitOf(project), '');
  const made = commit(inner);
  gitIn(inner, 'tag', '--annotate', '--message=a', 'v1.0.0');
  assert.equal(commitOf(project), made);
  writeFileSync(join(inner, 'file'), 'b');
  assert.equal(commitOf(project), `${made}-dirty`);
});

test('package: an installation has no script to allow but that of sqlite3', () => {
  // npm counts `prepare` too, in a package that comes from a file.
  const counted = ['preinstall', 'install', 'postinstall', 'prepare'];
  assert.deepEqual(
    counted.filter((name) => name in manifest.scripts),
    [],
  );
  for (const name of ['dependencies', 'prepack'])
    assert.equal(manifest.scripts[name], 'npm run clean && npm run build', name);
});

test('package: npm lists what is installed, and marks what only developers need', async () => {
  // With --omit=dev, npm 11 leaves out packages that both need.
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root, maxBuffer: 1e8 });
  const components: { name: string; properties?: { name: string }[] }[] =
    JSON.parse(stdout).components;
  const isMarked = ({ name }: { name: string }) => name === 'cdx:npm:package:development';
  const listed = components.filter(({ properties = [] }) => !properties.some(isMarked));
  const wanted = locked.flatMap(([path, { dev }]) =>
    path === '' || dev ? [] : [path.replace(/^.*node_modules\//, '')],
  );
  assert.deepEqual(new Set(listed.map(({ name }) => name)), new Set(wanted));
});

test('package: every dependency has an exact version', () => {
  for (const [name, version] of Object.entries(wanted))
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
  assert.deepEqual(Object.keys(manifest.dependencies), ['birpc', 'lru-cache', 'sqlite3', 'yaml']);
});

test('package: SECURITY.md names the dependencies at run time', () => {
  const [, listed = ''] =
    /^- The packages that are installed: (.*)$/m.exec(textOf('SECURITY.md')) ?? [];
  const names = [...listed.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  assert.deepEqual(names.sort(), Object.keys(manifest.dependencies).sort());
});

test('package: the lock file agrees with package.json', () => {
  const own = lock.packages[''];
  for (const { name, version } of [lock, own])
    assert.deepEqual([name, version], [manifest.name, manifest.version]);
  for (const key of ['license', 'engines', 'bin', 'dependencies', 'devDependencies'])
    assert.deepEqual(own[key], manifest[key], key);
  for (const [name, version] of Object.entries(wanted)) {
    assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name);
  }
});

test('package: the installed versions are those of the lock file', () => {
  for (const [name, version] of Object.entries(wanted)) {
    assert.equal(JSON.parse(textOf(`node_modules/${name}/package.json`)).version, version, name);
  }
});

test('package: the lock file has hashes and names no registry', () => {
  assert.doesNotMatch(textOf('package-lock.json'), /"resolved"/);
  for (const [path, { integrity = '', link }] of locked)
    if (path !== '' && !link) assert.match(integrity, /^sha512-/, path);
});

test('package: only the install script of sqlite3 is allowed', () => {
  // The script of the root is the build.
  const scripted = locked.filter(([path, entry]) => path !== '' && entry.hasInstallScript);
  const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(Object.keys(manifest.allowScripts).sort(), names.sort());
  const allowed = Object.entries(manifest.allowScripts).filter(([, isAllowed]) => isAllowed);
  assert.deepEqual(allowed, [['sqlite3', true]]);
});

test('package: engines and types are those of the oldest Node', () => {
  assert.match(manifest.engines.node, /^>=20\.\d+$/);
  assert.match(wanted['@types/node'] ?? '', /^20\./);
  const [, major = 0, minor = 0] = /^>=(\d+)\.(\d+)$/.exec(manifest.engines.node) ?? [];
  const [runningMajor = 0, runningMinor = 0] = process.versions.node.split('.').map(Number);
  assert.ok(
    runningMajor > Number(major) ||
      (runningMajor === Number(major) && runningMinor >= Number(minor)),
  );
});

/**
 * The files that the build makes: the modules of the service, the assets of the docs page, its
 * drawings, the guides and the commit.
 */
function builtFiles(): string[] {
  const modules = [...closureOf('main.ts'), ...closureOf('library.ts')];
  const code = modules.map((path) => path.replace(/(?:\.d)?\.ts$/, '.js'));
  const folders = ['docs/assets/', 'docs/guides/'];
  const documents = folders.flatMap((folder) =>
    readdirSync(new URL(`dist/src/${folder}`, root)).map((name) => `${folder}${name}`),
  );
  return [...new Set([...code, ...documents, 'docs/drawings.html', 'commit.txt'])].map(
    (path) => `dist/src/${path}`,
  );
}

test('package: packs exactly what runs and what documents it', async () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root });
  // npm 12 returns an object by name, earlier versions an array.
  const [{ files }] = Object.values(JSON.parse(stdout)) as [{ files: { path: string }[] }];
  const documents = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json'];
  const run = [
    'bin/notes-server',
    'schemas/openapi.json',
    'dist/src/library.d.ts',
    ...builtFiles(),
  ];
  assert.deepEqual(files.map(({ path }) => path).sort(), [...documents, ...run].sort());
});

test('package: the types of the library need no others', () => {
  const { '.': library, ...others } = manifest.exports;
  assert.deepEqual(library, { types: './dist/src/library.d.ts', default: './dist/src/library.js' });
  assert.deepEqual(others, {
    './openapi.json': './schemas/openapi.json',
    './package.json': './package.json',
  });
  assert.doesNotMatch(textOf('dist/src/library.d.ts'), /\b(?:import|reference|NodeJS|Buffer)\b/);
  const { main, types } = manifest;
  assert.deepEqual({ types, default: main }, library, 'as node10 finds them, without exports');
});

test('package: one version, and a checklist of its places', () => {
  const found = {
    'schemas/openapi.json': [...textOf('schemas/openapi.json').matchAll(/"version": "([^"]*)"/g)],
    'src/docs/guides/deployment.md': [
      ...guide('deployment').matchAll(/notes-server-(\d+\.\d+\.\d+)/g),
    ],
  };
  for (const [file, matches] of Object.entries(found)) {
    assert.ok(matches.length > 0, file);
    for (const [text, version] of matches)
      assert.equal(version, manifest.version, `${file}: ${text}`);
  }
  const [, latest] = /^## \[(.*)\]/m.exec(textOf('CHANGELOG.md')) ?? [];
  assert.ok(latest === 'Unreleased' || latest === manifest.version, latest);
  assert.match(textOf('CHANGELOG.md'), new RegExp(`^## \\[${manifest.version}\\] - 20`, 'm'));
  const checklist = sectionOf(guide('releasing'), 'Before a release');
  const [, firstStep = ''] = /^1\. ([\s\S]*?)^2\. /m.exec(checklist) ?? [];
  for (const file of [...Object.keys(found), 'package.json', 'CHANGELOG.md'])
    assert.ok(firstStep.includes(`\`${file}\``), file);
});

test('package: published for everybody, with provenance', () => {
  assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true });
});
