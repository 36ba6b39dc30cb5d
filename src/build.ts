// What the build does after the TypeScript compiler: the contract becomes code, the docs page gets its files.
import { compileContract } from './contract/compile.ts';
import { bundleDocs } from './docs/bundle.ts';

/** Builds everything that is not TypeScript into dist/. Run it from a compiled tree: dist/src/build.js. */
export async function build(): Promise<void> {
  const root = new URL('../../', import.meta.url);
  await compileContract(new URL('schemas/openapi.json', root), new URL('contract/generated.js', import.meta.url));
  await bundleDocs(new URL('src/docs/assets/', root), new URL('docs/assets/', import.meta.url));
}
