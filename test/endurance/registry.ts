// A local npm registry, from which npm installs the packed service and its dependencies offline.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Ends, temporaryFolder } from '../support/engine.ts';
import { startListener } from '../support/ports.ts';
import { root } from '../support/sources.ts';

interface Package {
  readonly manifest: Readonly<Record<string, unknown>> & {
    readonly name: string;
    readonly version: string;
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  readonly tarball: string;
}

const project = fileURLToPath(root);

/** Starts a registry with the packed service; returns an environment in which npm uses it alone. */
export async function startRegistry(test: Ends): Promise<NodeJS.ProcessEnv> {
  const folder = temporaryFolder(test);
  const environment = npmEnvironment(folder);
  const packages = [packService(folder, environment)];
  // The loop also visits the packages that it adds.
  for (const { manifest } of packages) {
    for (const name of Object.keys(manifest.dependencies ?? {}))
      packages.push(packInstalled(folder, name));
  }
  const origin = await startListener(test, ({ url = '', headers }, response) => {
    const wanted = decodeURIComponent(url.slice(1));
    const file = packages.find(({ tarball }) => basename(tarball) === wanted);
    const found = packages.find(({ manifest }) => manifest.name === wanted);
    if (file) response.end(readFileSync(file.tarball));
    else if (found)
      response.end(
        JSON.stringify(describe(found, `http://${headers.host}/${basename(found.tarball)}`)),
      );
    else response.writeHead(404).end();
  });
  return { ...environment, npm_config_registry: `${origin}/` };
}

function describe({ manifest }: Package, tarball: string): object {
  const { name, version, scripts } = manifest;
  const hasInstallScript = /"install"/.test(JSON.stringify(scripts ?? {}));
  return {
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, hasInstallScript, dist: { tarball } } },
  };
}

function packService(folder: string, env: NodeJS.ProcessEnv): Package {
  const args = ['pack', '--ignore-scripts', '--pack-destination', folder];
  const name = execFileSync('npm', args, { cwd: project, env, encoding: 'utf8' }).trim();
  return { manifest: manifestIn(project), tarball: join(folder, name) };
}

/** Packs an installed package; sqlite3 without its binding, as in a real registry. */
function packInstalled(folder: string, name: string): Package {
  const source = join(project, 'node_modules', name);
  const copy = join(folder, name, 'package');
  cpSync(source, copy, {
    recursive: true,
    filter: (path) => !/sqlite3\/(?:build|deps|src)$/.test(path),
  });
  const manifest = name === 'sqlite3' ? withCopiedBinding(manifestIn(source)) : manifestIn(source);
  writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest));
  const tarball = join(folder, `${name.replace('/', '-')}.tgz`);
  execFileSync('tar', ['-czf', tarball, '-C', join(folder, name), 'package']);
  return { manifest, tarball };
}

/** Its script copies the binding of this tree instead of downloading or compiling it. */
function withCopiedBinding(manifest: Package['manifest']): Package['manifest'] {
  const build = join(project, 'node_modules/sqlite3/build').replaceAll("'", "\\'");
  return {
    ...manifest,
    scripts: { install: `node --eval "fs.cpSync('${build}', 'build', { recursive: true })"` },
    dependencies: { bindings: '*' },
    optionalDependencies: {},
    peerDependencies: {},
  };
}

function manifestIn(folder: string): Package['manifest'] {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function npmEnvironment(folder: string): NodeJS.ProcessEnv {
  const home = join(folder, 'home');
  mkdirSync(home);
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|NOTES_|NODE_|HOST$|PORT$)/i.test(name),
  );
  return {
    ...Object.fromEntries(entries),
    HOME: home,
    npm_config_cache: join(folder, 'cache'),
    npm_config_globalconfig: join(folder, 'npmrc'),
    npm_config_loglevel: 'error',
    npm_config_update_notifier: 'false',
  };
}
