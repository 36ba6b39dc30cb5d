// What the package says of itself: exact versions, a lock file that agrees, and everything that the service reads.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { root } from './sources.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

interface Locked extends Partial<Manifest> {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const manifest: Manifest = JSON.parse(read('package.json'));
const lock: Manifest & { packages: Record<string, Locked> } = JSON.parse(read('package-lock.json'));
const wanted = { ...manifest.dependencies, ...manifest.devDependencies };

test('every dependency is pinned to one version', () => {
  for (const [name, version] of Object.entries(wanted)) assert.match(version, /^\d+\.\d+\.\d+$/, name);
  assert.deepEqual(Object.keys(manifest.dependencies), ['prom-client', 'sqlite3']);
});

test('the lock file is that of package.json', () => {
  const own = lock.packages[''];
  assert.deepEqual([lock.name, lock.version], [manifest.name, manifest.version]);
  for (const key of ['name', 'version', 'license', 'engines', 'bin', 'dependencies', 'devDependencies'] as const) {
    assert.deepEqual(own?.[key], manifest[key], key);
  }
  for (const [name, version] of Object.entries(wanted)) {
    assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name);
  }
});

test('what is installed is what the lock file says', () => {
  for (const [name, version] of Object.entries(wanted)) {
    assert.equal(JSON.parse(read(`node_modules/${name}/package.json`)).version, version, name);
  }
});

test('the lock file names no registry, so that every registry can serve it, and proves every package', () => {
  assert.doesNotMatch(read('package-lock.json'), /"resolved"/);
  for (const [path, { integrity, link }] of Object.entries(lock.packages)) {
    if (path !== '' && !link) assert.match(integrity ?? '', /^sha512-/, path);
  }
});

test('every install script is allowed or refused by name, and only that of sqlite3 runs', () => {
  const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  // The root has a script of its own: the build.
  const names = scripted.filter(([path]) => path !== '').map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(Object.keys(manifest.allowScripts).sort(), names.sort());
  const allowed = Object.entries(manifest.allowScripts).filter(([, isAllowed]) => isAllowed);
  assert.deepEqual(allowed, [['sqlite3', true]]);
});

test('it asks for the oldest Node that it is written for, and the types are of that one', () => {
  assert.match(manifest.engines.node, /^>=20\.\d+$/);
  assert.match(wanted['@types/node'] ?? '', /^20\./);
  const [, major = 0, minor = 0] = /^>=(\d+)\.(\d+)$/.exec(manifest.engines.node) ?? [];
  const [runningMajor = 0, runningMinor = 0] = process.versions.node.split('.').map(Number);
  assert.ok(runningMajor > Number(major) || (runningMajor === Number(major) && runningMinor >= Number(minor)));
});

test('the packed files are all that the service reads, and nothing else', async () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string; mode: number }[] }];
  const packed = new Set(files.map(({ path }) => path));
  for (const path of ['bin/notes-server', 'LICENSE', 'README.md', 'CHANGELOG.md', 'schemas/openapi.json']) {
    assert.ok(packed.has(path), path);
  }
  for (const path of readdirSync(new URL('dist/src/', root), { recursive: true, encoding: 'utf8' })) {
    if (/\.(?:js|css|svg|br|gz|LICENSE)$/.test(path)) assert.ok(packed.has(`dist/src/${path}`), path);
  }
  const others = [...packed].filter(
    (path) => !/^(?:bin|dist\/src|schemas)\/|^[A-Z]+(?:\.md)?$|^package\.json$/.test(path),
  );
  assert.deepEqual(others, []);
});
