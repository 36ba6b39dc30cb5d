// The build steps after the TypeScript compiler: the contract, the docs files and the guides.
import { compileContract } from './contract.ts';
import { bundleDocs } from './docs.ts';
import { renderGuides } from './guides.ts';

/** Writes these files to dist/. Works only when compiled: its paths are relative to dist/. */
export async function build(): Promise<void> {
  const source = new URL('../../../src/', import.meta.url);
  const output = new URL('../', import.meta.url);
  const contract = new URL('../schemas/openapi.json', source);
  await compileContract(contract, new URL('contract/generated.js', output));
  await bundleDocs(new URL('docs/assets/', source), new URL('docs/assets/', output));
  await renderGuides(new URL('docs/guides/', source), new URL('docs/guides/', output));
}
