// What the build does after the TypeScript compiler: it compiles the contract, gathers the docs
// files, renders the guides.
import { compileContract } from './contract.ts';
import { bundleDocs } from './docs.ts';
import { renderGuides } from './guides.ts';

/**
 * Builds everything that is not TypeScript into dist/. Run it from a compiled tree:
 * dist/src/build/build.js.
 */
export async function build(): Promise<void> {
  const source = new URL('../../../src/', import.meta.url);
  const output = new URL('../', import.meta.url);
  const contract = new URL('../schemas/openapi.json', source);
  await compileContract(contract, new URL('contract/generated.js', output));
  await bundleDocs(new URL('docs/assets/', source), new URL('docs/assets/', output));
  await renderGuides(new URL('docs/guides/', source), new URL('docs/guides/', output));
}
