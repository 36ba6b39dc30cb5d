// File systems that machines of others have, simulated: the functions of node:fs behave as there.
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { Ends } from './engine.ts';

const fs = createRequire(import.meta.url)('node:fs') as Record<
  string,
  (...args: unknown[]) => unknown
>;

/** Replaces functions of node:fs until the test ends; each gets the one that it replaces. */
export function replaceInFs(
  test: Ends,
  replaced: Readonly<Record<string, (original: (...args: never[]) => unknown) => object>>,
): void {
  const originals = Object.keys(replaced).map((name) => [name, fs[name]] as const);
  // Some have properties, such as `native`.
  for (const [name, original] of originals) {
    const replacement = original && replaced[name]?.(original);
    // Some have properties, such as `native`.
    if (replacement) Object.assign(fs, { [name]: Object.assign(replacement, original) });
  }
  syncBuiltinESMExports();
  test.after(() => {
    Object.assign(fs, Object.fromEntries(originals));
    syncBuiltinESMExports();
  });
}

/** Returns an error of the system. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: simulated`), { code });
}

/** How many paths each function takes. */
const PATHS: Readonly<Record<string, number>> = {
  ...{ chmodSync: 1, existsSync: 1, lstatSync: 1, mkdirSync: 1, openSync: 1, readdirSync: 1 },
  ...{ readFileSync: 1, realpathSync: 1, rmSync: 1, rmdirSync: 1, statSync: 1, unlinkSync: 1 },
  ...{ writeFileSync: 1, copyFileSync: 2, linkSync: 2, renameSync: 2 },
};

/**
 * Lets names below `root` that differ only by case and normalization form be the same, as on macOS;
 * `spell` is how a name is stored.
 */
export function ignoreSpelling(test: Ends, root: string, spell = (name: string) => name): void {
  const readdir = fs.readdirSync as (path: string) => string[];
  const keyOf = (name: string) => name.normalize().toLowerCase();
  const names = (folder: string): string[] => {
    try {
      return readdir(folder);
    } catch {
      return [];
    }
  };
  const resolve = (path: unknown): unknown => {
    if (typeof path !== 'string' || !path.startsWith(`${root}/`)) return path;
    return path
      .slice(root.length + 1)
      .split('/')
      .reduce((folder, name) => {
        const same = names(folder).find((each) => keyOf(each) === keyOf(name));
        return `${folder}/${same ?? spell(name)}`;
      }, root);
  };
  const wrap =
    (count: number) =>
    (original: (...args: never[]) => unknown) =>
    (...args: unknown[]) =>
      original(...(args.map((arg, index) => (index < count ? resolve(arg) : arg)) as never[]));
  const entries = Object.entries(PATHS).map(([name, count]) => [name, wrap(count)] as const);
  replaceInFs(test, Object.fromEntries(entries));
  Object.assign(fs.realpathSync ?? {}, { native: fs.realpathSync });
}
