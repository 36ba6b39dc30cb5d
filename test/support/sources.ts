// The source files of the service as texts, with what they import.
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const root = new URL('../../../', import.meta.url);

/** A module of src/. */
export interface Source {
  /** Its path below src/, as in `http/body.ts`. */
  readonly path: string;
  /** The folder it is in; empty for src/ itself. */
  readonly folder: string;
  readonly lines: readonly string[];
  /** The modules below src/ that it imports, for their types alone or not. */
  readonly imports: readonly string[];
  /** The packages that it imports, and Node's modules with their prefix. */
  readonly packages: readonly string[];
}

/** All TypeScript modules of src/. */
export const sources: readonly Source[] = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort()
  .map(readSource);

/** Returns the module at a path below src/. Throws if there is none. */
export function sourceAt(path: string): Source {
  const found = sources.find((source) => source.path === path);
  if (!found) throw new Error(`there is no src/${path}`);
  return found;
}

/** Returns the modules that are loaded when the one at `path` is: itself and all it imports. */
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

/** Returns `line` without its comment; the lines inside a block comment come back empty. */
export function codeOf(line: string): string {
  return /^\s*\/?\*/.test(line) ? '' : line.replace(/(^|\s)\/\/.*$/, '');
}

function readSource(path: string): Source {
  const text = readFileSync(new URL(`src/${path}`, root), 'utf8');
  const folder = posix.dirname(path).replace(/^\.$/, '');
  const specifiers = /^(?:import|export)\b[^;']*? from '([^']+)';$|^import '([^']+)';$|\bimport\('([^']+)'\)/gm;
  const all = [...text.matchAll(specifiers)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
  return {
    path,
    folder,
    lines: text.replace(/\n$/, '').split('\n'),
    imports: all.filter((each) => each.startsWith('.')).map((each) => moduleAt(posix.join(folder, each))),
    packages: all.filter((each) => !each.startsWith('.')),
  };
}

/** generated.js is made by the build; what stands in src/ is its declaration. */
function moduleAt(path: string): string {
  return fileURLToPath(new URL(path, 'file:///')).slice(1).replace(/\.js$/, '.d.ts');
}
