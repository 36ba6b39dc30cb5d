// The build steps after the compiler: the contract, and the files of the documentation. A
// mistake in a step of the schema fails the build.
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
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
