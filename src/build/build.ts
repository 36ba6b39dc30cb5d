// The build steps after the compiler: the contract, the docs files and the guides, compressed.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { GUIDES } from '../docs/guides.ts';
import { compileContract } from './contract.ts';
import { renderGuide } from './guides.ts';

/** Writes these files to dist/. Works only when compiled: its paths are relative to dist/. */
export async function build(): Promise<void> {
  const source = new URL('../../../src/', import.meta.url);
  const output = new URL('../', import.meta.url);
  await removeStale(new URL('../', output), new URL('../', source));
  const contract = new URL('../schemas/openapi.json', source);
  await compileContract(contract, new URL('contract/generated.js', output));
  await bundleDocs(new URL('docs/assets/', source), new URL('docs/assets/', output));
  await renderGuides(new URL('docs/guides/', source), new URL('docs/guides/', output));
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

/** Gathers the files of the docs pages, so that the service does not need Swagger UI's package. */
async function bundleDocs(source: URL, target: URL): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  const swaggerUi = pathToFileURL(manifest);
  const own = await readdir(source);
  const files = [
    ...own.map((name) => new URL(name, source)),
    // The compiler has written it.
    new URL('../samples.js', target),
    new URL('swagger-ui.css', swaggerUi),
    new URL('swagger-ui-bundle.js', swaggerUi),
  ];
  await mkdir(target, { recursive: true });
  await copyFile(new URL('LICENSE', swaggerUi), new URL('swagger-ui.LICENSE', target));
  for (const file of files) {
    const name = file.pathname.replace(/.*\//, '');
    await writeAsset(new URL(name, target), await readFile(file));
  }
}

async function renderGuides(source: URL, target: URL): Promise<void> {
  await mkdir(target, { recursive: true });
  for (const guide of GUIDES) {
    const markdown = await readFile(new URL(`${guide.name}.md`, source), 'utf8');
    const page = Buffer.from(renderGuide(guide, markdown));
    await writeAsset(new URL(`${guide.name}.html`, target), page);
  }
}

async function writeAsset(path: URL, bytes: Buffer): Promise<void> {
  await writeFile(path, bytes);
  await writeFile(new URL(`${path.href}.gz`), gzipSync(bytes, { level: 9 }));
}
