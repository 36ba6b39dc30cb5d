// A copy of the project, in which a test changes files.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Ends, temporaryFolder } from './engine.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What the copy has: all that the build, the launcher and the tests of size need. */
const COPIED = [
  ...['README.md', 'bin', 'biome.json', 'package.json', 'schemas', 'src', 'test', 'tsconfig.json'],
];

/** How long a program may run: what one that hangs has printed must be shown, and it must end. */
const LIMIT = { timeout: 500_000, killSignal: 'SIGKILL' } as const;

/** A copy of the sources; it has the packages, but no build. */
export class ProjectCopy {
  readonly folder: string;

  constructor(test: Ends) {
    this.folder = temporaryFolder(test);
    for (const name of COPIED) cpSync(join(ROOT, name), this.path(name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), this.path('node_modules'));
    this.replace('tsconfig.json', '["src", "test"]', '["src"]');
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8');
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), text);
  }

  remove(name: string): void {
    rmSync(this.path(name), { recursive: true });
  }

  /** Replaces a text that the file must have exactly once. */
  replace(file: string, before: string | RegExp, after: string): void {
    const text = this.read(file);
    assert.equal(text.split(before).length, 2, `${file} must have "${before}" once`);
    this.write(
      file,
      text.replace(before, () => after),
    );
  }

  /** Copies files of the build of this project to that of the copy. */
  takeBuilt(...names: readonly string[]): void {
    for (const name of names)
      cpSync(join(ROOT, 'dist', name), this.path(join('dist', name)), {
        recursive: true,
        filter: (path) => !/\.(?:map|d\.ts)$/.test(path),
      });
  }

  /** Returns the names of the tests in a folder of test/. */
  testsIn(folder: string): string[] {
    const names = readdirSync(join(ROOT, 'dist/test', folder)).sort();
    return names.flatMap((name) => {
      const [, test] = /^(.*)\.test\.js$/.exec(name) ?? [];
      return test ? [`${folder}/${test}`] : [];
    });
  }

  /** Whether the copy has all modules that a test of this project imports. */
  hasModulesOf(test: string): boolean {
    const found = new Set<string>();
    const waiting = [join(ROOT, `dist/test/${test}.test.js`)];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      const [, own] = next.split(join(ROOT, 'dist/src/'));
      if (own !== undefined) {
        if (!existsSync(this.path(join('dist/src', own)))) return false;
        continue;
      }
      for (const [, path = ''] of readFileSync(next, 'utf8').matchAll(/\bfrom '(\.[^']*)'/g))
        waiting.push(join(dirname(next), path));
    }
    return true;
  }

  /** Runs a program in the copy; rejects if it fails. Within a test, Node would run no others. */
  async run(program: string, ...args: string[]): Promise<string> {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const options = { cwd: this.folder, env, ...LIMIT };
    return (await promisify(execFile)(program, args, options)).stdout;
  }

  /**
   * Runs tests of the build of this project on that of the copy, in one process as `npm test` does;
   * resolves with what failed.
   */
  async failuresOf(names: readonly string[]): Promise<string[]> {
    this.takeBuilt('test');
    const files = names.map((name) => this.path(`dist/test/${name}.test.js`));
    const runner = pathToFileURL(join(ROOT, 'test/support/run-files.mjs'));
    const args = JSON.stringify([files, this.path('cpu.json')]);
    this.write('run.mjs', `import { runFiles } from '${runner}';\nawait runFiles(...${args});\n`);
    const run = this.run(process.execPath, '--test-reporter=tap', 'run.mjs');
    const printed = await run.catch(({ stdout, stderr }) => stdout || stderr);
    assert.match(printed, /^# pass \d\d/m);
    return printed.match(/^ *not ok.*|error: (?:\|-\n)?.*/gm) ?? [];
  }
}
