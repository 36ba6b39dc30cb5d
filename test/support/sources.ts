// The source files of the service as text, and the graph of their imports.
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const root = new URL('../../../', import.meta.url);

/** A module of src/. */
export interface Source {
  /** Its path below src/, as in `http/body.ts`. */
  readonly path: string;
  /** The folder or module directly below src/: `http`, or `app` for app.ts. */
  readonly room: string;
  readonly lines: readonly string[];
  /** The modules of src/ that it imports, including those imported for types alone. */
  readonly imports: readonly string[];
  /** The packages that it imports; Node's modules have their prefix. */
  readonly packages: readonly string[];
}

/** All TypeScript modules of src/. */
export const sources: readonly Source[] = readdirSync(new URL('src/', root), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((path) => path.endsWith('.ts'))
  .sort()
  .map(readSource);

/** Returns the module at a path below src/. Throws if there is none. */
export function sourceAt(path: string): Source {
  const found = sources.find((source) => source.path === path);
  if (!found) throw new Error(`there is no src/${path}`);
  return found;
}

/** Returns the module at `path` and every module that it imports, directly or through others. */
export function closureOf(path: string): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [path];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    waiting.push(...sourceAt(next).imports);
  }
  return found;
}

/** Returns `line` without its comment; a line of a block comment becomes empty. */
export function codeOf(line: string): string {
  return /^\s*\/?\*/.test(line) ? '' : line.replace(/(^|\s)\/\/.*$/, '');
}

function readSource(path: string): Source {
  const text = readFileSync(new URL(`src/${path}`, root), 'utf8');
  const folder = posix.dirname(path);
  const specifiers =
    /^(?:import|export)\b[^;']*? from '([^']+)';$|^import '([^']+)';$|\bimport\('([^']+)'\)/gm;
  const all = [...text.matchAll(specifiers)].map(
    ([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '',
  );
  return {
    path,
    room: path.split(/[/.]/)[0] ?? '',
    lines: text.replace(/\n$/, '').split('\n'),
    imports: all
      .filter((each) => each.startsWith('.'))
      .map((each) => moduleAt(posix.join(folder, each))),
    packages: all.filter((each) => !each.startsWith('.')),
  };
}

/** The build makes generated.js; src/ has only its declaration. */
function moduleAt(path: string): string {
  return fileURLToPath(new URL(path, 'file:///')).slice(1).replace(/\.js$/, '.d.ts');
}
