// The build steps after the compiler: the contract, the files of the documentation, and the commit.
// A mistake in a step of the schema fails the build.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { buildDocs } from '../docs/build.ts';
import { statementsOf } from '../storage/schema/migrations.ts';
import { STEPS } from '../storage/schema/steps.ts';
import { completeFile } from './completion.ts';
import { compileContract } from './contract.ts';

/** Writes these files to dist/. Works only when compiled: its paths are relative to dist/. */
export async function build(): Promise<void> {
  const source = new URL('../../../src/', import.meta.url);
  const output = new URL('../', import.meta.url);
  STEPS.forEach(statementsOf);
  await removeStale(new URL('../', output), new URL('../', source));
  const contract = new URL('../schemas/openapi.json', source);
  await completeFile(contract);
  await compileContract(contract, output);
  await buildDocs(new URL('docs/', source), new URL('docs/', output));
  await writeFile(new URL('commit.txt', output), commitOf(new URL('../', source)));
}

/** Returns the commit of a checkout, marked if files were changed since; '' outside of git. */
export function commitOf(project: URL): string {
  // Above the project, there may be the repository of something else.
  if (!existsSync(new URL('.git', project))) return '';
  const args = ['describe', '--always', '--dirty', '--exclude=*'];
  const { stdout } = spawnSync('git', args, { cwd: fileURLToPath(project), encoding: 'utf8' });
  // Without git, there is no output.
  return stdout?.trim() ?? '';
}

/** Removes what the compiler has written for sources that are gone. */
export async function removeStale(output: URL, source: URL): Promise<void> {
  for (const name of await readdir(output, { recursive: true })) {
    const path = name.replace(/\.js\.map$/, '');
    if (path === name || existsSync(new URL(`${path}.ts`, source))) continue;
    for (const ending of ['js', 'js.map', 'd.ts'])
      await rm(new URL(`${path}.${ending}`, output), { force: true });
  }
}
